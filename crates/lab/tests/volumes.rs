//! Servers with their data and their log on file systems that dyno makes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod private;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{MYSQL, POSTGRES, Server};
use lab::error::LabError;
use lab::home::Home;
use lab::servers::{self, DataDir, Node, NodeSpec};
use lab::site::ThisHost;

use private::{NEVER, config, empty, entries, installed, kept_home, sql, value};

/// The node of a study with these lines.
fn node(lines: &str) -> plan::Node {
    let text = format!("title = 't'\nserver.engine = 'mariadb'\n{lines}");
    let study = study::Study::parse("t", &text, engine::catalog()).unwrap();
    let mut trials = study.plan().unwrap().trials;
    trials.remove(0).topology.node
}

/// Data and log, each on a file system of its own, in a container.
const APART: &str = "[site]\nkind = 'container'\n\
                     [volume]\nfilesystem = 'xfs'\ndevice_size = '1G'\n\
                     [log_volume]\nfilesystem = 'ext4'\ndevice_size = '512M'\n";

/// The data of a server without tables on the volumes of a node; `None` where they cannot be made.
fn empty_on(home: &Home, engine: &'static dyn Server, node: &plan::Node) -> Option<DataDir> {
    match empty(home, &installed(engine), &[]).copy_to(1, node, &host::LOCAL) {
        Ok((data, _)) => Some(data),
        Err(error @ LabError::NoVolume { .. }) => {
            testkit::skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn start(
    home: &Home,
    engine: &'static dyn Server,
    data: DataDir,
    node: &plan::Node,
    settings: &[(&str, &str)],
    keep: &Path,
) -> Node {
    let spec = NodeSpec {
        number: 1,
        data,
        config: &config(settings),
        port: None,
        connections: 10,
        membership: None,
        site: Arc::new(ThisHost::new(home, &node.site).unwrap()),
        keep,
        interrupted: &NEVER,
    };
    servers::start(&installed(engine), spec).unwrap()
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
    let is_log = |path: &PathBuf| engine.log_entries().include(path.file_name().unwrap());
    all.filter(|path| is_log(path) && !path.is_symlink())
        .count()
}

#[test]
fn a_log_lies_on_its_own_volume_through_kills_and_restarts() {
    let (home, node) = (kept_home(), node(APART));
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
