//! Files that are either the old one or the new one, never half of it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces the file by this value, mode 0600.
///
/// It is not synced to the disk: it has to outlive a process, and what a power cut leaves is judged when it is read.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.write_all(b"\n")?;
    drop(file);
    fs::rename(&temporary, path)
}
