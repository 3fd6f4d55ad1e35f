//! From settings to a running process, and from a failed start to words an operator can act on.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags};
use secrecy::ExposeSecret;

use super::control;
use super::kin::Kin;
use super::mark::{Mark, Marking};
use super::procfs::Stat;
use super::registry::Registry;
use crate::config::settings::StdioSettings;
use crate::core::cause::{Cause, CauseKind};
use crate::core::generation::Generation;

/// Where `execvp` looks when there is no PATH.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A process that runs and is owned.
pub struct Launched {
    /// Its id.
    pub pid: Pid,
    /// Its descriptor.
    pub process: OwnedFd,
    /// Its family.
    pub kin: Arc<Kin>,
    /// Our ends of its standard streams.
    pub stdin: OwnedFd,
    /// Its output.
    pub stdout: OwnedFd,
    /// Its error output.
    pub stderr: OwnedFd,
}

/// What is to be launched.
pub struct Order {
    /// Whose process it will be.
    pub mark: Mark,
    /// Its server's name.
    pub server: String,
    /// Its generation.
    pub generation: Generation,
    /// How.
    pub settings: StdioSettings,
}

/// Forks and executes, on the calling thread: the process dies with it.
///
/// The command is a bare name, looked up in the PATH of the settings' environment (not ours), or a path; a relative
/// path, and a relative entry of PATH, are relative to `cwd`.
///
/// # Errors
/// `CommandNotFound` and `SpawnFailed`, told with the command, the PATH and the directory.
pub fn launch(order: &Order, registry: &Registry) -> Result<Launched, Cause> {
    let settings = &order.settings;
    let stopping = || Cause::new(CauseKind::SpawnFailed, "the sidecar is stopping: no process is started any more");
    let permit = registry.permit().ok_or_else(stopping)?;
    let mut command = Command::new(&settings.command);
    command.args(settings.args.iter().map(ExposeSecret::expose_secret)).env_clear();
    command.envs(settings.environment.iter().map(|(name, value)| (name, value.expose_secret())));
    command.envs(order.mark.entries(&order.server, order.generation));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(cwd) = &settings.cwd {
        command.current_dir(cwd);
    }
    control::tie_to_us(&mut command);
    let mut child = command.spawn().map_err(|error| explain(settings, &error))?;
    let adopted = adopt(order, &mut child);
    match adopted {
        Ok(launched) => {
            permit.own(child.id(), Some(launched.kin.clone()));
            Ok(launched)
        }
        Err(error) => {
            // Unwatched it must not live. It is not reaped yet, so the id is still its own.
            let _ = child.kill();
            let _ = child.wait();
            Err(Cause::new(CauseKind::SpawnFailed, format!("cannot watch `{}`: {error}", settings.command)))
        }
    }
}

fn adopt(order: &Order, child: &mut std::process::Child) -> io::Result<Launched> {
    let gone = || io::Error::other("its /proc entry can't be read");
    let stat = Stat::of(child.id()).ok_or_else(gone)?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    let marking =
        Marking { mark: order.mark.clone(), server: order.server.clone(), generation: order.generation.to_string() };
    let unpiped = || io::Error::other("it has no pipes");
    Ok(Launched {
        pid,
        process: rustix::process::pidfd_open(pid, PidfdFlags::empty())?,
        kin: Arc::new(Kin::new(stat, marking)),
        stdin: child.stdin.take().ok_or_else(unpiped)?.into(),
        stdout: child.stdout.take().ok_or_else(unpiped)?.into(),
        stderr: child.stderr.take().ok_or_else(unpiped)?.into(),
    })
}

