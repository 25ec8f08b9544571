//! The clock source, and the service that synchronizes the clock. The configuration of chrony
//! includes the files that it includes (chrony.conf(5)).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::files::{Files, entries, line, name};

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
const CHRONY: &str = "chronyd";

/// Time services by process name, which the kernel truncates to 15 characters.
const SERVICES: [&str; 6] = [
    CHRONY,
    "ntpd",
    "ntp-daemon",
    "openntpd",
    "systemd-timesyn",
    "ptp4l",
];

const CHRONY_FILES: [&str; 2] = ["/etc/chrony/chrony.conf", "/etc/chrony.conf"];
/// Maximum number of files that are read, because files may include themselves.
const MAX_FILES: u32 = 200;
/// Longest line that is kept, in characters.
const MAX_LINE: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timekeeping {
    /// The current clock source, for example `tsc`.
    pub source: Option<String>,
    /// The available clock sources, separated by spaces.
    pub available: Option<String>,
    /// The process that synchronizes the clock, for example `chronyd`.
    pub service: Option<String>,
    /// The configuration of chrony, if chrony runs and the file is at a standard path.
    pub chrony: Option<Chrony>,
}

impl Timekeeping {
    pub(crate) fn read(files: &dyn Files) -> Self {
        let service = service(files);
        let is_chrony = service.as_deref() == Some(CHRONY);
        Self {
            source: line(files, format!("{SOURCES}/current_clocksource")),
            available: line(files, format!("{SOURCES}/available_clocksource")),
            chrony: is_chrony.then(|| read_chrony(files)).flatten(),
            service,
        }
    }
}

fn service(files: &dyn Files) -> Option<String> {
    let processes = entries(files, "/proc");
    let mut names = processes
        .iter()
        .filter_map(|process| line(files, process.join("comm")));
    names.find(|name| SERVICES.contains(&name.as_str()))
}

/// How chrony is configured to step the clock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chrony {
    pub file: String,
    /// The `makestep` directive in effect, and its file.
    pub makestep: Option<(String, String)>,
    /// A file or directory of the configuration that exists but could not be read.
    pub unread: Option<String>,
}

fn read_chrony(files: &dyn Files) -> Option<Chrony> {
    let mut candidates = CHRONY_FILES.iter().map(Path::new);
    // Without permission to read it, the file may still exist.
    let file = candidates.find(|file| match files.read(file) {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::NotFound,
    })?;
    let found = Chrony {
        file: file.display().to_string(),
        ..Chrony::default()
    };
    let mut reader = Reader {
        files,
        count: 0,
        found,
    };
    reader.read(file);
    Some(reader.found)
}

struct Reader<'a> {
    files: &'a dyn Files,
    count: u32,
    found: Chrony,
}

impl Reader<'_> {
    fn read(&mut self, file: &Path) {
        self.count += 1;
        let text = self.allowed(file, self.files.read(file));
        for line in text.lines().map(str::trim) {
            let mut words = line.split_whitespace();
            let directive = words.next().unwrap_or_default().to_ascii_lowercase();
            let included = match directive.as_str() {
                // The last one takes effect.
                "makestep" => {
                    let line = line.chars().take(MAX_LINE).collect();
                    self.found.makestep = Some((line, file.display().to_string()));
                    continue;
                }
                _ if self.count >= MAX_FILES => continue,
                "include" => {
                    let path = Path::new(words.next().unwrap_or_default());
                    self.listed(path.parent().into_iter(), name(path).unwrap_or_default())
                }
                "confdir" => self.listed(words.map(Path::new), "*.conf"),
                // A `sourcedir` lists only servers.
                _ => continue,
            };
            for file in included {
                if self.count < MAX_FILES {
                    self.read(&file);
                }
            }
        }
    }

    /// Files of directories, sorted by name. If several have the same name, the one in the first
    /// directory counts.
    fn listed<'a>(&mut self, dirs: impl Iterator<Item = &'a Path>, pattern: &str) -> Vec<PathBuf> {
        let mut found = BTreeMap::new();
        for dir in dirs {
            for file in self.allowed(dir, self.files.list(dir)) {
                if let Some(name) = name(&file).filter(|name| matches(pattern, name)) {
                    found.entry(name.to_owned()).or_insert(file);
                }
            }
        }
        found.into_values().collect()
    }

    /// Records the first path that could not be read. chrony ignores missing files, and directories
    /// in place of files.
    fn allowed<T: Default>(&mut self, path: &Path, read: io::Result<T>) -> T {
        read.unwrap_or_else(|error| {
            if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) {
                let unread = &mut self.found.unread;
                unread.get_or_insert_with(|| path.display().to_string());
            }
            T::default()
        })
    }
}

