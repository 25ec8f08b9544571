//! Events of a study: servers are killed and restarted while their load goes on.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use common::{Cache, Finished, Program};
use measure::event::{NodeEvent, NodeEventKind};
use measure::metric::MonitorPoint;
use measure::setup::Outcome;
use measure::summary::TrialSummary;

/// A metric that every server counts itself.
const COUNTED: &str = "io.reads_per_s";

/// A study of one trial with two virtual users, with these lines more.
fn study(engine: &str, time: &str, rest: &str) -> Program {
    Program::study(&format!(
        "title = \"t\"\n[server]\nengine = \"{engine}\"\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_point_select\"\nthreads = 2\nwarmup = \"1s\"\ntime = \"{time}\"\n{rest}\n"
    ))
}

fn only<T: Copy>(events: &[NodeEvent], of: impl Fn(&NodeEvent) -> T) -> Vec<T> {
    events.iter().map(of).collect()
}

/// The throughput of each second of an instance's load, with its start.
fn seconds(done: &Finished) -> Vec<(f64, f64)> {
    let series = done.series().into_iter();
    series
        .map(|second| (second.t_s, second.tps.unwrap_or(0.0)))
        .collect()
}

/// What the monitors sampled.
fn points(done: &Finished) -> Vec<MonitorPoint> {
    let dir = &store::trial_dirs(&done.out()).unwrap()[0];
    store::read_monitors(dir).unwrap()
}

/// No metric is below zero, and the server's process and counters are sampled before `gone_s`
/// and after `back_s`, but not between.
fn monitors_followed(done: &Finished, gone_s: f64, back_s: f64) {
    let points = points(done);
    let negative = |value: &f64| *value < 0.0;
    assert!(
        !points.iter().any(|p| p.values.values().any(negative)),
        "{points:?}"
    );
    for name in ["server.cpu", &format!("server.{COUNTED}")] {
        let known = points
            .iter()
            .filter(|point| point.values.contains_key(name));
        let known: Vec<(f64, f64)> = known.map(|p| (p.t_s, p.t_s + p.seconds)).collect();
        let is_known = |during: &dyn Fn(f64, f64) -> bool| {
            known.iter().any(|&(begin_s, end_s)| during(begin_s, end_s))
        };
        let shown = format!("{name} in {known:?}, gone at {gone_s}, back at {back_s}");
        assert!(is_known(&|begin_s, _| begin_s < gone_s), "{shown}");
        assert!(is_known(&|begin_s, _| begin_s >= back_s), "{shown}");
        let in_between = |begin_s, end_s| begin_s >= gone_s && end_s < back_s;
        assert!(!is_known(&in_between), "{shown}");
    }
}

/// Runs for a time in which a server is back, under load and monitored; a slow machine needs more of
/// it.
fn with_time_to_restart(engine: &str, rest: &str, place: &Cache) -> Finished {
    let run = |time| study(engine, time, rest).cache(place).run().succeeds();
    let is_back = |done: &Finished| {
        let trial = done.trial();
        let last_s = trial.events.iter().filter_map(|event| event.done_s);
        let last_s = last_s.fold(0.0, f64::max);
        trial.events.iter().all(|event| event.done_s.is_some())
            && trial.reconnects >= 2
            && seconds(done)
                .iter()
                .any(|&(t, tps)| t > last_s && tps > 0.0)
            && points(done).iter().any(|point| {
                let counted = |name: &String| name.ends_with(COUNTED);
                point.t_s >= last_s && point.values.keys().any(counted)
            })
    };
    let done = ["10s", "30s"].into_iter().map(run).find(is_back);
    done.unwrap_or_else(|| run("150s"))
}

