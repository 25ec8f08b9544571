//! The run directories and their names.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::root;
use crate::failure::Failure;

/// Microseconds since 1970 in hexadecimal: 13 digits until 2112.
const NAME_DIGITS: std::ops::RangeInclusive<usize> = 13..=14;

/// Creates a directory with a name that is never reused: a process that still waits to clean up a
/// dead run must not find a live one under its name.
pub(super) fn make(root: &Path) -> Result<PathBuf, Failure> {
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = now.map_or(0, |time| time.as_micros());
        let path = root.join(root::RUN).join(format!("{micros:013x}"));
        match root::make_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::at("create", &path)(error)),
        }
    }
}

pub(super) fn is_name(name: &str) -> bool {
    let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    NAME_DIGITS.contains(&name.len()) && name.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_generated_names_are_known() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(root::RUN)).unwrap();
        let made = make(dir.path()).unwrap();
        assert!(is_name(made.file_name().unwrap().to_str().unwrap()));
        for name in [
            "",
            "x",
            "5e1c",
            "experiment-42",
            "644A1F2B3C4D5",
            "644a1f2b3c4d5 ",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