/// Whether a name matches a pattern with wildcards `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let name = name.strip_prefix(start);
    let is_rest = |name: &str, at| name.get(at..).is_some_and(|name| matches(rest, name));
    name.is_some_and(|name| (0..=name.len()).any(|at| is_rest(name, at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    const MAIN: &str = "/etc/chrony.conf";

    fn config(files: &[(&str, &str)]) -> Chrony {
        read_chrony(&TestMachine::with(files).files).unwrap()
    }

    fn makestep(files: &[(&str, &str)]) -> Option<String> {
        config(files).makestep.map(|(line, _)| line)
    }

    #[test]
    fn the_last_makestep_takes_effect() {
        let one = |text: &str| makestep(&[(MAIN, text)]);
        assert_eq!(one("# makestep 1 -1\npool x\n"), None);
        let expected = Some("MakeStep 0.1 -1");
        assert_eq!(one(" MakeStep 0.1 -1\n").as_deref(), expected);
        let last = one("makestep 1 -1\nmakestep 1 3\n");
        assert_eq!(last.as_deref(), Some("makestep 1 3"));
        let long = one(&format!("makestep 1 {}", "3".repeat(5000)));
        assert_eq!(long.unwrap().len(), MAX_LINE);
    }

    #[test]
    fn a_makestep_may_be_in_an_included_file() {
        let main = (MAIN, "makestep 1 3\nconfdir /etc/conf.d\n");
        let chrony = config(&[main, ("/etc/conf.d/step.conf", "makestep 1 -1\n")]);
        let file = "/etc/conf.d/step.conf".to_owned();
        assert_eq!(chrony.makestep, Some(("makestep 1 -1".to_owned(), file)));
        let other = ("/etc/conf.d/step.off", "makestep 1 -1\n");
        assert_eq!(makestep(&[main, other]).as_deref(), Some("makestep 1 3"));
        let main = (MAIN, "include /etc/*.d/no\ninclude /etc/d/*.conf\n");
        let found = makestep(&[main, ("/etc/d/a.conf", "makestep 2 -1\n")]);
        assert_eq!(found.as_deref(), Some("makestep 2 -1"));
    }

    /// A symbolic link to itself cannot be read even by root.
    #[test]
    fn unreadable_files_are_reported() {
        let unread = |text: &str| {
            let machine = TestMachine::with(&[(MAIN, text)]);
            machine.link("/etc/loop", "loop");
            read_chrony(&machine.files).unwrap().unread
        };
        for text in [
            "makestep 1 3\ninclude /etc/loo*\n",
            "confdir /etc/loop\n",
            "include /etc/loop/*.conf\n",
        ] {
            assert_eq!(unread(text).as_deref(), Some("/etc/loop"), "{text}");
        }
        assert_eq!(unread("confdir /etc/none\ninclude /etc/none/*\n"), None);
        let machine = TestMachine::with(&[]);
        machine.link(MAIN, "chrony.conf");
        let main = read_chrony(&machine.files).unwrap();
        assert_eq!(main.unread.as_deref(), Some(MAIN));
        assert_eq!(read_chrony(&TestMachine::with(&[]).files), None);
    }

    #[test]
    fn of_two_files_with_the_same_name_the_first_counts() {
        let files = [
            (MAIN, "confdir /etc/a /etc/b\n"),
            ("/etc/a/2.conf", "makestep 1 3\n"),
            ("/etc/b/1.conf", "pool x\n"),
            ("/etc/b/2.conf", "makestep 1 -1\n"),
        ];
        assert_eq!(makestep(&files).as_deref(), Some("makestep 1 3"));
    }

    #[test]
    fn files_may_include_themselves() {
        let text = "include /etc/*.conf\n".repeat(100) + "makestep 1 3\n";
        let found = makestep(&[(MAIN, &text), ("/etc/other.conf", &text)]);
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
