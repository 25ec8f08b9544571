//! Access to the files of a machine.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// The directory of the CPUs in sysfs.
pub(crate) const CPUS: &str = "/sys/devices/system/cpu";
/// Maximum number of bytes that are read from a file. `/proc/self/mountinfo` has up to 100,000 lines
/// unless a host allows more.
const MAX_BYTES: u64 = 64 << 20;
const MAX_ENTRIES: usize = 10_000;
/// The magic number of tmpfs (statfs(2)).
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// The files of one machine. Everything in this crate reads through this trait, so it is all that
/// another machine must implement.
pub trait Files: Sync {
    /// Reads a text file, up to a limit. Invalid UTF-8 is replaced.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// Reads text files as [`Files::read`] does, in this order. Another machine answers once for all
    /// of them.
    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<String>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    /// Lists a directory sorted by name, up to a limit.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// The space in the file system of a path.
    fn space(&self, path: &Path) -> io::Result<Space>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Free space for unprivileged users, in bytes.
    pub free_bytes: u64,
    pub total_bytes: u64,
    /// Whether it stores files in memory (tmpfs).
    pub is_memory: bool,
    /// The device number, which is unique to the file system.
    pub device: u64,
}

/// The text of a file; `None` if it cannot be read.
pub fn text(files: &dyn Files, path: impl AsRef<Path>) -> Option<String> {
    files.read(path.as_ref()).ok()
}

/// The text of a file without surrounding whitespace; `None` if it is empty or cannot be read.
pub fn line(files: &dyn Files, path: impl AsRef<Path>) -> Option<String> {
    let text = text(files, path)?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

pub fn number(files: &dyn Files, path: impl AsRef<Path>) -> Option<u64> {
    line(files, path)?.parse().ok()
}

/// The entries of a directory; empty if it cannot be read.
pub(crate) fn entries(files: &dyn Files, dir: impl AsRef<Path>) -> Vec<PathBuf> {
    files.list(dir.as_ref()).unwrap_or_default()
}

pub(crate) fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// The distinct values of a file of each directory, each with the first file that has it.
pub(crate) fn distinct_values(
    files: &dyn Files,
    dirs: &[PathBuf],
    file: &str,
) -> Vec<(PathBuf, String)> {
    let mut values: Vec<(PathBuf, String)> = Vec::new();
    for file in dirs.iter().map(|dir| dir.join(file)) {
        if let Some(value) = line(files, &file)
            && !values.iter().any(|(_, known)| *known == value)
        {
            values.push((file, value));
        }
    }
    values
}

/// The selected word of a choice such as `always [madvise] never`.
pub(crate) fn selected(choice: String) -> String {
    let rest = choice.split_once('[').map(|(_, rest)| rest);
    match rest.and_then(|rest| rest.split_once(']')) {
        Some((selected, _)) => selected.to_owned(),
        None => choice,
    }
}

/// The value of the first line `key<separator>value`.
pub fn field<'a>(text: &'a str, key: &str, separator: char) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(separator));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

