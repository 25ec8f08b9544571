//! Files in which the kernel tells of itself.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Most that is read of one file. `/proc/stat` of a host with hundreds of cores and
/// interrupts has some 100 KiB.
const LIMIT_BYTES: u64 = 4 << 20;

/// A file's text; `None` when there is none or it may not be read.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LIMIT_BYTES).read_to_end(&mut bytes).ok()?;
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// A file's one line without the space around it; `None` also when it is empty.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = text(path)?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// A file's one number.
pub(crate) fn number(path: impl AsRef<Path>) -> Option<u64> {
    line(path)?.parse().ok()
}

/// How many numbers a list such as `0-3,8` names; `None` when it is no list.
pub(crate) fn list_length(list: &str) -> Option<u64> {
    list.trim().split(',').try_fold(0_u64, |length, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        length.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(list_length("0\n"), Some(1));
        assert_eq!(list_length("0-3,8,10-11"), Some(7));
        for wrong in ["", "3-1", "a", "0-", "0-18446744073709551615"] {
            assert_eq!(list_length(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_absent() {
        assert_eq!(text("/proc/self/nothing"), None);
        assert_eq!(number("/proc/self/cmdline"), None);
        assert!(line("/proc/self/stat").is_some());
    }
}
