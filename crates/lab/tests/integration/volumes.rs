//! Servers with their data and their log on file systems that dyno makes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{MARIADB, MYSQL, POSTGRES, Server};
use lab::servers::{self, DataDir, Node, NodeSpec};
use lab::{Failure, clean_in};
use machine::home::Home;
use machine::site::ThisHost;

use crate::private::disk::{assert_only_theirs, disk};
use crate::private::killed::dyno;
use crate::private::{
    self, NEVER, config, empty, entries, installed, kept_home, node_of, sql, value, wait_until,
};

/// What a dyno does that is to be killed, in any phase of it; nothing in a test run.
#[test]
fn a_dyno() {
    private::killed::play(|home, _, place| {
        let (node, keep) = (mirrored(place), home.root().with_file_name("keep"));
        loop {
            let data = empty_on(home, MARIADB, &node).unwrap();
            let server = private::start_on(data, &installed(MARIADB), &[], None, &keep).unwrap();
            private::killed::ready();
            drop(server);
        }
    });
}

/// File systems for data and log on loop devices whose files are below a directory.
fn mirrored(directory: &Path) -> plan::Node {
    let directory = directory.display();
    node_of(&format!(
        "[volume]\nfilesystem = 'btrfs'\ndevices = 2\nprofile = 'raid1'\n\
         device_size = '512M'\ndirectory = '{directory}'\n\
         [log_volume]\nfilesystem = 'ext4'\ndevice_size = '256M'\ndirectory = '{directory}'"
    ))
}

/// Data and log, each on a file system of its own, in a container.
const APART: &str = "[site]\nkind = 'container'\n\
                     [volume]\nfilesystem = 'xfs'\ndevice_size = '1G'\n\
                     [log_volume]\nfilesystem = 'ext4'\ndevice_size = '512M'\n";

/// The data of a server without tables on the volumes of a node; `None` where they cannot be made.
fn empty_on(home: &Home, engine: &'static dyn Server, node: &plan::Node) -> Option<DataDir> {
    let template = empty(home, &installed(engine), &[]);
    let is_denied = |error: &Failure| error.key.as_deref() == Some("volume.filesystem");
    private::allowed(private::copy(&template, 1, node), is_denied, &[])
}

fn start(
    home: &Home,
    engine: &'static dyn Server,
    data: DataDir,
    node: &plan::Node,
    settings: &[(&str, &str)],
    keep: &Path,
) -> Node {
    let site = Arc::new(ThisHost::new(home, &node.site, false, None).unwrap());
    let spec = NodeSpec {
        config: config(settings),
        ..private::on_site(site, keep)
    };
    servers::start(&installed(engine), spec, data, &NEVER).unwrap()
}

/// Where a server says that its log is.
fn log_of(server: &Node, engine: &'static dyn Server) -> PathBuf {
    match engine == POSTGRES {
        true => fs::read_link(server.data_dir().join("pg_wal")).unwrap(),
        false => value(server, "SELECT @@innodb_log_group_home_dir").into(),
    }
}

/// Files and directories of a log, but no links to it.
fn logs_in(directory: &Path, engine: &dyn Server) -> usize {
    let all = entries(directory).into_iter();
    let entries = engine.traits().log_entries;
    let is_log = |path: &PathBuf| entries.include(path.file_name().unwrap());
    all.filter(|path| is_log(path) && !path.is_symlink())
        .count()
}

#[test]
fn a_log_lies_on_its_own_volume_through_kills_and_restarts() {
    let (home, node) = (kept_home(), node_of(APART));
    for engine in private::ALL {
        let keep = tempfile::tempdir().unwrap();
        let Some(data) = empty_on(&home, engine, &node) else {
            return;
        };
        let binlog: &[_] = match engine == MYSQL {
            true => &[("log_bin", "mine")],
            false => &[],
        };
        let mut server = start(&home, engine, data, &node, binlog, keep.path());
        let log = log_of(&server, engine);
        let log_dir = match engine == POSTGRES {
            true => log.parent().unwrap(),
            false => &log,
        };
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        assert_ne!(device(log_dir), device(&server.data_dir()), "{engine}");
        assert!(logs_in(log_dir, engine) > 0, "{engine}");
        assert_eq!(logs_in(&server.data_dir(), engine), 0, "{engine}");
        for name in binlog.iter().map(|(_, name)| format!("{name}.index")) {
            assert!(log_dir.join(name).exists());
        }
        sql(&server, "CREATE TABLE t (a INT)").unwrap();
        sql(&server, "INSERT INTO t VALUES (1)").unwrap();
        server.kill();
        server.restart(&NEVER).unwrap();
        server.restart(&NEVER).unwrap();
        assert_eq!(value(&server, "SELECT COUNT(*) FROM t"), "1", "{engine}");
        assert_eq!(log_of(&server, engine), log);
        server.stop(&NEVER).unwrap();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let run = home.run_dir().display().to_string();
        assert!(!mounts.contains(&run), "{mounts}");
    }
}

/// Also in the middle of making or removing it.
#[test]
fn a_killed_dynos_file_system_goes_with_the_next_sweep() {
    let disk = disk();
    if empty_on(&kept_home(), MARIADB, &mirrored(disk.path())).is_none() {
        return;
    }
    let (_dir, root) = private::cache();
    let traces = |of: &Path| {
        let read = |path: &str| fs::read_to_string(path).unwrap();
        let devices = fs::read_dir("/sys/block").unwrap().flatten();
        let files = devices
            .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
        let all = files.chain([read("/proc/self/mountinfo")]);
        let of = of.display().to_string();
        all.filter(|text| text.contains(&of)).count()
    };
    for more_ms in [0, 20, 50, 90, 140, 200, 300] {
        let one = dyno(&root, "file system", disk.path());
        std::thread::sleep(Duration::from_millis(more_ms));
        one.kill_with_servers();
        assert_eq!(clean_in(&root, false).unwrap().left, Vec::new());
        wait_until("the devices to be detached", || traces(disk.path()) == 0);
        assert_only_theirs(disk.path());
        assert!(entries(&root.join("run")).is_empty());
    }
}
