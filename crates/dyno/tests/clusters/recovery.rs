//! What is measured of a fault: when which phase of the recovery was over, on real servers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::common::{self, Finished, Program, in_time};
use engine::Access;
use measure::fault::{FaultRecord, Recovery};
use testkit::{MariaDb, Server};

const DAY_S: f64 = 86_400.0;

/// The time of day in UTC, in seconds.
fn time_of_day_s() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_secs_f64() % DAY_S
}

/// The time of day of a time as results have it: `2026-01-17T09:30:00.125+00:00`.
fn parsed_s(time: &str) -> f64 {
    let clock = time.split(['T', '+']).nth(1).unwrap();
    let parts = clock.split(':').map(|part| part.parse::<f64>().unwrap());
    parts.fold(0.0, |sum, part| sum * 60.0 + part)
}

/// How much later one time of day is than another, also around midnight.
fn later_s(one_s: f64, other_s: f64) -> f64 {
    (one_s - other_s + 1.5 * DAY_S) % DAY_S - DAY_S / 2.0
}

/// Writes to a table of its own every few milliseconds until `over`; returns when each write that
/// was accepted was sent and answered.
fn writes(url: &str, over: &AtomicBool) -> Vec<(f64, f64)> {
    const LIMIT: Duration = Duration::from_millis(200);
    let database = engine::of_url(url).unwrap();
    let database = database.open(url, &Access::default(), None).unwrap();
    let (mut connection, mut accepted) = (None, Vec::new());
    while !over.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(4));
        let mut open = match connection.take() {
            Some(open) => open,
            None => match database.connect(LIMIT) {
                Ok(open) => open,
                Err(_) => continue,
            },
        };
        let sent_s = time_of_day_s();
        if open.rows("UPDATE own.beats SET n = n + 1", LIMIT).is_ok() {
            accepted.push((sent_s, time_of_day_s()));
            connection = Some(open);
        }
    }
    accepted
}

/// How far apart dyno and the test see the first write after each of five pauses, in order of size; `None`
/// if a busy machine has not ended one before the next.
fn apart_s(server: &Server) -> Option<[f64; 5]> {
    let pid = server.pid().unwrap();
    let faults = [2, 6, 10, 14, 18].map(|at_s| {
        format!(
            "[[fault]]\nat = \"{at_s}s\"\ncommand = [\"kill\", \"-STOP\", \"{pid}\"]\n\
             heal = \"1s\"\nheal_command = [\"kill\", \"-CONT\", \"{pid}\"]\n"
        )
    });
    let study = format!(
        "title = \"t\"\nserver.url = \"{}\"\n[data]\nrows = 100\n[load]\n\
         workload = \"oltp_write_only\"\nthreads = 1\nthink = \"10ms\"\nwarmup = \"0s\"\ntime = \"22s\"\n{}",
        server.url("bench"),
        faults.concat()
    );
    let over = AtomicBool::new(false);
    let (done, own) = std::thread::scope(|scope| {
        let own = scope.spawn(|| writes(&server.url("own"), &over));
        let done = Program::study(&study).run();
        over.store(true, Ordering::Relaxed);
        (done.succeeds(), own.join().unwrap())
    });
    let trial = done.trial();
    let origin_s = parsed_s(trial.started_at.as_ref().unwrap());
    let apart = trial.faults.iter().map(|fault| {
        let effect_s = fault.effect_s?;
        let found = fault.recovery.as_ref()?;
        let first_write_s = found.first_write_s?;
        let seen = own.iter().filter_map(|(sent_s, answered_s)| {
            let sent_s = later_s(*sent_s, origin_s + effect_s);
            (sent_s >= 0.0).then(|| later_s(*answered_s, origin_s + effect_s))
        });
        let own_s = seen.reduce(f64::min)?;
        eprintln!("first write after {first_write_s:.3} s, by the test after {own_s:.3} s");
        // A write may still be accepted while the signal arrives.
        let paused_s = found.unavailable_longest_s.unwrap();
        assert!(paused_s > 0.5, "it was paused for a second: {fault:?}");
        Some((first_write_s - own_s).abs())
    });
    let mut apart = apart.collect::<Option<Vec<f64>>>()?;
    apart.sort_by(f64::total_cmp);
    apart.try_into().ok()
}

/// Both probers write on connections of their own, and share nothing but the server. How far apart
/// they see its return depends on the machine, so the test tells it and allows for much.
#[test]
fn the_first_write_is_that_of_an_independent_prober() {
    let server = MariaDb::start(&[common::LAZY_DISK]);
    server.sql("CREATE DATABASE own; CREATE TABLE own.beats (n BIGINT); INSERT INTO own.beats VALUES (0); CREATE DATABASE bench");
    let mut runs = (0..3).map(|_| apart_s(&server));
    let is_near = |apart: &Option<[f64; 5]>| apart.is_some_and(|apart_s| apart_s[2] < 0.25);
    assert!(
        runs.any(|apart| is_near(&apart)),
        "the median is never below 250 ms"
    );
}

