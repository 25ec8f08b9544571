//! Servers with their data in a directory on another disk, and that nothing of it stays, whatever
//! ends them.

use lab::Failure;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use engine::{MARIADB, POSTGRES};
use lab::clean_in;
use lab::servers::DataDir;
use lab::template::Templates;
use machine::home::Home;
use workload::options::Options;

use crate::private::disk::{assert_only_theirs, disk};
use crate::private::killed::{Dyno, dyno};
use crate::private::{
    self, NEVER, copy, empty, entries, installed, kept_home, open_dir, options, quietly, value,
    wait_until, wanted,
};

/// What a dyno does that is to be killed; nothing in a test run.
#[test]
fn a_dyno() {
    private::killed::play(|home, does, place| {
        if does == "rebuild" {
            rebuilt(home, &options(8, 2_000_000), place).unwrap();
        }
        let (installed, keep) = (installed(MARIADB), home.root().with_file_name("keep"));
        let data = copy(&empty(home, &installed, &[]), 1, &volume(place));
        let server = private::start_on(data.unwrap(), &installed, &[], None, &keep);
        private::killed::serve(server.unwrap());
    });
}

/// Data that was loaded on this disk.
fn rebuilt(home: &Home, options: &Options, place: &Path) -> Result<DataDir, Failure> {
    let installed = installed(MARIADB);
    let wanted = wanted(options);
    let templates = Templates::new(home, &installed, &[])?;
    let node = volume(place);
    let built = quietly(|mut listener| templates.build(&wanted, &node, &mut listener));
    Ok(built?.data)
}

/// A node with its data below a directory.
fn volume(directory: &Path) -> plan::Node {
    let mut node = plan::Node::default();
    node.volume.directory = Some(plan::Spanned {
        value: directory.to_owned(),
        span: plan::Span::NOWHERE,
    });
    node
}

#[test]
fn data_lies_in_the_directory_and_goes_with_its_server() {
    for engine in private::ALL {
        let (home, keep, disk) = (kept_home(), tempfile::tempdir().unwrap(), disk());
        // Option files have rules of their own for such names.
        let place = disk.path().join("a #1; b");
        fs::create_dir(&place).unwrap();
        let installed = installed(engine);
        let template = empty(&home, &installed, &[]);
        let [data, other] = [1, 2].map(|number| copy(&template, number, &volume(&place)).unwrap());
        assert_eq!(entries(&place).len(), 2);
        drop(other);
        let server = private::start_on(data, &installed, &[], None, keep.path()).unwrap();
        assert!(server.data_dir().starts_with(&place));
        let question = match engine == POSTGRES {
            true => "SHOW data_directory",
            false => "SELECT @@datadir",
        };
        let there = value(&server, question);
        assert_eq!(Path::new(&there), server.data_dir(), "{engine}");
        value(&server, "SELECT COUNT(*) FROM information_schema.tables");

        let own = &entries(&place)[0];
        let run = home.run_dir().file_name().unwrap().to_str().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("dyno-{run}-")), "{name}");
        // dyno's own, with the server's in it.
        let me = rustix::process::geteuid().as_raw();
        assert_eq!(fs::metadata(own).unwrap().uid(), me);
        let servers = fs::metadata(server.data_dir()).unwrap();
        assert_eq!(servers.uid() != me, rustix::process::geteuid().is_root());
        assert_eq!(servers.mode() & 0o077, 0);

        server.stop(&NEVER).unwrap();
        assert!(entries(&place).is_empty());
        fs::remove_dir(&place).unwrap();
        assert_only_theirs(disk.path());
    }
}

