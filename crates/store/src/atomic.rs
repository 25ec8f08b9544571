//! Atomic writes: a file is complete or absent.

use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::StoreError;

/// Digits of the random part of a temporary file's name.
const RANDOM_DIGITS: usize = 16;
const TEMPORARY: &str = ".tmp";

/// Writes a temporary file in the same directory, syncs it, then renames it: after a crash,
/// even of the machine, either the old or the new file is there, never a part.
///
/// Does not write through anything in the directory, such as a symbolic link.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    let beside = beside(path);
    // With O_EXCL, a symbolic link of that name is not followed.
    let file = File::create_new(&beside).map_err(StoreError::at("write", path))?;
    let written = write_through(file, fill).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Half a file is of no use; the first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(StoreError::at("write", path))?;
    sync_parent(path)
}

/// Removes temporary files that killed writers left in a directory. The caller excludes other
/// writers.
pub(crate) fn remove_stale(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_temporary) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    write(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a value as indented JSON with a trailing newline.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    write(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

fn write_through(
    file: File,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffered = BufWriter::new(file);
    fill(&mut buffered)?;
    buffered.into_inner()?.sync_all()
}

/// An unpredictable name: `.result.json.0123456789abcdef.tmp`
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    // The keys of the standard hasher come from the system's random number generator.
    let random = RandomState::new().build_hasher().finish();
    name.push(format!(".{random:0RANDOM_DIGITS$x}{TEMPORARY}"));
    path.with_file_name(name)
}

/// Whether [`write`] gives such names to unfinished files.
pub(crate) fn is_temporary(name: &str) -> bool {
    let parts = name
        .strip_suffix(TEMPORARY)
        .and_then(|name| name.rsplit_once('.'));
    let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    parts.is_some_and(|(file, random)| {
        file.len() > 1
            && file.starts_with('.')
            && random.len() == RANDOM_DIGITS
            && random.bytes().all(is_digit)
    })
}

/// The rename itself must reach the disk, too.
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
    fn nothing_is_written_through_what_stands_there() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = other.path().join("target");
        fs::write(&target, "theirs").unwrap();
        let path = folder.path().join("result.json");
        for link in ["result.json", "result.json.tmp", ".result.json.tmp"] {
            std::os::unix::fs::symlink(&target, folder.path().join(link)).unwrap();
        }
        write(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn what_a_killed_writer_left_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let stale = beside(&folder.path().join("report.html"));
        fs::write(&stale, "half").unwrap();
        let link = beside(&folder.path().join("report.md"));
        std::os::unix::fs::symlink(&stale, &link).unwrap();
        for kept in [
            "report.html",
            "notes.tmp",
            ".0123456789abcdef.tmp",
            ".a.0123.tmp",
        ] {
            fs::write(folder.path().join(kept), "kept").unwrap();
        }
        remove_stale(folder.path()).unwrap();
        assert!(!stale.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }

    #[test]
    fn a_full_disk_keeps_the_old_file() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let error = write_through(full.unwrap(), |out| out.write_all(b"new")).unwrap_err();
        let error = StoreError::at("write", Path::new("result.json"))(error);
        let text = error.to_string();
        assert!(
            text.contains("result.json") && text.contains("No space left"),
            "{text}"
        );
        assert!(text.contains("--out"), "{text}");
    }
}
