//! What is not dyno's stays as it is, whatever it looks like and wherever it lies; what keeps
//! dyno from its own work is named with the remedy. As root and as an ordinary user.

use lab::Failure;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lab::clean_in;
use machine::home::{Cleaned, Home};
use tempfile::TempDir;
use testkit::SmallDisk;

use crate::private::{self, entries, open_dir};

/// Names like those of runs and templates.
const RUNS: [&str; 7] = [
    "6400000000001",
    "6400000000002",
    "6400000000003",
    "6400000000004",
    "6400000000005",
    "6400000000006",
    "6400000000007",
];
const TEMPLATE: &str = "mariadb-10.11.14-1x10-0123456789abcdef";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// All below a directory by its path: owner, mode, and text or target.
fn snapshot(dir: &Path) -> BTreeMap<PathBuf, (u32, u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for path in entries(dir) {
        let meta = fs::symlink_metadata(&path).unwrap();
        let content = match () {
            () if meta.is_dir() => Vec::new(),
            () if meta.is_symlink() => {
                let target = fs::read_link(&path).unwrap();
                target.to_string_lossy().into_owned().into_bytes()
            }
            () if meta.is_file() => fs::read(&path).unwrap(),
            () => b"other".to_vec(),
        };
        if meta.is_dir() {
            found.extend(snapshot(&path));
        }
        found.insert(path, (meta.uid(), meta.mode(), content));
    }
    found
}

fn file(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "theirs").unwrap();
}

/// A cache in which a dyno has been.
fn used_cache() -> (TempDir, PathBuf) {
    let (dir, root) = private::cache();
    drop(private::home_in(&root));
    (dir, root)
}

/// What a dyno that was killed left.
fn leftover(root: &Path, name: &str) -> PathBuf {
    let run = root.join("run").join(name);
    file(&run.join("s1.0/own/data/ibdata1"));
    fs::write(run.join("lock"), "").unwrap();
    run
}

/// Somebody's process with this argument, ended with it.
struct Process(Child);

impl Process {
    fn new(argument: &str) -> Self {
        let mut command = Command::new("sh");
        // It waits for the end of its input, which is ours to close.
        command.args(["-c", "read line", "sh", argument]);
        let process = Self(command.stdin(Stdio::piped()).spawn().unwrap());
        let shown = || fs::read_to_string(format!("/proc/{}/cmdline", process.0.id()));
        private::wait_until("the shell", || shown().unwrap().contains(argument));
        process
    }