#[test]
fn a_rebuild_lies_there_too() {
    let (home, keep, disk) = (kept_home(), tempfile::tempdir().unwrap(), disk());
    let (installed, options) = (installed(MARIADB), options(1, 500));
    let data = rebuilt(&home, &options, disk.path()).unwrap();
    let server = private::start_on(data, &installed, &[], None, keep.path()).unwrap();
    assert!(server.data_dir().starts_with(disk.path()));
    assert_eq!(value(&server, "SELECT COUNT(*) FROM sbtest1"), "500");
    drop(server);
    assert_only_theirs(disk.path());
}

#[test]
fn nothing_lies_there_after_a_kill_and_a_sweep() {
    for does in ["elsewhere", "rebuild"] {
        let (dir, disk) = (open_dir(), disk());
        let root = dir.path().join("cache");
        let one: Dyno = match does {
            "elsewhere" => dyno(&root, does, disk.path()),
            // In the middle of its work.
            _ => private::killed::start(&root, does, disk.path()),
        };
        wait_until("the data", || {
            let made = entries(disk.path());
            made.len() == 2 && made.iter().any(|dir| dir.join("data/ibdata1").exists())
        });
        one.kill_with_servers();
        assert_eq!(entries(disk.path()).len(), 2);
        let cleaned = clean_in(&root, true).unwrap();
        assert!(cleaned.run_dirs == 1 && cleaned.bytes > 1 << 20);
        assert_only_theirs(disk.path());
    }
}

#[test]
fn a_place_that_is_gone_is_no_error_for_the_sweep() {
    let (dir, disk) = (open_dir(), disk());
    let root = dir.path().join("cache");
    dyno(&root, "elsewhere", disk.path()).kill();
    fs::remove_dir_all(disk.path()).unwrap();
    let cleaned = clean_in(&root, false).unwrap();
    assert_eq!((cleaned.run_dirs, cleaned.unmounted), (1, Vec::new()));
    assert!(entries(&root.join("run")).is_empty());
}

/// Something mounted on a directory, gone with it.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// Records a skipped test and returns `None` where this user may not mount.
    fn new(options: &[&str], point: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(options).arg(point).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(point));
        }
        testkit::skip("this user may not mount");
        None
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn what_a_disk_holds_is_known_when_it_is_mounted_again() {
    let (dir, disk, point) = (open_dir(), disk(), open_dir());
    let root = dir.path().join("cache");
    // On the disk of the cache, and not in memory.
    let (from, point) = (disk.path().to_str().unwrap(), point.path());
    let Some(mounted) = Mounted::new(&["--bind", from], point) else {
        return;
    };
    let one = dyno(&root, "elsewhere", point);
    let journal = fs::read_to_string(one.run_dir().join("undo")).unwrap();
    let is_noted = journal.contains("mount_depth");
    one.kill_with_servers();
    drop(mounted);
    let cleaned = clean_in(&root, false).unwrap();
    if is_noted {
        assert_eq!((cleaned.run_dirs, cleaned.unmounted.len()), (0, 1));
        let _again = Mounted::new(&["--bind", from], point).unwrap();
        let cleaned = clean_in(&root, false).unwrap();
        assert_eq!((cleaned.run_dirs, cleaned.unmounted), (1, Vec::new()));
        assert_only_theirs(disk.path());
    }
    assert!(entries(&root.join("run")).is_empty());
}

/// A file system in memory has another number whenever it is mounted.
#[test]
fn what_lay_in_memory_is_gone_with_its_mount() {
    for is_back in [true, false] {
        let (dir, point) = (open_dir(), open_dir());
        let root = dir.path().join("cache");
        let options = ["-t", "tmpfs", "-o", "mode=755", "tmpfs"];
        let Some(mounted) = Mounted::new(&options, point.path()) else {
            return;
        };
        dyno(&root, "elsewhere", point.path()).kill_with_servers();
        drop(mounted);
        let _again = is_back.then(|| Mounted::new(&options, point.path()).unwrap());
        let cleaned = clean_in(&root, false).unwrap();
        assert_eq!((cleaned.run_dirs, cleaned.unmounted), (1, Vec::new()));
    }
}
