//! Small files of this user in dyno's cache, which last from one run to the next.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::failure::Failure;

/// The content; `None` if there is no such file. Follows no link, and no pipe blocks it.
pub(crate) fn read(path: &Path, limit_bytes: u64) -> Result<Option<Vec<u8>>, Failure> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(Failure::at("read", path))?,
    };
    let about = file.metadata().map_err(Failure::at("inspect", path))?;
    if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() {
        let message = format!("{} is not a file of this user", path.display());
        return Err(Failure::usage(message).remedy("remove it"));
    }
    let mut text = Vec::new();
    let read = file.take(limit_bytes).read_to_end(&mut text);
    read.map_err(Failure::at("read", path))?;
    Ok(Some(text))
}

/// Locks the directory of a file, as long as the result lives.
pub(crate) fn lock(path: &Path) -> Result<File, Failure> {
    let dir = path.parent().unwrap_or(path);
    let lock = File::open(dir).and_then(|lock| lock.lock().map(|()| lock));
    lock.map_err(Failure::at("lock", dir))
}

/// Writes a temporary file, which only this user can read, and renames it, so that no link is
/// followed and no partial file is left.
pub(crate) fn replace(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let beside = path.with_extension("new");
    let write = || {
        // An existing one was left by a killed process.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        Failure::at("write", path)(error)
    })
}
