//! Mounted file systems (`/proc/self/mountinfo`).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files::{Files, text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The directory of the file system that forms the root of the mount.
    pub root: PathBuf,
    pub point: PathBuf,
    /// Options of the mount and of the file system, separated by commas.
    pub options: String,
    /// The type of the file system, for example `ext4`.
    pub file_system: String,
    /// The mounted device, for example `/dev/vda1`.
    pub source: String,
}

/// All mounts visible to this process, in the order in which they were mounted.
pub fn all(files: &dyn Files) -> Vec<Mount> {
    text(files, "/proc/self/mountinfo").map_or_else(Vec::new, |text| parse(&text))
}

/// The mount that contains `path`, which must be absolute and without symbolic links.
pub fn containing<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let depth = |mount: &&Mount| mount.point.components().count();
    // `max_by_key` returns the last of equal ones, which hides the earlier mounts at that point.
    let over = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    over.max_by_key(depth)
}

/// Parses `/proc/self/mountinfo`.
///
/// Parsed by hand, because `procfs-core` does not unescape paths and loses the order of options.
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

/// Decodes octal escapes: the kernel writes a space as `\040`.
fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..3);
        match code.and_then(|octal| u8::from_str_radix(octal, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                bytes.extend(&part.as_bytes()[3..]);
            }
            None => {
                bytes.push(b'\\');
                bytes.extend(part.as_bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    const TEXT: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard,resuid=65534
28 27 0:40 /@data /srv/my\\040data rw,noatime - btrfs /dev/loop0 rw,space_cache=v2
29 27 0:41 / /srv/my\\040data rw - tmpfs none rw,size=4k
";

    #[test]
    fn the_deepest_and_last_mount_contains_a_path() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 4);
        let of = |path: &str| containing(&mounts, Path::new(path)).unwrap();
        assert_eq!(of("/srv/my").file_system, "ext4");
        assert_eq!(of("/srv/my data/x").file_system, "tmpfs");
        assert_eq!(mounts[2].root, Path::new("/@data"));
        assert_eq!(of("/").options, "rw,relatime,discard,resuid=65534");
        assert_eq!(containing(&mounts, Path::new("relative")), None);
    }

    /// A mount that is not found is not unmounted.
    #[test]
    fn a_host_of_containers_has_many() {
        let line = |number| format!("{number} 1 0:21 / /run/{number:0>100} rw - tmpfs tmpfs rw\n");
        let text: String = (0..100_000).map(line).collect();
        let machine = TestMachine::with(&[("/proc/self/mountinfo", &text)]);
        assert_eq!(all(&machine.files).len(), 100_000);
    }

    #[test]
    fn damaged_lines_are_ignored() {
        assert_eq!(parse("\n1 2 3\n1 2 3 4 5 6 - \n - ext4 x y\n").len(), 0);
        assert_eq!(unescape("\\04\\999\\"), b"\\04\\999\\");
    }
}
