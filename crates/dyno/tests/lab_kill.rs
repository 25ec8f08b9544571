//! What a dyno leaves that is killed in the middle of any phase: nothing that `dyno
//! clean`, or the next run, does not remove.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use common::{Cache, Program, entries, has_second, trial_dir, wait_until};
use rustix::process::Signal;

const TINY: &str = "title = \"tiny\"\n[server]\nengine = \"mariadb\"\n[data]\nrows = 100\n\
                    [load]\nworkload = \"oltp_read_only\"\nthreads = 2\nwarmup = \"0s\"\ntime = \"1s\"\n";

/// How often a moment may be missed.
const TRIES: u32 = 20;

/// Engines whose servers consist of threads, and of processes.
const ENGINES: [&str; 2] = ["", "--set server.engine=postgres"];

/// Kills a run, in a place of its own, as soon as `holds`. A run that ended before anybody looked
/// is followed by another.
#[track_caller]
fn killed_when(words: &str, what: &str, holds: impl Fn(&Cache, &Path) -> bool) -> Killed {
    for _ in 0..TRIES {
        let cache = Cache::new();
        let mut dyno = Program::study(TINY).args(words).cache(&cache).start();
        let out = dyno.dir().join("out");
        wait_until(what, || holds(&cache, &out) || dyno.has_ended());
        let ports = cache.ports();
        if dyno.has_ended() {
            continue;
        }
        dyno.signal(Signal::KILL);
        if dyno.wait().code().is_none() {
            return Killed { cache, ports };
        }
    }
    panic!("{what} never came in {TRIES} runs");
}

/// What it left.
struct Killed {
    cache: Cache,
    ports: Vec<u16>,
}

impl Killed {
    /// `dyno clean` leaves nothing, and finds nothing when it is called again.
    fn cleans_up(self) {
        let clean = || {
            Program::new()
                .args("clean")
                .cache(&self.cache)
                .run()
                .succeeds()
        };
        assert_eq!(self.cache.runs().len(), 1, "{:?}", self.cache.in_runs());
        let first = clean();
        assert!(first.stdout.contains("freed"), "{}", first.shown());
        self.leaves_nothing();
        assert!(clean().stdout.contains("nothing to clean up"));
    }

    /// The next run leaves nothing either, and is not disturbed.
    fn next_run_sweeps(self) {
        let next = Program::study(TINY).cache(&self.cache).run().succeeds();
        assert!(next.trial().transactions.count > 0);
        self.leaves_nothing();
    }

    fn leaves_nothing(&self) {
        self.cache.assert_nothing_left();
        for port in &self.ports {
            TcpListener::bind(("127.0.0.1", *port)).unwrap_or_else(|e| panic!("port {port}: {e}"));
        }
    }
}

/// Whether the first trial has a second of this phase.
fn tells_of(out: &Path, phase: &str) -> bool {
    has_second(out, 1, phase)
}

/// A directory whose name begins with `build` in which `path` exists.
fn is_built(cache: &Cache, path: &str) -> bool {
    let is_build = |dir: &PathBuf| dir.display().to_string().contains("/build");
    cache
        .in_runs()
        .iter()
        .any(|dir| is_build(dir) && dir.join(path).exists())
}

#[test]
fn while_a_data_directory_is_initialised() {
    for engine in ENGINES {
        let killed = killed_when(engine, "the initialising program", |cache, _| {
            cache
                .processes()
                .iter()
                .any(|p| p.words.contains("/build0/"))
        });
        killed.cleans_up();
    }
}

#[test]
fn while_a_template_is_loaded() {
    let many = "--set data.tables=4 --set data.rows=500000";
    let loaded = |cache: &Cache, _: &Path| is_built(cache, "own/data/sbtest/sbtest1.ibd");
    let killed = killed_when(many, "the first table", loaded);
    killed.cleans_up();
    let killed = killed_when(many, "the first table", loaded);
    killed.next_run_sweeps();
    let many = format!("{many} {}", ENGINES[1]);
    let loads = |cache: &Cache, _: &Path| {
        let mut processes = cache.processes().into_iter();
        processes.any(|process| process.words.contains(" COPY"))
    };
    let killed = killed_when(&many, "rows on their way", loads);
    killed.cleans_up();
}

#[test]
fn while_the_data_is_copied() {
    let killed = killed_when(
        "--set topology.instances=16",
        "the second copy",
        |cache, _| cache.server_dir(2).is_some() && cache.server(1).is_none(),
    );
    killed.cleans_up();
}

#[test]
fn while_servers_start() {
    let killed = killed_when(
        "--set topology.instances=4",
        "the first server's process",
        |cache, _| cache.server(1).is_some() && cache.server(4).is_none(),
    );
    killed.cleans_up();
}

/// Connections of this host to a port, from /proc/net/tcp: state 01 is ESTABLISHED.
fn connections(port: u16) -> usize {
    let text = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let peer = format!("0100007F:{port:04X}");
    let is_one = |line: &&str| {
        let mut words = line.split_whitespace().skip(2);
        (words.next(), words.next()) == (Some(peer.as_str()), Some("01"))
    };
    text.lines().filter(is_one).count()
}

#[test]
fn while_users_connect() {
    let killed = killed_when(
        "--set load.threads=1000 --set load.warmup=1h",
        "some connections of many",
        |cache, out| {
            let port = cache.server(1).and(cache.ports().pop());
            port.is_some_and(|port| connections(port) >= 10) && !tells_of(out, "warmup")
        },
    );
    killed.cleans_up();
}

#[test]
fn in_the_warm_up() {
    let killed = killed_when(
        "--set load.warmup=1h --set topology.instances=2",
        "a second of the warm-up",
        |_, out| tells_of(out, "warmup"),
    );
    assert_eq!(killed.ports.len(), 2);
    killed.cleans_up();
}

#[test]
fn while_it_measures() {
    let measures = |_: &Cache, out: &Path| tells_of(out, "measure");
    let check = |engine: &str| {
        let words = format!("--set load.time=1h --set topology.instances=2 {engine}");
        let killed = killed_when(&words, "a second of the measurement", measures);
        assert_eq!(killed.ports.len(), 2);
        killed.cache.wait_for_no_process();
        killed.cleans_up();
        let killed = killed_when(&words, "a second of the measurement", measures);
        killed.next_run_sweeps();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| check(ENGINES[0]));
        check(ENGINES[1]);
    });
}

#[test]
fn between_two_trials() {
    let killed = killed_when(
        "--set sweep.load.threads=[1,2,3,4]",
        "the end of the first trial",
        |_, out| trial_dir(out, 1).is_some_and(|dir| dir.join("trial.json").exists()),
    );
    killed.cleans_up();
}

/// The page is the last thing that is written; what it is made of was there before.
#[test]
fn while_the_report_is_written() {
    let cache = Cache::new();
    let mut dyno = Program::study(TINY).cache(&cache).start();
    dyno.says("\nresults: ");
    dyno.signal(Signal::KILL);
    let done = dyno.wait();
    let clean = Program::new().args("clean").cache(&cache).run();
    clean.succeeds();
    cache.assert_nothing_left();
    assert!(done.trial().transactions.count > 0);
    let out = done.out();
    let report = Program::new().arg("report").arg(&out.display().to_string());
    report.run().succeeds();
    let half = |path: &PathBuf| path.extension().is_some_and(|end| end == "tmp");
    assert!(!entries(&out).iter().any(half), "{:?}", entries(&out));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.trim_end().ends_with("</html>"));
}