/// The count of numbers in a list such as `0-3,8`; `None` if it is malformed.
pub(crate) fn list_length(list: &str) -> Option<u64> {
    list.trim().split(',').try_fold(0_u64, |length, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        length.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

pub static LOCAL: RootDir = RootDir(Cow::Borrowed("/"));

/// The files below a directory on this host; paths are relative to that directory.
#[derive(Debug, Clone)]
pub struct RootDir(Cow<'static, str>);

impl RootDir {
    /// The files below `dir`, for example the root directory of a test.
    pub fn at(dir: &Path) -> Self {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        Self(Cow::Owned(dir.to_string_lossy().into_owned()))
    }

    fn real(&self, path: &Path) -> PathBuf {
        Path::new(&*self.0).join(path.strip_prefix("/").unwrap_or(path))
    }
}

impl Files for RootDir {
    fn read(&self, path: &Path) -> io::Result<String> {
        let mut bytes = Vec::new();
        // Opening a named pipe would block until there is a writer.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let mut file = File::options();
        let file = file.read(true).custom_flags(flags).open(self.real(path))?;
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.real(dir))?.flatten();
        let entries = entries.map(|entry| dir.join(entry.file_name()));
        let mut entries: Vec<PathBuf> = entries.take(MAX_ENTRIES).collect();
        entries.sort();
        Ok(entries)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let resolved = self.real(path).canonicalize()?;
        Ok(match resolved.strip_prefix(&*self.0) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => resolved,
        })
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let path = self.real(path);
        let space = rustix::fs::statvfs(&path)?;
        Ok(Space {
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
            is_memory: rustix::fs::statfs(&path)?.f_type == TMPFS,
            device: rustix::fs::stat(&path)?.st_dev,
        })
    }
}

/// A machine whose files a test creates.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// The root directory is removed on drop.
    pub(crate) struct TestMachine {
        _dir: tempfile::TempDir,
        pub(crate) files: RootDir,
    }

    impl TestMachine {
        /// A machine with these files: paths and contents.
        pub(crate) fn with(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let machine = Self {
                files: RootDir::at(dir.path()),
                _dir: dir,
            };
            for (path, text) in files {
                machine.write(path, text);
            }
            machine
        }

        /// A machine with the files of [`TestMachine::write_all`].
        pub(crate) fn of(files: &str) -> Self {
            let machine = Self::with(&[]);
            machine.write_all("/", files);
            machine
        }

        /// Writes a file below `dir` for each line, which is its path and its content; `; ` separates
        /// lines of the content.
        pub(crate) fn write_all(&self, dir: &str, files: &str) {
            for file in files.lines().map(str::trim).filter(|file| !file.is_empty()) {
                let (path, text) = file.split_once(' ').unwrap_or((file, ""));
                self.write(&format!("{dir}{path}"), &(text.replace("; ", "\n") + "\n"));
            }
        }

        pub(crate) fn write(&self, path: &str, text: &str) {
            let path = self.files.real(Path::new(path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        pub(crate) fn link(&self, path: &str, target: &str) {
            let path = self.files.real(Path::new(path));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let target = match target.starts_with('/') {
                true => self.files.real(Path::new(target)),
                false => PathBuf::from(target),
            };
            std::os::unix::fs::symlink(target, path).unwrap();
        }
    }
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
    fn fields_and_choices() {
        assert_eq!(selected("always [madvise] never".into()), "madvise");
        assert_eq!(selected("none".into()), "none");
        assert_eq!(field("a : 1\nb: 2\n", "b", ':'), Some("2"));
        assert_eq!(field("a : 1\nb:\n", "b", ':'), None);
    }

    #[test]
    fn a_file_that_does_not_exist_is_absent() {
        assert_eq!(text(&LOCAL, "/proc/self/nothing"), None);
        assert_eq!(number(&LOCAL, "/proc/self/cmdline"), None);
        assert!(line(&LOCAL, "/proc/self/stat").is_some());
    }

    #[test]
    fn a_directory_can_serve_as_the_root_of_a_machine() {
        let machine = testing::TestMachine::with(&[("/proc/one", " 1\n"), ("/proc/two", "2")]);
        machine.link("/proc/also", "/proc/one");
        let files = &machine.files;
        assert_eq!(number(files, "/proc/also"), Some(1));
        let also = files.resolve(Path::new("/proc/also")).unwrap();
        assert_eq!(also, Path::new("/proc/one"));
        let names = ["/proc/also", "/proc/one", "/proc/two"].map(PathBuf::from);
        assert_eq!(entries(files, "/proc"), names);
        assert!(entries(files, "/sys").is_empty());
    }

    #[test]
    fn file_systems_are_distinguished() {
        let space = |path: &str| LOCAL.space(Path::new(path)).unwrap();
        let (memory, root) = (space("/dev/shm"), space("/"));
        assert!(memory.is_memory && root.device != memory.device);
        assert_eq!(space("/proc/self/root").device, root.device);
        assert!(root.free_bytes > 0 && root.total_bytes >= root.free_bytes);
        assert!(LOCAL.space(Path::new("/there/is/none")).is_err());
    }
}
