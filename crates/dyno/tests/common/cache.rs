//! A laboratory's place of a test's own: what is in it, and whether anything stays.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Finished, Program, wait_until};

/// How much a kept cache may store: the templates of a file's tests.
const KEPT_LIMIT: &str = "1G";

/// A cache directory that servers of another user may enter.
pub struct Cache(Place);

enum Place {
    New(TempDir),
    Kept { path: PathBuf, _lock: File },
}

/// A process that was started on something in a cache.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    pub words: String,
}

impl Cache {
    /// A new one, which is removed on drop.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("dyno-lab-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        Self(Place::New(dir))
    }

    /// One that no other test uses at the moment, with nothing in it but templates: what an earlier
    /// test has loaded need not be loaded again.
    pub fn kept() -> Self {
        let user = rustix::process::geteuid().as_raw();
        let all = std::env::temp_dir().join(format!("dyno-lab-kept-{user}"));
        make_open(&all);
        let free = (0..).find_map(|number| Self::take(&all.join(format!("{number:03}"))));
        free.unwrap()
    }

    /// `None` while another test uses it, or if a failed one left something that cannot be removed.
    fn take(path: &Path) -> Option<Self> {
        let lock = File::create(path.with_extension("lock")).unwrap();
        lock.try_lock().ok()?;
        make_open(path);
        // It would decide how long comparisons take.
        let _ = fs::remove_file(path.join("noise.json"));
        let cache = Self(Place::Kept {
            path: path.to_owned(),
            _lock: lock,
        });
        if !cache.runs().is_empty() {
            Program::new().args("clean").cache(&cache).run();
        }
        let is_clean = cache.runs().is_empty() && cache.processes().is_empty();
        is_clean.then_some(cache)
    }

    pub fn path(&self) -> &Path {
        match &self.0 {
            Place::New(dir) => dir.path(),
            Place::Kept { path, .. } => path,
        }
    }

    /// The size that dyno limits it to, if it is not the default.
    pub fn limit(&self) -> Option<&'static str> {
        match self.0 {
            Place::New(_) => None,
            Place::Kept { .. } => Some(KEPT_LIMIT),
        }
    }

    /// Directories of dynos that run, or that were killed.
    pub fn runs(&self) -> Vec<PathBuf> {
        entries(&self.path().join("run"))
    }

    /// What is in these directories.
    pub fn in_runs(&self) -> Vec<PathBuf> {
        self.runs().iter().flat_map(|run| entries(run)).collect()
    }

    /// The directory of server `number`, of the trial under way.
    pub fn server_dir(&self, number: u32) -> Option<PathBuf> {
        let prefix = format!("s{number}.");
        let is_its = |path: &PathBuf| file_name(path).starts_with(&prefix);
        self.in_runs().into_iter().find(is_its)
    }

    /// The process of server `number`.
    pub fn server(&self, number: u32) -> Option<u32> {
        let part = format!("/s{number}.");
        let mut processes = self.processes().into_iter();
        let server = processes.find(|process| process.words.contains(&part));
        server.map(|process| process.pid)
    }

    /// All processes that name the cache on their command line, or work in it.
    pub fn processes(&self) -> Vec<Process> {
        let below = format!("{}/", self.path().display());
        let pids = entries(Path::new("/proc"));
        let processes = pids.iter().filter_map(|path| {
            // One that ended and was not waited for has no command line.
            let words = fs::read(path.join("cmdline")).ok()?;
            Some(Process {
                pid: file_name(path).parse().ok()?,
                words: String::from_utf8_lossy(&words).replace('\0', " "),
            })
        });
        let works_below = |process: &Process| {
            let cwd = fs::read_link(format!("/proc/{}/cwd", process.pid));
            cwd.is_ok_and(|cwd| cwd.starts_with(self.path()))
        };
        processes
            .filter(|process| process.words.contains(&below) || works_below(process))
            .collect()
    }

    /// Ports of all servers whose directories are there.
    pub fn ports(&self) -> Vec<u16> {
        let texts = self.in_runs().into_iter();
        let texts = texts.filter_map(|dir| {
            let mut names = ["my.cnf", "postgresql.conf"].into_iter();
            names.find_map(|name| fs::read_to_string(dir.join(name)).ok())
        });
        texts.filter_map(|text| port_in(&text)).collect()
    }

    /// Templates and half-built ones.
    pub fn templates(&self) -> Vec<PathBuf> {
        let mut found = entries(&self.path().join("templates"));
        found.retain(|path| path.is_dir());
        found
    }

    /// Nothing of any dyno is left but templates that are whole.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        let processes = self.processes();
        assert!(processes.is_empty(), "{processes:?}");
        assert!(self.runs().is_empty(), "{:?}", self.in_runs());
        let whole = |path: &PathBuf| path.join("template.json").exists();
        assert!(self.templates().iter().all(whole), "{:?}", self.templates());
    }

    pub fn clean(&self) -> Finished {
        Program::new().args("clean").cache(self).succeeds()
    }

    pub fn wait_for_no_process(&self) {
        wait_until("the servers' end", || self.processes().is_empty());
    }
}

/// Creates a directory that others may enter, unless it exists.
fn make_open(path: &Path) {
    fs::create_dir_all(path).unwrap();
    // The temporary directory belongs to everybody: nobody else may have planted it.
    let found = fs::symlink_metadata(path).unwrap();
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    assert!(found.is_dir() && is_own, "{} is not ours", path.display());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The port of a server, as its configuration file has it.
pub fn port_in(config: &str) -> Option<u16> {
    let mut lines = config.lines();
    lines.find_map(|line| {
        let port = line.strip_prefix("port = ")?;
        port.trim_matches('\'').parse().ok()
    })
}

/// What a directory holds, by name; nothing if there is none.
pub fn entries(dir: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// All files below a directory, by path.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| match path.is_dir() {
        true => files_below(&path),
        false => vec![path],
    };
    entries(dir).into_iter().flat_map(below).collect()
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
