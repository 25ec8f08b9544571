//! Groups that lose their quorum: the trial fails, unless the study expects it; and once the members are
//! healed, they are a group again.

use std::time::{Duration, Instant};

use crate::common::{Cache, Finished, Program, in_time, primaries, shown, trial_dir};
use measure::fault::{FaultRecord, Recovery};
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use rustix::process::Signal;

/// How long a short trial may take in all on a slow and busy machine, even if commits hang.
const LIMIT: Duration = Duration::from_secs(300);

/// Longer than dyno tries to have a server join its cluster.
const JOIN_LIMIT: Duration = Duration::from_secs(200);

/// A study of a cluster of three with a slow load and a ledger, and these lines.
fn study(engine: &str, cluster: &str, time: &str, faults: &str) -> Program {
    let load = format!(
        "workload = 'oltp_update_non_index'; threads = 4; rate = 50; warmup = '0s'; time = '{time}'"
    );
    let rest = format!("[topology]; cluster = '{cluster}'; [ledger]; {faults}");
    Program::private(engine, &load, &rest)
}

/// The kill of a server.
fn kill(at: &str, server: u32, heal: &str) -> String {
    format!("[[fault]]; at = '{at}'; kill = {server}; heal = '{heal}'; ")
}

/// The same, where the study expects that nobody accepts writes.
fn kill_all(at: &str, server: u32, heal: &str) -> String {
    kill(at, server, heal) + "expect_outage = true; "
}

/// The only trial, with its faults in the study's order.
fn trial(done: &Finished) -> TrialSummary {
    let mut trial = done.trial();
    trial.faults.sort_by_key(|fault| fault.number);
    trial
}

fn lost_quorum(fault: &FaultRecord) -> bool {
    let error = fault.error.as_deref();
    error.is_some_and(|error| error.starts_with("quorum lost: "))
}

/// The longest time, in seconds, without writes after this fault.
fn longest_outage_s(fault: &FaultRecord) -> Option<f64> {
    fault.recovery.as_ref()?.unavailable_longest_s
}

/// The second replica is killed while the first one, which is healed, has not joined yet.
fn is_the_end_of_a_trial(engine: &str, cluster: &str) {
    let faults = kill("1s", 2, "1s") + &kill("2020ms", 3, "never");
    let begun = Instant::now();
    let done = study(engine, cluster, "200s", &faults).run_alone();
    let words = [
        "(kill) failed: quorum lost: 1 of 3 members",
        "expect_outage = true",
    ];
    let done = done.fails(3, &words);
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    let trial = trial(&done);
    let shown = shown(&trial);
    assert!(matches!(trial.outcome, Outcome::Failed { .. }), "{shown}");
    // A busy machine may be so late with the first kill that the second one comes right after it.
    assert!(trial.faults.iter().any(lost_quorum), "{shown}");
}

/// Commits hang until the end of the measurement, and not longer.
fn is_measured_if_it_is_expected(engine: &str, cluster: &str) {
    let faults = kill_all("1s", 2, "never") + &kill_all("2s", 3, "never");
    let run = |time: &str| {
        let begun = Instant::now();
        let done = study(engine, cluster, time, &faults).run_alone();
        assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
        done.succeeds()
    };
    let is_long = |trial: &TrialSummary| {
        let longest_s = trial.faults.last().and_then(longest_outage_s);
        longest_s.is_some_and(|longest_s| longest_s > 1.0)
    };
    // A slow machine may notice the loss so late that the load ends with it.
    let done = in_time(&["9s", "60s"], run, |done| is_long(&trial(done)));
    done.completed();
    let trial = trial(&done);
    let shown = shown(&trial);
    let second = trial.faults.last().unwrap();
    assert!(lost_quorum(second) && is_long(&trial), "{shown}");
    let lost_s = second.effect_s.unwrap();
    assert!(!done.completes_after(lost_s + 1.0), "{:?}", done.series());
    let recovery = second.recovery.as_ref().unwrap();
    // What the standby had confirmed before it died may be acknowledged just after that.
    let is_last = |write_s: Option<f64>| write_s.is_none_or(|write_s| write_s < 1.0);
    assert!(is_last(recovery.first_write_s) && is_last(recovery.load_write_s));
}

fn can_be_lost(engine: &str, cluster: &str) {
    is_the_end_of_a_trial(engine, cluster);
    is_measured_if_it_is_expected(engine, cluster);
}

#[test]
fn the_quorum_of_group_replication_can_be_lost() {
    can_be_lost("mysql", "group-replication");
}

#[test]
fn the_quorum_of_galera_can_be_lost() {
    can_be_lost("mariadb", "galera");
}

#[test]
fn the_quorum_of_standbys_can_be_lost() {
    can_be_lost("postgres", "quorum");
}

/// When a server logged messages with these words, in seconds on the clock of the only trial, which is shorter
/// than a quarter of an hour.
pub(crate) fn said_s(done: &Finished, server: u32, words: &str) -> Vec<f64> {
    let began_s = part_of_hour_s(done.trial().started_at.as_ref().unwrap()).unwrap();
    let log = done.kept(1, &format!("{server}/error.log"));
    let lines = log.lines().filter(|line| line.contains(words));
    let times = lines.filter_map(part_of_hour_s);
    // Around the end of a quarter of an hour, and shortly before the trial, too.
    times
        .map(|time_s| (time_s - began_s + 450.0).rem_euclid(900.0) - 450.0)
        .collect()
}

