//! Files that are whole or absent.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::StoreError;

/// Writes beside its place, waits for the disk, then moves it there: after a
/// crash, even of the machine, the old or the new file is there, never a part.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let beside = beside(path);
    let written = write_through(&beside, bytes);
    if written.is_err() {
        // Half a file helps nobody; the error to tell is the first one.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(StoreError::at("write", path))?;
    fs::rename(&beside, path).map_err(StoreError::at("write", path))?;
    sync_parent(path)
}

/// Writes a value as indented JSON with a line end.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| StoreError::at("write", path)(error.into()))?;
    bytes.push(b'\n');
    write(path, &bytes)
}

fn write_through(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// The move itself must reach the disk too.
fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(StoreError::at("write", parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        write(&path, b"old").unwrap();
        std::os::unix::fs::symlink("/dev/full", beside(&path)).unwrap();
        let error = write(&path, b"new").unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("result.json") && text.contains("No space left"),
            "{text}"
        );
        assert!(text.contains("--out"), "{text}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(!beside(&path).exists());
    }
}
