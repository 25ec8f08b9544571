//! Groups that lose their quorum: the trial fails, unless the study expects it; and once the members are
//! healed, they are a group again.

use std::time::{Duration, Instant};

use crate::common::{Cache, Finished, Program, in_time, shown, trial_dir};
use measure::fault::FaultRecord;
use measure::instance::{NodeEvent, NodeEventKind};
use measure::setup::Outcome;
use measure::summary::TrialSummary;

/// How long a short trial may take in all on a slow and busy machine, even if commits hang.
const LIMIT: Duration = Duration::from_secs(300);

/// A study of a cluster of three with a slow load and a ledger, and these lines.
fn study(engine: &str, cluster: &str, time: &str, faults: &str) -> Program {
    Program::study(&format!(
        "title = \"t\"\n[server]\nengine = \"{engine}\"\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_update_non_index\"\nthreads = 4\nrate = 100\nwarmup = \"0s\"\n\
         time = \"{time}\"\n[topology]\ncluster = \"{cluster}\"\n[ledger]\n{faults}"
    ))
}

/// The kill of a server.
fn kill(at: &str, server: u32, heal: &str) -> String {
    format!("[[fault]]\nat = \"{at}\"\nkill = {server}\nheal = \"{heal}\"\n")
}

/// The same, where the study expects that nobody accepts writes.
fn kill_all(at: &str, server: u32, heal: &str) -> String {
    kill(at, server, heal) + "expect_outage = true\n"
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
    let place = Cache::new();
    let faults = kill("1s", 2, "1s") + &kill("2020ms", 3, "never");
    let begun = Instant::now();
    let done = study(engine, cluster, "200s", &faults).cache(&place).run();
    let words = [
        "fault 2 (kill) failed: quorum lost: 1 of 3 members",
        "expect_outage = true",
    ];
    let done = done.fails(3, &words);
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    let trial = trial(&done);
    let shown = shown(&trial);
    assert!(matches!(trial.outcome, Outcome::Failed { .. }), "{shown}");
    assert!(lost_quorum(&trial.faults[1]), "{shown}");
    place.assert_nothing_left();
}

/// Commits hang until the end of the measurement, and not longer.
fn is_measured_if_it_is_expected(engine: &str, cluster: &str) {
    let place = Cache::new();
    let faults = kill_all("1s", 2, "never") + &kill_all("2s", 3, "never");
    let run = |time: &str| {
        let begun = Instant::now();
        let done = study(engine, cluster, time, &faults).cache(&place).run();
        assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
        done.succeeds()
    };
    // A slow machine may notice the loss so late that the load ends with it.
    let is_whole = |done: &Finished| {
        let trial = trial(done);
        let longest_s = trial.faults.last().and_then(longest_outage_s);
        longest_s.is_some_and(|longest_s| longest_s > 1.0)
    };
    let done = in_time(&["9s", "60s"], run, is_whole);
    let trial = trial(&done);
    let shown = shown(&trial);
    assert_eq!(trial.outcome, Outcome::Completed, "{shown}");
    let second = trial.faults.last().unwrap();
    assert!(lost_quorum(second), "{shown}");
    let lost_s = second.effect_s.unwrap();
    assert!(!done.completes_after(lost_s + 1.0), "{:?}", done.series());
    let recovery = second.recovery.as_ref().unwrap();
    // What the standby had confirmed before it died may be acknowledged just after that.
    let is_last = |write_s: Option<f64>| write_s.is_none_or(|write_s| write_s < 1.0);
    assert!(is_last(recovery.first_write_s) && is_last(recovery.load_write_s));
    let longest_s = longest_outage_s(second);
    assert!(
        longest_s.is_some_and(|longest_s| longest_s > 1.0),
        "{shown}"
    );
    place.assert_nothing_left();
}

#[test]
fn the_quorum_of_group_replication_can_be_lost() {
    is_the_end_of_a_trial("mysql", "group-replication");
    is_measured_if_it_is_expected("mysql", "group-replication");
}

