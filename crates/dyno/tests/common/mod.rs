//! What the whole-program tests share: the program itself, real servers, a proxy
//! between the two, sysbench beside it.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "each program uses its part"
)]

mod cache;
mod cut;
mod hosts;
mod made;
pub mod markdown;
mod pretend;
mod program;
mod servers;
mod status;
mod sysbench;
mod tables;
mod terminal;

pub use cache::{Cache, Process, entries, files_below, port_in};
pub use cut::{cut_off, has_second, kill_server, trial_dir};
pub use hosts::{assert_idle, wait_for_idle};
pub use made::{cases, is_whole, keep, primaries, shown, updates};
pub use pretend::{assert_no_file_has, command_line, pretend, refusing_port};
pub use program::{Finished, NOBODY, Program, Running, cache, flat};
pub use servers::{LAZY_DISK, Served, database, mariadb, mysql, postgres, server_checksum};
pub use status::{Delta, Status};
pub use sysbench::{COMPARED, SysbenchRun, sysbench};
pub use tables::{Table, csv, tables};
pub use terminal::Terminal;
pub use testkit::{Proxy, SmallDisk};

use std::time::{Duration, Instant};

/// Longest wait for anything that does happen in a test that passes, on a machine that is slow and
/// busy with other things.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Runs a study with each of these load times until its result is whole; the last result counts
/// either way. A load ends on time even if a slow machine is still starting or healing servers.
pub fn in_time(
    times: &[&str],
    run: impl Fn(&str) -> Finished,
    is_whole: impl Fn(&Finished) -> bool,
) -> Finished {
    let (last, shorter) = times.split_last().unwrap();
    let mut done = shorter.iter().map(|time| run(time));
    done.find(is_whole).unwrap_or_else(|| run(last))
}

/// Waits until `holds`; panics with `what` if it does not come.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "did not come: {what}");
        std::thread::sleep(Duration::from_millis(25));
    }
}

/// Each of these, of which there must be as many as are named.
#[track_caller]
pub fn each<T: std::fmt::Debug, const N: usize>(all: &[T]) -> &[T; N] {
    let each = all.try_into();
    each.unwrap_or_else(|_| panic!("not {N}: {all:?}"))
}

/// Whether a program is installed and runs.
pub fn has_program(name: &str) -> bool {
    let run = std::process::Command::new(name).arg("--version").output();
    run.is_ok_and(|output| output.status.success())
}

/// Whether this user may make and mount file systems; records a skipped test where not.
pub fn can_make_volumes() -> bool {
    if !rustix::process::geteuid().is_root() {
        testkit::skip("only root can make and mount a file system");
        return false;
    }
    let has_tools = has_program("mkfs.btrfs") && has_program("duperemove");
    if !has_tools {
        testkit::skip("the tools are missing: scripts/install-servers.sh storage");
    }
    has_tools
}

/// Gives a directory to the user `nobody`, whom others may follow there.
pub fn give_to_nobody(dir: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
}
