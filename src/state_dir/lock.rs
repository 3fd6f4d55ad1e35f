//! One sidecar per state directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Held as long as it lives. The kernel lets go when the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the file, without waiting. The inner error: another process holds it, and which, if the file says so.
    pub fn acquire(path: &Path) -> io::Result<Result<Self, Option<u32>>> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                file.set_len(0)?;
                file.rewind()?;
                writeln!(file, "{}", std::process::id())?;
                Ok(Ok(Self { _file: file }))
            }
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                // Best effort: the holder may be about to write it.
                let _ = file.read_to_string(&mut holder);
                Ok(Err(holder.trim().parse().ok()))
            }
            Err(error) => Err(error.into()),
        }
    }
}
