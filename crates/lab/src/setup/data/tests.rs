use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::sqlite::SqliteTarget;
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::for_tests::{Silent, node, run_of, trial};
use crate::site::{Site, ThisHost};
use crate::{Cluster, Exit, Instance};

static NEVER: AtomicBool = AtomicBool::new(false);

/// A private server without tables that has received `signal`.
fn node_after(signal: Signal, keep: &Path) -> Rig {
    let server = node(keep);
    let pid = Pid::from_raw(server.pid().unwrap().cast_signed()).unwrap();
    let instance = Instance::on(Cluster::of(vec![server], &NEVER).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    of(instance)
}

fn of(instance: Instance) -> Rig {
    Rig {
        instances: vec![instance],
        reset: None,
        reuse_key: None,
    }
}

/// The failure of a preload that the user interrupts after a while.
fn stopped(rig: Rig) -> Failure {
    let interrupted = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            interrupted.store(true, Ordering::Relaxed);
        });
        let mut observer = Silent::default();
        preload(&trial(), &rig, &mut run_of(&mut observer, &interrupted)).unwrap_err()
    })
}

#[test]
fn a_server_that_dies_is_reported_with_the_end_of_its_log() {
    let keep = tempfile::tempdir().unwrap();
    let rig = node_after(Signal::KILL, keep.path());
    let mut observer = Silent::default();
    let failure = preload(&trial(), &rig, &mut run_of(&mut observer, &NEVER)).unwrap_err();
    let text = failure.message;
    assert!(text.contains("server 1"), "{text}");
    assert!(text.contains("was killed by signal 9"), "{text}");
    assert!(text.contains("ready for connections"), "{text}");
    assert_eq!(failure.exit, Exit::Server);
}

#[test]
fn an_interrupt_does_not_wait_for_a_hung_server() {
    let keep = tempfile::tempdir().unwrap();
    let failure = stopped(node_after(Signal::STOP, keep.path()));
    assert_eq!(failure.exit, Exit::Interrupted, "{failure}");
}

#[test]
fn an_interrupt_does_not_wait_for_an_in_process_database() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("endless").display());
    let target = SqliteTarget::parse(&url, None).unwrap();
    let endless = "CREATE VIEW sbtest1 AS WITH RECURSIVE n(id) AS \
                   (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, id k, '' pad FROM n";
    target.open().unwrap().execute_batch(endless).unwrap();
    let database = engine::SQLITE.open(&url, &engine::Access::default(), None);
    let failure = stopped(of(Instance::found(database.unwrap(), 1)));
    assert_eq!(failure.exit, Exit::Interrupted, "{failure}");
}

/// Bytes of a file that are in the page cache; `None` if unknown.
fn resident_bytes(file: &Path) -> Option<u64> {
    let mut fincore = Command::new("fincore");
    fincore.args(["--bytes", "--noheadings", "--output", "RES"]);
    let output = fincore.arg(file).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// Dirty pages cannot be dropped, so dropped pages had been written.
#[test]
fn data_is_on_disk_and_out_of_memory() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let mounts = host::mounts::all(ThisHost::default().files());
    let real = std::fs::canonicalize(dir.path()).unwrap();
    let mount = host::mounts::containing(&mounts, &real);
    if mount.is_none_or(|mount| mount.file_system == "tmpfs") {
        return testkit::skip("/var/tmp is in memory, which its files cannot leave");
    }
    std::fs::create_dir(dir.path().join("db")).unwrap();
    let files = ["ibdata1", "db/t.ibd"].map(|name| dir.path().join(name));
    for file in &files {
        std::fs::write(file, vec![1; 4 << 20]).unwrap();
    }
    if files
        .iter()
        .any(|file| resident_bytes(file).is_none_or(|bytes| bytes == 0))
    {
        return testkit::skip("the kernel does not say which pages are in memory");
    }
    let settled = |cold| settle(dir.path(), cold, &AtomicBool::new(false)).unwrap();
    settled(false);
    assert!(files.iter().all(|file| resident_bytes(file) > Some(0)));
    settled(true);
    assert_eq!(files.map(|file| resident_bytes(&file)), [Some(0), Some(0)]);
}

#[test]
fn an_interrupt_is_not_delayed() {
    let dir = tempfile::tempdir().unwrap();
    let settled = settle(dir.path(), true, &AtomicBool::new(true));
    assert!(
        settled.as_ref().is_err_and(Failure::is_interrupted),
        "{settled:?}"
    );
}
