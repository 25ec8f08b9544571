//! The configuration of chrony, with the files that it includes (chrony.conf(5)).

use std::collections::BTreeMap;
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
    let file = FILES.iter().map(Path::new).find(|file| file.is_file())?;
    Some(read_file(file))
}

fn read_file(file: &Path) -> Chrony {
    let mut reader = Reader::default();
    reader.read(file, 0);
    Chrony {
        file: file.display().to_string(),
        makestep: reader.makestep,
    }
}

#[derive(Default)]
struct Reader {
    files: u32,
    /// The last one, which is the one that holds.
    makestep: Option<(String, String)>,
}

impl Reader {
    fn read(&mut self, file: &Path, depth: u32) {
        if self.files >= MAX_FILES || !file.is_file() {
            return;
        }
        self.files += 1;
        for line in kernel::text(file).unwrap_or_default().lines() {
            let mut words = line.split_whitespace();
            let directive = words.next().unwrap_or_default().to_ascii_lowercase();
            let included = match directive.as_str() {
                "makestep" => {
                    let line = line.trim().chars().take(MAX_LINE).collect();
                    self.makestep = Some((line, file.display().to_string()));
                    continue;
                }
                _ if depth >= MAX_DEPTH || self.files >= MAX_FILES => continue,
                "include" => words.next().map(matching).unwrap_or_default(),
                "confdir" => of_directories(words),
                // A `sourcedir` holds nothing but servers.
                _ => continue,
            };
            for file in included {
                self.read(&file, depth + 1);
            }
        }
    }
}

/// The files that a pattern such as `/etc/chrony.d/*.conf` names.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let pattern = Path::new(pattern);
    let (Some(dir), Some(pattern)) = (pattern.parent(), name(pattern)) else {
        return Vec::new();
    };
    let mut files = entries(dir);
    files.retain(|file| name(file).is_some_and(|name| matches(pattern, name)));
    files
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

/// The `.conf` files of directories, by their names; of two with one name, that of the first
/// directory.
fn of_directories<'a>(dirs: impl Iterator<Item = &'a str>) -> Vec<PathBuf> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in dirs.flat_map(entries) {
        if let Some(name) = name(&file).filter(|name| name.ends_with(".conf")) {
            files.entry(name.to_owned()).or_insert(file);
        }
    }
    files.into_values().collect()
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
