//! Mounted file systems (`/proc/self/mountinfo`).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files::{Files, text};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The directory of the file system that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of the mount and of the file system, separated by commas.
    pub options: String,
    /// For example `ext4`.
    pub file_system: String,
    /// What is mounted, for example `/dev/vda1`.
    pub source: String,
}

impl Mount {
    /// Whether it is mounted with an option.
    #[must_use]
    pub fn has_option(&self, wanted: &str) -> bool {
        self.options.split(',').any(|option| option == wanted)
    }
}

/// All mounts that this process sees, in the order of mounting.
#[must_use]
pub fn all(files: &dyn Files) -> Vec<Mount> {
    text(files, "/proc/self/mountinfo").map_or_else(Vec::new, |text| parse(&text))
}

/// The mount that holds `path`, which must be absolute and without symbolic links.
#[must_use]
pub fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let depth = |mount: &&Mount| mount.point.components().count();
    // The last of several at one mount point covers the others.
    let over = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    over.max_by_key(depth)
}

/// Parses `/proc/self/mountinfo`.
///
/// By hand, as `procfs-core` keeps paths escaped and loses the order of options.
#[must_use]
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// `27 1 254:0 / /mnt rw,relatime shared:1 - ext4 /dev/vda rw,discard`
fn parse_line(line: &str) -> Option<Mount> {
    let (ours, theirs) = line.split_once(" - ")?;
    let ours: Vec<&str> = ours.split(' ').collect();
    let theirs: Vec<&str> = theirs.split(' ').collect();
    let mut options: Vec<&str> = ours.get(5)?.split(',').collect();
    for option in theirs.get(2).copied().unwrap_or("").split(',') {
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount {
        root: path(ours.get(3)?),
        point: path(ours.get(4)?),
        options: options.join(","),
        file_system: (*theirs.first()?).to_owned(),
        source: String::from_utf8_lossy(&unescape(theirs.get(1)?)).into_owned(),
    })
}

fn path(escaped: &str) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(&unescape(escaped)))
}

/// The kernel writes blanks and backslashes as `\040`.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let octal = tail.get(..3).filter(|_| *first == b'\\');
        let code = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard,resuid=65534
28 27 0:40 /@data /srv/my\\040data rw,noatime - btrfs /dev/loop0 rw,space_cache=v2
29 27 0:41 / /srv/my\\040data rw - tmpfs none rw,size=4k
";

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 4);
        let of = |path: &str| holding(&mounts, Path::new(path)).unwrap();
        assert_eq!(of("/srv/my").file_system, "ext4");
        assert_eq!(of("/srv/my data/x").file_system, "tmpfs");
        assert_eq!(mounts[2].root, Path::new("/@data"));
        assert_eq!(of("/").options, "rw,relatime,discard,resuid=65534");
        assert_eq!(holding(&mounts, Path::new("relative")), None);
    }

    #[test]
    fn damaged_lines_are_ignored() {
        assert_eq!(parse("\n1 2 3\n1 2 3 4 5 6 - \n - ext4 x y\n").len(), 0);
        assert_eq!(unescape("\\04\\999\\"), b"\\04\\999\\");
    }
}
