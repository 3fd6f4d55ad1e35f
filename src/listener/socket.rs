//! UNIX listening sockets: nobody else may connect, nobody else's socket is ever displaced.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Gid, Mode, chmod, chown, flock};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, listen, socket_with};
use tokio::net::UnixListener;

/// Who may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketAccess {
    /// Mode bits of the socket. Default 0600.
    pub mode: u32,
    /// Group (a name of `/etc/group`, or a number) that it is given.
    pub group: Option<String>,
}

impl Default for SocketAccess {
    fn default() -> Self {
        Self { mode: 0o600, group: None }
    }
}

/// The socket's file; removed with this, unless somebody put another one in its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Binds `path`. What is there is replaced only if it is a socket that refuses connections.
///
/// The directory is locked meanwhile, so that two processes can't both find the same stale socket and the slower one
/// displace the faster one's. Mode and group are set before `listen`, so that there is no moment of wider access.
pub fn bind(path: &Path, access: &SocketAccess) -> io::Result<(UnixListener, SocketFile)> {
    let group = access.group.as_deref().map(resolve_group).transpose()?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let lock = File::open(directory).map_err(|error| with_context(&error, directory))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    make_room(path)?;

    let socket =
        socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(&fs::symlink_metadata(path)?) };
    if let Some(group) = group {
        chown(path, None, Some(group))?;
    }
    chmod(path, Mode::from_raw_mode(access.mode & 0o777))?;
    listen(&socket, 1024)?;
    let listener = UnixListener::from_std(socket.into())?;
    Ok((listener, file))
}

fn make_room(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something that is no socket is there"));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process is listening there")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("a socket is there, and whether it is stale can't be told: {error}"),
        )),
    }
}

fn resolve_group(name: &str) -> io::Result<Gid> {
    if let Ok(number) = name.parse::<u32>() {
        return Ok(Gid::from_raw(number));
    }
    fs::read_to_string("/etc/group")?
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            (fields.next()? == name).then(|| fields.nth(1)?.parse().ok()).flatten()
        })
        .next()
        .map(Gid::from_raw)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("group {name:?} is not in /etc/group")))
}

fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn with_context(error: &io::Error, directory: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", directory.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener as StdListener;

    use super::*;

    #[tokio::test]
    async fn a_socket_is_private_and_goes_with_its_listener() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.sock");
        let (listener, file) = bind(&path, &SocketAccess::default()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop((listener, file));
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn mode_and_group_are_as_configured() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.sock");
        let own = fs::metadata(dir.path()).unwrap().gid();
        let _bound = bind(&path, &SocketAccess { mode: 0o660, group: Some(own.to_string()) }).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.permissions().mode() & 0o777, found.gid()), (0o660, own));
        assert!(bind(&path, &SocketAccess { mode: 0o660, group: Some("no such group".into()) }).is_err());
        assert_eq!(resolve_group("root").unwrap(), Gid::from_raw(0));
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.sock");
        drop(StdListener::bind(&path).unwrap());
        assert!(path.exists(), "a std listener leaves its file behind");
        let _bound = bind(&path, &SocketAccess::default()).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
    }

    #[tokio::test]
    async fn a_live_foreign_socket_and_a_plain_file_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.sock");
        let foreign = StdListener::bind(&path).unwrap();
        let error = bind(&path, &SocketAccess::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(UnixStream::connect(&path).is_ok(), "the foreign one still listens");
        drop(foreign);

        let plain = dir.path().join("notes.txt");
        fs::write(&plain, "keep me").unwrap();
        assert_eq!(bind(&plain, &SocketAccess::default()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&plain).unwrap(), "keep me");
    }

    #[tokio::test]
    async fn a_socket_that_took_our_place_survives_our_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.sock");
        let ours = bind(&path, &SocketAccess::default()).unwrap();
        fs::remove_file(&path).unwrap();
        let _other = StdListener::bind(&path).unwrap();
        drop(ours);
        assert!(UnixStream::connect(&path).is_ok());
    }
}
