//! The configuration of chrony, with the files that it includes (chrony.conf(5)).

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{entries, name};
use crate::doctor::clock::Chrony;
use crate::kernel;

const FILES: [&str; 2] = ["/etc/chrony/chrony.conf", "/etc/chrony.conf"];
/// Files in files in files: more than anybody nests, and the end of those that include themselves.
const MAX_DEPTH: u32 = 8;
/// Files that are read in all.
const MAX_FILES: u32 = 200;
/// Of a line that is shown, in characters.
const MAX_LINE: usize = 100;

pub(super) fn read() -> Option<Chrony> {
    let mut files = FILES.iter().map(Path::new);
    // One that may not be looked for may be there.
    let file = files.find(|file| file.try_exists().unwrap_or(true))?;
    Some(read_file(file))
}

fn read_file(file: &Path) -> Chrony {
    let mut reader = Reader::default();
    reader.read(file, 0);
    Chrony {
        file: file.display().to_string(),
        makestep: reader.makestep,
        unread: reader.unread.map(|path| path.display().to_string()),
    }
}

#[derive(Default)]
struct Reader {
    files: u32,
    /// The last one, which is the one that holds.
    makestep: Option<(String, String)>,
    /// The first file or directory that is there and could not be read.
    unread: Option<PathBuf>,
}

impl Reader {
    fn read(&mut self, file: &Path, depth: u32) {
        if self.files >= MAX_FILES {
            return;
        }
        match fs::metadata(file) {
            Ok(meta) if meta.is_file() => {}
            Err(error) => return self.miss(file, error.kind()),
            Ok(_) => return,
        }
        self.files += 1;
        let Some(text) = kernel::text(file) else {
            return self.miss(file, ErrorKind::PermissionDenied);
        };
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let directive = words.next().unwrap_or_default().to_ascii_lowercase();
            let included = match directive.as_str() {
                "makestep" => {
                    let line = line.trim().chars().take(MAX_LINE).collect();
                    self.makestep = Some((line, file.display().to_string()));
                    continue;
                }
                _ if depth >= MAX_DEPTH || self.files >= MAX_FILES => continue,
                "include" => words.next().map(|pattern| self.matching(pattern)),
                "confdir" => Some(self.of_directories(words)),
                // A `sourcedir` holds nothing but servers.
                _ => continue,
            };
            for file in included.unwrap_or_default() {
                self.read(&file, depth + 1);
            }
        }
    }

    /// The files that a pattern such as `/etc/chrony.d/*.conf` names.
    fn matching(&mut self, pattern: &str) -> Vec<PathBuf> {
        let pattern = Path::new(pattern);
        let (Some(dir), Some(pattern)) = (pattern.parent(), name(pattern)) else {
            return Vec::new();
        };
        let mut files = self.entries(dir);
        files.retain(|file| name(file).is_some_and(|name| matches(pattern, name)));
        files
    }

    /// The `.conf` files of directories, by their names; of two with one name, that of the
    /// first directory.
    fn of_directories<'a>(&mut self, dirs: impl Iterator<Item = &'a str>) -> Vec<PathBuf> {
        let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in dirs.flat_map(|dir| self.entries(Path::new(dir))) {
            if let Some(name) = name(&file).filter(|name| name.ends_with(".conf")) {
                files.entry(name.to_owned()).or_insert(file);
            }
        }
        files.into_values().collect()
    }

    fn entries(&mut self, dir: &Path) -> Vec<PathBuf> {
        if let Err(error) = fs::read_dir(dir) {
            self.miss(dir, error.kind());
        }
        entries(dir)
    }

    /// What is not there tells nothing, neither to chrony.
    fn miss(&mut self, path: &Path, why: ErrorKind) {
        if why != ErrorKind::NotFound {
            self.unread.get_or_insert_with(|| path.to_owned());
        }
    }
}