/// The only fault of a trial, and how its instance recovered.
fn only(done: &Finished) -> (FaultRecord, Recovery) {
    let mut trial = done.completed();
    let fault = trial.faults.remove(0);
    let recovery = fault.recovery.clone();
    (fault, recovery.unwrap())
}

/// Runs until the server is back; a slow machine needs more time.
fn recovered() -> Finished {
    let run = |time: &str| {
        let load = format!("think = '20ms'; warmup = '0s'; time = '{time}'");
        let rest = "[topology]; cluster = 'asynchronous'; members = 2; \
            [[fault]]; at = '4s'; kill = 1; heal = '2s'; \
            [sweep]; 'load.threads' = [2]; \
            [report]; tables = [{ rows = 'load.threads', columns = ['recovery.first_write_s'] }]";
        let study = Program::private("postgres", &load, rest);
        study.args("--set data.rows=10000").run_alone().succeeds()
    };
    let is_back = |done: &Finished| only(done).1.rejoined_s.is_some();
    in_time(&["15s", "40s", "150s"], run, is_back)
}

#[test]
fn each_phase_of_a_recovery_is_measured_and_reported() {
    let begun = Instant::now();
    let done = recovered();
    let (fault, found) = only(&done);
    let healed_s = fault.healed_s.unwrap() - fault.effect_s.unwrap();
    // Its replica notices at once; without a failover, nobody writes before it is back.
    let detected_s = found.detected_s.unwrap();
    assert!((0.0..healed_s).contains(&detected_s), "{found:?}");
    let (first_s, load_s) = (found.first_write_s.unwrap(), found.load_write_s.unwrap());
    assert!(first_s >= 2.0 && load_s >= 2.0, "{found:?}");
    assert!(first_s <= begun.elapsed().as_secs_f64(), "{found:?}");
    let first_error_s = found.first_error_s.unwrap();
    assert!(first_error_s < first_s, "{found:?}");
    assert!(found.rejoined_s.unwrap() >= 2.0 && found.outage_s.unwrap() >= 2.0);
    let lowest = found.lowest_share.unwrap();
    assert!(lowest < 0.5, "{found:?}");
    // A load that is slower before the fault than after it makes up for what it lost.
    assert!(found.lost_transactions.unwrap() > 0.0 || found.back_s.is_none());
    let mut codes = found.errors.iter().map(|error| error.errors.code.as_str());
    // A server process that waits notices the end of the others, and says so.
    assert!(
        codes.any(|code| ["network", "57P01"].contains(&code)),
        "{found:?}"
    );
    assert!(found.before.unwrap().value > 0.0);
    let unavailable_s = found.unavailable_longest_s.unwrap();
    assert!(unavailable_s >= 2.0 && found.unavailable_s.unwrap() >= unavailable_s);
    assert_eq!(found.two_primaries_s, Some(0.0));
    assert!(found.redundant_s.unwrap() >= 2.0 && found.window_s > 2.0);
    assert!(found.p99_before_ms.unwrap() > 0.0 && found.p99_during_ms.is_some());

    // The transactions around it: every 10 ms, and none in the outage.
    let dir = &store::trial_dirs(&done.out()).unwrap()[0];
    let series = store::read_fault_series(dir).unwrap().remove(0);
    assert_eq!((series.fault, series.instance), (1, 1));
    assert_eq!(series.t_s.len(), series.completed.len());
    let effect_s = fault.effect_s.unwrap();
    let during = |from_s: f64, to_s: f64| {
        let all = series.t_s.iter().zip(&series.completed);
        let inside =
            all.filter(move |(t_s, _)| (effect_s + from_s..effect_s + to_s).contains(*t_s));
        inside
            .map(|(_, completed)| *completed)
            .collect::<Vec<u64>>()
    };
    assert!(during(0.2, 1.8).len() > 40, "{}", during(0.2, 1.8).len());
    // A busy load counts late what the server sent before.
    assert_eq!(during(1.0, 1.8).iter().sum::<u64>(), 0);
    assert!(during(-3.0, 0.0).iter().sum::<u64>() > 0);

    let faults = done.file("faults.csv");
    let mut lines = faults.lines();
    assert!(lines.next().unwrap().contains("recovery.first_write_s"));
    assert!(
        lines.next().unwrap().contains(",kill,server 1,"),
        "{faults}"
    );
    assert!(lines.next().is_none());
    let results = done.file("results.csv");
    let head = results.lines().next().unwrap();
    assert!(head.contains("recovery.load_write_s") && head.ends_with("fault.kind,fault.target"));
    assert!(done.file("tables.csv").contains("recovery.first_write_s"));
    let page = done.file("report.html");
    for words in [
        "Recovery. Seconds from the fault",
        "Cost of each fault.",
        "\"marks\":[[",
    ] {
        assert!(page.contains(words), "{words}");
    }
}
