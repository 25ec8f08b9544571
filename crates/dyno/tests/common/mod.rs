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
mod made;
pub mod markdown;
mod pretend;
mod program;
mod servers;
mod status;
mod sysbench;
mod tables;
mod terminal;

pub use cache::{Cache, Process, entries, port_in};
pub use cut::{cut_off, has_second, kill_server, trial_dir};
pub use made::keep;
pub use pretend::{assert_no_file_has, pretend};
pub use program::{Finished, Program, Running, cache};
pub use servers::{LAZY_DISK, database, mariadb, mysql, postgres, server_checksum};
pub use status::{Delta, Status};
pub use sysbench::{COMPARED, SysbenchRun, sysbench, sysbench_pgsql};
pub use tables::{Table, csv, is_rounded, tables};
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