/// Whether a name is as a pattern says, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut name) = name.strip_suffix(end) else {
        return false;
    };
    middle.split('*').all(|part| match name.split_once(part) {
        Some((_, after)) => {
            name = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// Files of a directory; `DIR` in them is the directory.
    fn config(files: &[(&str, &str)]) -> (TempDir, Chrony) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = dir.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text.replace("DIR", dir.path().to_str().unwrap())).unwrap();
        }
        let chrony = read_file(&dir.path().join("chrony.conf"));
        (dir, chrony)
    }

    fn makestep(files: &[(&str, &str)]) -> Option<String> {
        config(files).1.makestep.map(|(line, _)| line)
    }

    #[test]
    fn the_last_makestep_holds() {
        let one = |text: &str| makestep(&[("chrony.conf", text)]);
        assert_eq!(one("# makestep 1 -1\npool x\n"), None);
        assert_eq!(
            one(" MakeStep 0.1 -1\n").as_deref(),
            Some("MakeStep 0.1 -1")
        );
        let last = one("makestep 1 -1\nmakestep 1 3\n");
        assert_eq!(last.as_deref(), Some("makestep 1 3"));
        let long = one(&format!("makestep 1 {}", "3".repeat(5000)));
        assert_eq!(long.unwrap().len(), MAX_LINE);
    }

    #[test]
    fn a_makestep_may_stand_in_another_file() {
        let main = ("chrony.conf", "makestep 1 3\nconfdir DIR/conf.d\n");
        let (dir, chrony) = config(&[main, ("conf.d/step.conf", "makestep 1 -1\n")]);
        let file = dir.path().join("conf.d/step.conf");
        let found = Some(("makestep 1 -1".to_owned(), file.display().to_string()));
        assert_eq!(chrony.makestep, found);
        let other = ("conf.d/step.off", "makestep 1 -1\n");
        assert_eq!(makestep(&[main, other]).as_deref(), Some("makestep 1 3"));
        let main = ("chrony.conf", "include DIR/*.d/no\ninclude DIR/d/*.conf\n");
        let found = makestep(&[main, ("d/a.conf", "makestep 2 -1\n")]);
        assert_eq!(found.as_deref(), Some("makestep 2 -1"));
    }

    /// Nobody can read the first page of a process, or follow a link to itself.
    #[test]
    fn what_is_there_and_cannot_be_read_is_told() {
        const UNREADABLE: &str = "/proc/self/mem";
        let main = read_file(Path::new(UNREADABLE));
        assert_eq!(main.unread.as_deref(), Some(UNREADABLE));
        let unread = |text: &str| {
            let dir = tempfile::tempdir().unwrap();
            std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
            let file = dir.path().join("chrony.conf");
            fs::write(&file, text.replace("DIR", dir.path().to_str().unwrap())).unwrap();
            read_file(&file).unread
        };
        let of_file = unread(&format!("makestep 1 3\ninclude {UNREADABLE}\n"));
        assert_eq!(of_file.as_deref(), Some(UNREADABLE));
        for text in ["confdir DIR/loop\n", "include DIR/loop/*.conf\n"] {
            assert!(unread(text).unwrap().ends_with("/loop"));
        }
        assert_eq!(unread("confdir DIR/none\ninclude DIR/none/*\n"), None);
    }

    #[test]
    fn of_two_files_with_one_name_the_first_counts() {
        let files = [
            ("chrony.conf", "confdir DIR/a DIR/b\n"),
            ("a/2.conf", "makestep 1 3\n"),
            ("b/1.conf", "pool x\n"),
            ("b/2.conf", "makestep 1 -1\n"),
        ];
        assert_eq!(makestep(&files).as_deref(), Some("makestep 1 3"));
    }

    #[test]
    fn files_that_include_themselves_end() {
        let text = "include DIR/*.conf\n".repeat(100) + "makestep 1 3\n";
        let found = makestep(&[("chrony.conf", &text), ("other.conf", &text)]);
        assert_eq!(found.as_deref(), Some("makestep 1 3"));
    }

    #[test]
    fn patterns() {
        assert!(matches("*.conf", "a.conf") && matches("a*c*e", "abcde"));
        assert!(matches("a", "a") && matches("a*", "a") && matches("**", "a"));
        assert!(!matches("a", "ab") && !matches("*.conf", "a.conf~"));
        assert!(!matches("a*c*e", "ace.") && !matches("ab*bc", "abc"));
    }
}