/// Which part of a quarter of an hour a message begins with, in seconds: `2026-01-17T09:30:00.125Z …` or,
/// in another time zone, `2026-01-17  9:30:00 …`.
fn part_of_hour_s(time: &str) -> Option<f64> {
    let mut parts = time.split(':').skip(1);
    let minutes: f64 = parts.next()?.parse().ok()?;
    let is_end = |c: char| !c.is_ascii_digit() && c != '.';
    let seconds = parts.next()?.split(is_end).next()?;
    Some(minutes % 15.0 * 60.0 + seconds.parse::<f64>().ok()?)
}

/// Users followed an administrator's switchover before the first of the kills.
fn has_followed(done: &Finished) -> bool {
    let trial = trial(done);
    let (effect_s, killed_s) = (trial.faults[0].effect_s, trial.faults[1].asked_s);
    let mut series = done.series().into_iter();
    effect_s.is_some_and(|effect_s| {
        let is_between = |t_s: f64| t_s > effect_s + 1.0 && t_s < killed_s;
        series.any(|one| is_between(one.t_s) && one.tps > Some(0.0))
    })
}

/// An administrator has another member take over; then all members are killed, and those that are
/// healed are a group again. A member that is back says so in its log with these words.
fn comes_back(engine: &str, cluster: &str, heals: [&str; 3], back: &str) {
    let [first, second, third] = heals;
    // On a slow machine, users may not have followed the switchover before the kills.
    let run = |kills_s: &str| {
        let kills_ms = 1000 * kills_s.parse::<u32>().unwrap();
        let kill = |after_ms: u32, server, heal| {
            kill_all(&format!("{}ms", kills_ms + after_ms), server, heal)
        };
        let faults = "[[fault]]; at = '2s'; switchover = 'replica'; ".to_owned()
            + &kill(0, 3, first)
            + &kill(100, 1, second)
            + &kill(200, 2, third);
        let place = Cache::kept();
        let mut dyno = study(engine, cluster, "10m", &faults).cache(&place).start();
        let healed = [3, 1, 2].into_iter().zip(heals);
        for (server, _) in healed.filter(|(_, heal)| *heal != "never") {
            dyno.says(&format!("kill of server {server}, healed at"));
        }
        let out = dyno.out();
        let is_member = || {
            let log = trial_dir(&out, 1).unwrap().join("servers/2/error.log");
            let log = std::fs::read_to_string(log).unwrap();
            let last_start = log.rsplit_once("as process");
            last_start.is_some_and(|(_, since)| since.contains(back))
        };
        // A busy group may refuse it for longer than dyno tries.
        let gives_up = Instant::now() + JOIN_LIMIT;
        while !is_member() && Instant::now() < gives_up {
            std::thread::sleep(Duration::from_millis(25));
        }
        let done = if is_member() {
            dyno.stopped_once_it_goes_on()
        } else {
            eprintln!("{}", dyno.stderr());
            dyno.signal(Signal::INT);
            dyno.wait()
        };
        place.assert_nothing_left();
        done
    };
    let is_back = |done: &Finished| {
        let mut trial = trial(done);
        let recovery = trial.faults.pop().unwrap().recovery;
        let is_whole = |found: Recovery| found.rejoined_s.is_some() && found.load_write_s.is_some();
        recovery.is_some_and(is_whole) && !trial.ledgers[0].checked.is_empty()
    };
    let done = in_time(&["12", "30", "60"], run, |done| {
        is_back(done) && has_followed(done)
    });
    let trial = trial(&done);
    let shown = shown(&trial);
    let [switched, killed @ ..] = trial.faults.as_slice() else {
        panic!("{:?}", trial.faults)
    };
    assert_eq!((switched.node, &switched.error), (Some(2), &None));
    assert!(primaries(&trial).contains(&2), "{shown}");
    assert!(has_followed(&done), "{:?}", done.series());
    for (fault, heal) in killed.iter().zip(heals) {
        assert_eq!(fault.healed_s.is_some(), heal != "never", "{shown}");
    }
    let last = killed.last().unwrap();
    let rejoined_s = last.recovery.as_ref().and_then(|found| found.rejoined_s);
    let (effect_s, rejoined_s) = (last.effect_s.unwrap(), rejoined_s.unwrap());
    let healed_s = last.healed_s.unwrap();
    assert!(done.completes_after(healed_s), "{:?}", done.series());
    assert!(trial.ledgers[0].is_intact(), "{shown}");

    let late_s = effect_s + rejoined_s - said_s(&done, 2, back).last().unwrap();
    eprintln!("{cluster}: back after {rejoined_s:.2} s, {late_s:.2} s later than its log says");
    // On a busy machine, probes are late.
    assert!((-0.1..10.0).contains(&late_s), "{late_s}, {shown}");
    assert!(rejoined_s + 0.5 > healed_s - effect_s, "{shown}");
}

#[test]
fn group_replication_comes_back_after_all_members_were_killed() {
    let back = "This server was declared online within the replication group";
    comes_back("mysql", "group-replication", ["2s", "1s", "1s"], back);
}

/// One of them stays away; without an operator, the others would wait for it.
#[test]
fn galera_comes_back_after_all_members_were_killed() {
    let back = "Synchronized with group, ready for connections";
    comes_back("mariadb", "galera", ["never", "3s", "1s"], back);
}
