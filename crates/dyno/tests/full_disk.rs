//! A disk without room, under the results and under the database.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use std::path::Path;
use std::process::Command;

use common::Program;
use tempfile::TempDir;

/// A file system of so many bytes, gone with it.
struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None`, and a word about it, where this user may not mount.
    fn new(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        let mounted = mount.arg(dir.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        println!("skipped: this user may not mount a small file system");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn bench(out: &Path) -> Program {
    Program::new()
        .args("bench sqlite: --tables 1 --rows 100 --threads 1 --warmup 0s")
        .arg("--out")
        .arg(&out.display().to_string())
}

#[test]
fn a_report_that_finds_no_room_costs_no_result() {
    let Some(disk) = SmallDisk::new("1m") else {
        return;
    };
    let done = bench(disk.path()).args("--events 50").run();
    let done = done.fails(4, &["report.html", "No space left", "--out"]);
    assert!(done.stdout.contains("oltp_read_write"), "{}", done.shown());
    let result = store::read_result(disk.path()).unwrap();
    assert_eq!(result.trials[0].transactions.count, 50);
}

#[test]
fn results_that_find_no_room_are_told_while_the_load_runs() {
    // Room for the study and the environment, not for the seconds.
    let Some(disk) = SmallDisk::new("24k") else {
        return;
    };
    let done = bench(disk.path()).args("--time 3s").run();
    let done = done.fails(4, &["warning: cannot write", "No space left", "--out"]);
    // The summary needs no disk.
    assert!(done.stdout.contains("oltp_read_write"), "{}", done.shown());
}

#[test]
fn a_database_that_finds_no_room_says_which() {
    let Some(disk) = SmallDisk::new("1m") else {
        return;
    };
    let file = disk.path().join("db.sqlite").display().to_string();
    let done = Program::bench(&format!("sqlite:{file}"))
        .args("--tables 1 --rows 20000 --threads 1 --warmup 0s --events 10")
        .run();
    done.fails(3, &[&file, "full", "free space"]);
    let done = Program::bench("sqlite:")
        .args("--tables 1 --rows 20000 --threads 1 --warmup 0s --events 10")
        .env(
            "DYNO_CACHE_DIR",
            &disk.path().join("cache").display().to_string(),
        )
        .run();
    done.fails(3, &["full", "free space"]);
}