#[test]
fn a_server_that_is_killed_and_restarted_gets_its_load_back() {
    let place = Cache::new();
    let rest = "[[event]]\nat = \"6s\"\nrestart = 1\n[[event]]\nat = \"2s\"\nkill = 1\n";
    let done = with_time_to_restart("mariadb", rest, &place);
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    let events = &trial.events;
    let whats = only(events, |event| (event.node, event.what));
    assert_eq!(
        whats,
        [(1, NodeEventKind::Killed), (1, NodeEventKind::Restarted)]
    );
    let [killed, restarted] = events.as_slice() else {
        panic!("{events:?}")
    };
    // The clock begins before the connections are open, and the warm-up is on it.
    assert!(
        killed.at_s >= 3.0 && restarted.at_s - killed.at_s >= 3.9,
        "{events:?}"
    );
    let back_s = restarted.done_s.unwrap();
    assert!(back_s > restarted.at_s, "{events:?}");

    let seconds = seconds(&done);
    let dead_s = killed.done_s.unwrap();
    let down = |t: f64| t > dead_s && t + 1.0 < restarted.at_s;
    assert!(seconds.iter().any(|(t, _)| down(*t)), "{seconds:?}");
    assert!(
        seconds.iter().all(|(t, tps)| !down(*t) || *tps == 0.0),
        "{seconds:?}"
    );
    let is_back = |&(t, tps): &(f64, f64)| t > back_s && tps > 0.0;
    assert!(seconds.iter().any(is_back), "{seconds:?}, back at {back_s}");
    assert!(
        trial.reconnects >= 2 && trial.failures() > 0,
        "{:?}",
        trial.errors
    );
    monitors_followed(&done, killed.at_s, back_s);

    let log = store::trial_dirs(&done.out()).unwrap()[0].join("servers/1/error.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("ready for connections").count(), 2, "{log}");
    assert!(
        done.stderr.contains("server 1 restarted, ready after"),
        "{}",
        done.shown()
    );
    let page = std::fs::read_to_string(done.out().join("report.html")).unwrap();
    assert!(page.contains("server 1 restarted"), "the figure marks it");
    assert!(page.contains("Events, on the clock"), "the trial lists it");
    place.assert_nothing_left();
}

/// The transactions of each instance.
fn transactions(trial: &TrialSummary) -> Vec<u64> {
    let instances = trial.instances.iter();
    instances
        .map(|instance| instance.transactions.count)
        .collect()
}

#[test]
fn a_restart_of_one_server_is_none_of_the_others() {
    restarts_one_of_two("mysql");
}

#[test]
fn a_server_of_many_processes_restarts_too() {
    restarts_one_of_two("postgres");
}

fn restarts_one_of_two(engine: &str) {
    let place = Cache::new();
    let rest = "[topology]\ninstances = 2\n[[event]]\nat = \"1s\"\nrestart = 2\n";
    let done = with_time_to_restart(engine, rest, &place);
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    assert_eq!(
        only(&trial.events, |e| (e.node, e.what)),
        [(2, NodeEventKind::Restarted)]
    );
    assert!(trial.events[0].done_s.is_some(), "{:?}", trial.events);
    let counts = transactions(&trial);
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
    assert_eq!(trial.instances[0].errors, 0);
    assert!(trial.instances[1].errors > 0 && trial.reconnects >= 2);
    place.assert_nothing_left();
}

#[test]
fn a_trial_completes_without_a_server_that_it_expects_to_be_killed() {
    let place = Cache::new();
    let rest = "[topology]\ninstances = 2\n[[event]]\nat = \"1s\"\nkill = 1\n";
    let done = study("mariadb", "4s", rest).cache(&place).run().succeeds();
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    let [killed, other] = trial.instances.as_slice() else {
        panic!("{:?}", trial.instances)
    };
    assert!(
        matches!(killed.outcome, Outcome::ServerLost { .. }),
        "{killed:?}"
    );
    assert_eq!(other.outcome, Outcome::Completed);
    assert_eq!(
        only(&trial.events, |e| (e.node, e.what)),
        [(1, NodeEventKind::Killed)]
    );
    place.assert_nothing_left();
}