    fn assert_running(&mut self) {
        assert!(self.0.try_wait().unwrap().is_none());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_directory_that_dyno_did_not_make_is_no_cache() {
    let dir = open_dir();
    let root = dir.path();
    file(&root.join("run/x/pid"));
    file(&root.join("run/experiment-42/rows"));
    file(&root.join("templates/emails/welcome"));
    leftover(root, RUNS[0]);
    let mut theirs = [
        Process::new(&format!("--pid-file={}/run/x/pid", root.display())),
        Process::new(&format!(
            "--datadir={}/run/{}/data",
            root.display(),
            RUNS[0]
        )),
    ];
    let before = snapshot(root);
    for refused in [
        Home::open_in(root, u64::MAX, lab::servers::account().unwrap()).map(drop),
        clean_in(root, true).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(error.message.contains("was not created by dyno"), "{error}");
        assert!(error.remedy.as_deref().unwrap().contains("DYNO_CACHE_DIR"));
    }
    assert_eq!(snapshot(root), before);
    theirs.iter_mut().for_each(Process::assert_running);
}

#[test]
fn what_looks_like_dynos_in_its_cache_is_passed_over() {
    let (dir, root) = used_cache();
    let (run, templates) = (root.join("run"), root.join("templates"));
    let other = dir.path().join("other");
    file(&other.join("lock"));
    file(&other.join("template.json"));
    // Names that dyno does not give, one that has no lock, and links in the place of all.
    file(&run.join("experiment-42/lock"));
    file(&run.join(RUNS[0]).join("rows"));
    symlink(&other, run.join(RUNS[1])).unwrap();
    file(&run.join(RUNS[2]));
    file(&templates.join("emails/welcome"));
    file(&templates.join("emails.lock"));
    file(&templates.join(TEMPLATE).join("template.json"));
    let linked = TEMPLATE.replace("1x10", "1x20");
    symlink(&other, templates.join(&linked)).unwrap();
    file(&templates.join(format!("{linked}.lock")));
    // No locks: these are named.
    let mut named = Vec::new();
    for name in &RUNS[3..6] {
        file(&run.join(name).join("rows"));
        named.push(run.join(name));
    }
    symlink(other.join("lock"), named[0].join("lock")).unwrap();
    fs::create_dir(named[1].join("lock")).unwrap();
    let pipe = Command::new("mkfifo").arg(named[2].join("lock")).status();
    assert!(pipe.unwrap().success());
    if is_root() {
        chown(leftover(&root, RUNS[6]), Some(65534), None).unwrap();
    }
    let option = format!(
        "--defaults-file={}/s1.0/my.cnf",
        run.join(RUNS[0]).display()
    );
    let mut theirs = Process::new(&option);
    let before = snapshot(dir.path());

    let home = private::home_in(&root);
    let paths = |cleaned: &Cleaned| {
        let mut paths: Vec<_> = cleaned.left.iter().map(|left| left.path.clone()).collect();
        paths.sort();
        paths
    };
    assert_eq!(paths(home.swept()), named);
    drop(home);
    let cleaned = clean_in(&root, true).unwrap();
    assert_eq!(paths(&cleaned), named);
    assert_eq!(
        (cleaned.processes, cleaned.run_dirs, cleaned.templates),
        (0, 0, 0)
    );
    assert_eq!(snapshot(dir.path()), before);
    theirs.assert_running();
}

#[test]
fn a_process_that_may_be_somebody_elses_keeps_its_directory() {
    let (_dir, root) = used_cache();
    let (kept, gone) = (leftover(&root, RUNS[0]), leftover(&root, RUNS[1]));
    let mut theirs = Process::new(&format!("--defaults-file={}/s1.0/my.cnf", kept.display()));
    let cleaned = clean_in(&root, false).unwrap();
    let [left] = cleaned.left.as_slice() else {
        panic!("{cleaned:?}");
    };
    let pid = theirs.0.id();
    assert!(left.path == kept && left.failure.message.contains(&format!("process {pid} ")));
    assert!(left.failure.remedy.is_some());
    theirs.assert_running();
    assert!(kept.join("s1.0/own/data/ibdata1").exists());
    assert!(cleaned.run_dirs == 1 && !gone.exists());
    drop(theirs);
    assert_eq!(clean_in(&root, false).unwrap().run_dirs, 1);
}

#[test]
fn one_leftover_that_stays_keeps_nobody_from_running() {
    let (dir, root) = used_cache();
    let (stuck, gone) = (leftover(&root, RUNS[0]), leftover(&root, RUNS[1]));
    let data = stuck.join("s1.0/own/data");
    let closed = fs::Permissions::from_mode(0o000);
    // Root may enter everything, but does not touch what is mounted.
    let other = dir.path().join("other");
    file(&other.join("rows"));
    let mut mount = Command::new("mount");
    mount.arg("--bind").arg(&other).arg(&data);
    if !is_root() {
        fs::set_permissions(&data, closed).unwrap();
    } else if !mount.output().unwrap().status.success() {
        return testkit::skip("root may not mount here");
    }
    let home = private::home_in(&root);
    assert!(home.swept().run_dirs == 1 && !gone.exists());
    let left = home.swept().left.clone();
    assert!(left.len() == 1 && left[0].path == stuck, "{left:?}");
    assert!(left[0].failure.message.contains("own/data"), "{left:?}");
    assert_eq!(clean_in(&root, false).unwrap().left, left);
    drop(home);
    match is_root() {
        true => assert!(
            Command::new("umount")
                .arg(&data)
                .status()
                .unwrap()
                .success()
        ),
        false => fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap(),
    }
    let cleaned = clean_in(&root, false).unwrap();
    assert!(cleaned.left.is_empty() && !stuck.exists(), "{cleaned:?}");
    if is_root() {
        assert_eq!(fs::read(other.join("rows")).unwrap(), b"theirs");
    }
}

#[test]
fn a_read_only_cache_is_told_with_the_remedy_and_stays() {
    let Some(disk) = SmallDisk::new("8m") else {
        return;
    };
    let root = disk.path().join("cache");
    drop(private::home_in(&root));
    let run = leftover(&root, RUNS[0]);
    disk.remount("ro");
    for refused in [
        lab::servers::open_home(&root, u64::MAX).map(drop),
        clean_in(&root, true).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(
            error.to_string().contains("Read-only file system"),
            "{error}"
        );
        assert!(
            error.remedy.as_deref().unwrap().contains("remount"),
            "{error}"
        );
    }
    // Nor is one made there.
    let error = lab::servers::open_home(&disk.path().join("new"), u64::MAX).unwrap_err();
    assert!(
        error.to_string().contains("Read-only file system"),
        "{error}"
    );
    disk.remount("rw");
    assert!(run.join("s1.0/own/data/ibdata1").exists());
    assert_eq!(clean_in(&root, true).unwrap().run_dirs, 1);
}

#[test]
fn a_full_cache_is_told_with_the_remedy_and_can_be_cleaned() {
    // Room for few files and little in them.
    let Some(disk) = SmallDisk::new("1m,nr_inodes=48") else {
        return;
    };
    let root = disk.path().join("cache");
    drop(private::home_in(&root));
    let run = leftover(&root, RUNS[0]);
    let error = open_when_full(&root, disk.path(), &run);
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(error.remedy.as_deref().unwrap().contains("space"));
    assert_eq!(clean_in(&root, true).unwrap().run_dirs, 1);
    assert!(!run.exists());
    let home = private::home_in(&root);

    // The marker of a new cache finds no room: the directory stays one that can be marked.
    let mut filler = fs::File::create(disk.path().join("filler")).unwrap();
    for size in [1 << 12, 1] {
        while std::io::Write::write_all(&mut filler, &vec![1; size]).is_ok() {}
    }
    let new = disk.path().join("new");
    let error = lab::servers::open_home(&new, u64::MAX).unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(entries(&new).is_empty());
    drop(home);
}

/// What opening the cache says once no file can be created beside it. A removed file takes
/// its room until nobody has it open, and a child that another test is starting may have it
/// open for a moment: then the disk is not full yet, opening sweeps `run`, and all begins anew.
fn open_when_full(root: &Path, disk: &Path, run: &Path) -> Failure {
    for _ in 0..100 {
        while fs::create_dir(disk.join(format!("theirs{}", entries(disk).len()))).is_ok() {}
        match lab::servers::open_home(root, u64::MAX) {
            Err(error) => return error,
            Ok(home) => drop(home),
        }
        assert_eq!(leftover(root, RUNS[0]), run);
    }
    panic!("the disk never was full");
}

/// All of the above once more.
#[test]
fn the_same_as_an_ordinary_user() {
    const INNER: &str = "FOREIGN_TEST_INNER";
    if std::env::var_os(INNER).is_some() {
        return;
    }
    if !is_root() {
        return testkit::skip("only root can be two users");
    }
    let dir = open_dir();
    let own = dir.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &own).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&own).args(["foreign::", "--test-threads=1"]);
    command.current_dir("/");
    // What an ordinary user cannot do there, root does here.
    command.env(INNER, "1").env_remove("DYNO_TEST_SKIPS");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("7 passed"), "{said}");
}
