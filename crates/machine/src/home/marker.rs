//! The file that marks a directory as created by dyno. Directories without it are never cleaned up.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::trust;
use crate::failure::Failure;

pub(crate) const MARKER: &str = ".dyno-directory";
const TEXT: &str = "dyno made this directory, and deletes what it no longer needs in it.\n\
                    Keep no files of your own here.\n";

/// Marks an empty directory; leaves a marked one unchanged.
pub(crate) fn ensure(dir: &Path) -> Result<(), Failure> {
    // Checked before the marker: another process may be writing it at this moment.
    let is_new = is_empty(dir)?;
    if is_marked(dir)? {
        return Ok(());
    }
    if !is_new {
        return Err(unmarked(dir));
    }
    let path = dir.join(MARKER);
    match options().write(true).create_new(true).open(&path) {
        Ok(file) => write(file).map_err(|error| {
            // The directory is still empty, so it can be marked later.
            let _ = fs::remove_file(&path);
            Failure::at("write", &path)(error)
        }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Failure::at("write", &path)(error)),
    }
}

/// Whether dyno, run by this user, created the directory.
pub(crate) fn is_marked(dir: &Path) -> Result<bool, Failure> {
    let path = dir.join(MARKER);
    let file = match options().read(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Failure::at("read", &path)(error)),
    };
    let meta = file.metadata().map_err(Failure::at("inspect", &path))?;
    if !meta.is_file() || trust::check_owner(meta.uid()).is_err() {
        return Ok(false);
    }
    let mut text = Vec::new();
    let limit = u64::try_from(TEXT.len() + 1).unwrap_or(u64::MAX);
    let read = file.take(limit).read_to_end(&mut text);
    read.map_err(Failure::at("read", &path))?;
    // The process that wrote it may have been killed halfway.
    Ok(TEXT.as_bytes().starts_with(&text))
}

pub(crate) fn is_empty(dir: &Path) -> Result<bool, Failure> {
    let mut entries = fs::read_dir(dir).map_err(Failure::at("read", dir))?;
    Ok(entries.next().is_none())
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o644).custom_flags(flags.bits().cast_signed());
    options
}

fn write(mut file: File) -> io::Result<()> {
    file.write_all(TEXT.as_bytes())?;
    // The marker must survive a crash of the host.
    file.sync_all()
}

pub(super) fn unmarked(dir: &Path) -> Failure {
    Failure::usage(format!(
        "{} is not empty and was not created by dyno: it has no file {MARKER}",
        dir.display()
    ))
    .remedy(format!(
        "set DYNO_CACHE_DIR to a directory that is empty or does not exist, such as {}; if this one \
         is the cache of an older dyno, remove it",
        dir.join("dyno").display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn an_empty_directory_is_marked_and_known_from_then_on() {
        let dir = dir();
        assert!(!is_marked(dir.path()).unwrap());
        ensure(dir.path()).unwrap();
        assert!(is_marked(dir.path()).unwrap());
        fs::write(dir.path().join("more"), "x").unwrap();
        ensure(dir.path()).unwrap();
    }

    #[test]
    fn a_directory_with_other_files_is_refused_and_unchanged() {
        let dir = dir();
        fs::write(dir.path().join("theirs"), "x").unwrap();
        let error = ensure(dir.path()).unwrap_err();
        assert!(error.message.contains("was not created by dyno"), "{error}");
        assert!(error.remedy.as_deref().unwrap().contains("DYNO_CACHE_DIR"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_a_file_that_dyno_wrote_marks() {
        for (text, marks) in [
            ("", true),
            (&TEXT[..20], true),
            (TEXT, true),
            ("theirs", false),
            (&format!("{TEXT}x"), false),
        ] {
            let dir = dir();
            fs::write(dir.path().join(MARKER), text).unwrap();
            assert_eq!(is_marked(dir.path()).unwrap(), marks, "{text:?}");
        }
        let linked = dir();
        let other = dir();
        fs::write(other.path().join("text"), TEXT).unwrap();
        let marker = linked.path().join(MARKER);
        std::os::unix::fs::symlink(other.path().join("text"), &marker).unwrap();
        is_marked(linked.path()).unwrap_err();
        let foreign = dir();
        let marker = foreign.path().join(MARKER);
        fs::write(&marker, TEXT).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&marker, Some(65534), None).unwrap();
            assert!(!is_marked(foreign.path()).unwrap());
        }
    }

    #[test]
    fn many_mark_it_at_once() {
        for _ in 0..50 {
            let dir = dir();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| ensure(dir.path()).unwrap());
                }
            });
        }
    }
}