#[test]
fn the_quorum_of_galera_can_be_lost() {
    is_the_end_of_a_trial("mariadb", "galera");
    is_measured_if_it_is_expected("mariadb", "galera");
}

#[test]
fn the_quorum_of_standbys_can_be_lost() {
    is_the_end_of_a_trial("postgres", "quorum");
    is_measured_if_it_is_expected("postgres", "quorum");
}

/// Which part of an hour it was, in seconds, at the last of a server's messages with these words:
/// `2026-01-17T09:30:00.125Z …` or, in another time zone, `2026-01-17  9:30:00 …`.
fn said_s(done: &Finished, server: u32, words: &str) -> Option<f64> {
    let log = trial_dir(&done.out(), 1)?.join(format!("servers/{server}/error.log"));
    let log = std::fs::read_to_string(log).unwrap();
    let line = log.lines().rfind(|line| line.contains(words))?;
    part_of_hour_s(line)
}

fn part_of_hour_s(time: &str) -> Option<f64> {
    let mut parts = time.split(':').skip(1);
    let minutes: f64 = parts.next()?.parse().ok()?;
    let seconds = parts
        .next()?
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next()?;
    Some(minutes % 15.0 * 60.0 + seconds.parse::<f64>().ok()?)
}

/// An administrator has another member take over; then all members are killed, and those that are
/// healed are a group again. A member that is back says so in its log with these words.
fn comes_back(engine: &str, cluster: &str, heals: [&str; 3], back: &str) {
    let place = Cache::new();
    let [first, second, third] = heals;
    let faults = "[[fault]]\nat = \"2s\"\nswitchover = \"replica\"\n".to_owned()
        + &kill_all("12s", 3, first)
        + &kill_all("12100ms", 1, second)
        + &kill_all("12200ms", 2, third);
    let run = |time: &str| {
        study(engine, cluster, time, &faults)
            .cache(&place)
            .succeeds()
    };
    let is_back = |done: &Finished| {
        let recovery = trial(done).faults.pop().unwrap().recovery;
        recovery.is_some_and(|found| found.rejoined_s.is_some() && found.load_write_s.is_some())
    };
    let done = in_time(&["60s", "200s"], run, is_back);
    let trial = trial(&done);
    let shown = shown(&trial);
    assert_eq!(trial.outcome, Outcome::Completed, "{shown}");
    let [switched, killed @ ..] = trial.faults.as_slice() else {
        panic!("{:?}", trial.faults)
    };
    assert_eq!((switched.node, &switched.error), (Some(2), &None));
    let is_second =
        |event: &NodeEvent| (event.what, event.node) == (NodeEventKind::BecamePrimary, 2);
    assert!(trial.events.iter().any(is_second), "{shown}");
    for (fault, heal) in killed.iter().zip(heals) {
        assert_eq!(fault.healed_s.is_some(), heal != "never", "{shown}");
    }
    let last = killed.last().unwrap();
    let rejoined_s = last.recovery.as_ref().and_then(|found| found.rejoined_s);
    let (effect_s, rejoined_s) = (last.effect_s.unwrap(), rejoined_s.unwrap());
    let healed_s = last.healed_s.unwrap();
    assert!(done.completes_after(healed_s), "{:?}", done.series());
    assert!(trial.ledgers[0].is_intact(), "{shown}");

    let began_s = part_of_hour_s(trial.started_at.as_ref().unwrap()).unwrap();
    let said_s = said_s(&done, 2, back).unwrap();
    // Around the end of a quarter of an hour, too.
    let late_s = (began_s + effect_s + rejoined_s - said_s + 450.0).rem_euclid(900.0) - 450.0;
    eprintln!("{cluster}: back after {rejoined_s:.2} s, {late_s:.2} s later than its log says");
    // On a busy machine, probes are late.
    assert!((-0.1..10.0).contains(&late_s), "{late_s}, {shown}");
    assert!(rejoined_s + 0.5 > healed_s - effect_s, "{shown}");
    place.assert_nothing_left();
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
