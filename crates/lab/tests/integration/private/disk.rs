//! A place for data that also has something of somebody else's in it.

use std::fs;
use std::path::Path;

use super::{entries, open_dir};

/// A place for data with something of somebody else's in it, owned by nobody but dyno.
pub(crate) fn disk() -> tempfile::TempDir {
    let disk = open_dir();
    fs::create_dir(disk.path().join("theirs")).unwrap();
    fs::write(disk.path().join("theirs/file"), "x").unwrap();
    disk
}

/// Nothing of dyno's is left in it.
pub(crate) fn assert_only_theirs(disk: &Path) {
    assert_eq!(entries(disk), [disk.join("theirs")]);
    assert_eq!(fs::read(disk.join("theirs/file")).unwrap(), b"x");
}