/// Arguments and environment may hold secrets: only the command, PATH and the directory are told.
fn explain(settings: &StdioSettings, error: &io::Error) -> Cause {
    let command = &settings.command;
    if let Some(cwd) = settings.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
        let text = format!("cannot start `{command}`: its working directory {} is no directory", cwd.display());
        return Cause::new(CauseKind::CommandNotFound, text);
    }
    if error.kind() != io::ErrorKind::NotFound {
        return Cause::new(CauseKind::SpawnFailed, format!("cannot start `{command}`: {error}"));
    }
    let at = settings.cwd.as_ref().map_or_else(|| "the sidecar's own".to_owned(), |cwd| cwd.display().to_string());
    let path = settings.environment.get("PATH").map_or(DEFAULT_PATH, |path| path.expose_secret());
    let text = match find(command, path, settings.cwd.as_deref()) {
        Some(file) => format!("cannot start `{command}`: {} exists, but its interpreter doesn't", file.display()),
        None if command.contains('/') => format!("cannot start `{command}`: no such file (working directory: {at})"),
        None => format!("cannot start `{command}`: not found in PATH={path} (working directory: {at})"),
    };
    Cause::new(CauseKind::CommandNotFound, text)
}

/// The executable file that a command names, as `execvp` would find it.
fn find(command: &str, path: &str, cwd: Option<&Path>) -> Option<PathBuf> {
    let base = cwd.unwrap_or(Path::new("."));
    let is_executable =
        |file: &PathBuf| fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if command.contains('/') {
        return Some(base.join(command)).filter(is_executable);
    }
    path.split(':').map(|directory| base.join(directory).join(command)).find(is_executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(command: &str, path: Option<&str>, cwd: Option<&str>) -> StdioSettings {
        StdioSettings {
            command: command.to_owned(),
            args: vec!["--token=canary".to_owned().into()],
            env: Default::default(),
            environment: path.map(|path| ("PATH".to_owned(), path.to_owned().into())).into_iter().collect(),
            cwd: cwd.map(PathBuf::from),
        }
    }

    fn failure(settings: StdioSettings) -> Cause {
        let order = Order {
            mark: Mark::of_ourselves().unwrap(),
            server: "s".to_owned(),
            generation: Generation::new(1),
            settings,
        };
        launch(&order, &Registry::default()).err().expect("it can't start")
    }

    #[test]
    fn a_missing_command_is_told_with_the_path_that_was_searched() {
        let cause = failure(settings("no-such-tool", Some("/nowhere:/usr/bin"), None));
        assert_eq!(cause.kind, CauseKind::CommandNotFound);
        let words =
            "cannot start `no-such-tool`: not found in PATH=/nowhere:/usr/bin (working directory: the sidecar's own)";
        assert_eq!(cause.detail, words);
        assert!(failure(settings("no-such-tool", None, None)).detail.contains("PATH=/bin:/usr/bin"));
    }

    #[test]
    fn a_command_is_looked_up_in_its_own_path_not_in_ours() {
        assert_eq!(failure(settings("cargo", Some("/nowhere"), None)).kind, CauseKind::CommandNotFound);
    }

    #[test]
    fn a_missing_working_directory_is_told_as_such() {
        let cause = failure(settings("true", Some("/usr/bin:/bin"), Some("/no/such/place")));
        assert_eq!(cause.kind, CauseKind::CommandNotFound);
        assert_eq!(cause.detail, "cannot start `true`: its working directory /no/such/place is no directory");
    }

    #[test]
    fn a_relative_command_is_relative_to_its_directory() {
        let cause = failure(settings("./server", None, Some("/etc")));
        assert_eq!(cause.detail, "cannot start `./server`: no such file (working directory: /etc)");
    }

    #[test]
    fn a_file_that_is_no_program_fails_to_spawn() {
        let cause = failure(settings("/etc/passwd", None, None));
        assert_eq!(cause.kind, CauseKind::SpawnFailed);
        assert!(cause.detail.starts_with("cannot start `/etc/passwd`: "), "{}", cause.detail);
    }

    #[test]
    fn a_script_without_its_interpreter_is_no_missing_script() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("server");
        fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let cause = failure(settings("server", directory.path().to_str(), None));
        assert_eq!(cause.kind, CauseKind::CommandNotFound);
        assert!(cause.detail.ends_with("server exists, but its interpreter doesn't"), "{}", cause.detail);
    }
}
