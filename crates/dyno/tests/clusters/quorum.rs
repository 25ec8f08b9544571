//! Groups that lose their quorum: the trial fails, unless the study expects it; and once the members are
//! healed, they are a group again.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Cache, Finished, Program, each, in_time, primaries, shown, trial_dir};
use measure::fault::FaultRecord;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use rustix::process::{Pid, Signal, kill_process};

/// How long a short trial may take in all on a slow and busy machine, even if commits hang.
const LIMIT: Duration = Duration::from_secs(300);

/// How often a moment may be missed.
const TRIES: u32 = 5;

/// A study of a cluster of three with a slow load and a ledger, and these lines.
fn study(engine: &str, cluster: &str, time: &str, faults: &str) -> Program {
    let load = format!(
        "workload = 'oltp_update_non_index'; threads = 4; think = '80ms'; warmup = '0s'; time = '{time}'"
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

/// What a server of the only trial has logged since it was started last.
fn said_since_its_start(out: &Path, server: u32) -> String {
    let log = trial_dir(out, 1).map(|dir| dir.join(format!("servers/{server}/error.log")));
    let log = log.and_then(|log| std::fs::read_to_string(log).ok());
    let log = log.unwrap_or_default();
    let last = log.rsplit_once("as process").map(|(_, since)| since);
    last.unwrap_or_default().to_owned()
}

/// An administrator has another member take over; then all members are killed, and those that are
/// healed are a group again. A member that is back says so in its log with these words.
fn comes_back(engine: &str, cluster: &str, heals: [&str; 3], back: &str) {
    let [first, second, third] = heals;
    let faults = "[[fault]]; at = '2s'; switchover = 'replica'; ".to_owned()
        + &kill_all("20s", 3, first)
        + &kill_all("20100ms", 1, second)
        + &kill_all("20200ms", 2, third);
    let place = Cache::kept();
    let mut dyno = study(engine, cluster, "10m", &faults).cache(&place).start();
    let healed = [3, 1, 2].into_iter().zip(heals);
    for (server, _) in healed.filter(|(_, heal)| *heal != "never") {
        dyno.says(&format!("kill of server {server}, healed at"));
    }
    let out = dyno.out();
    dyno.comes_to("server 2 in its group", || {
        said_since_its_start(&out, 2).contains(back)
    });
    let done = dyno.stopped_once_it_goes_on();
    place.assert_nothing_left();
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
    let found = last.recovery.as_ref().unwrap();
    assert!(found.load_write_s.is_some(), "{shown}");
    let (effect_s, rejoined_s) = (last.effect_s.unwrap(), found.rejoined_s.unwrap());
    let healed_s = last.healed_s.unwrap();
    assert!(done.completes_after(healed_s), "{:?}", done.series());
    assert!(trial.ledgers[0].is_intact(), "{shown}");

    let late_s = effect_s + rejoined_s - said_s(&done, 2, back).last().unwrap();
    eprintln!("{cluster}: back after {rejoined_s:.2} s, {late_s:.2} s later than its log says");
    // On a busy machine, probes are late.
    assert!((-0.1..10.0).contains(&late_s), "{late_s}, {shown}");
    assert!(rejoined_s + 0.5 > healed_s - effect_s, "{shown}");
}

/// What MySQL logs once it has joined its group.
const ONLINE: &str = "This server was declared online within the replication group";

#[test]
fn group_replication_comes_back_after_all_members_were_killed() {
    comes_back("mysql", "group-replication", ["2s", "1s", "1s"], ONLINE);
}

/// A restarted member tries to join a group that does not answer, which MySQL gives up after 60 s; `None` if it has
/// joined before that group was stopped.
fn refused() -> Option<Finished> {
    let place = Cache::kept();
    let faults = kill("1s", 3, "1s");
    let dyno = study("mysql", "group-replication", "10m", &faults);
    let mut dyno = dyno.cache(&place).start();
    let out = dyno.out();
    let said = |words: &str| said_since_its_start(&out, 3).contains(words);
    dyno.says("kill of server 3, healed at");
    dyno.comes_to("an attempt to join", || {
        said("Initialized group communication")
    });
    let signal = |signal| {
        for pid in [1, 2].map(|server| place.server(server).unwrap()) {
            kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
        }
    };
    signal(Signal::STOP);
    let is_refused = || said("Timeout on wait for view");
    dyno.comes_to("the end of the attempt", || said(ONLINE) || is_refused());
    signal(Signal::CONT);
    if !is_refused() {
        return None;
    }
    dyno.comes_to("server 3 in its group", || said(ONLINE));
    let done = dyno.stopped_once_it_goes_on();
    place.assert_nothing_left();
    Some(done)
}

#[test]
fn a_member_that_its_group_does_not_answer_tries_again_to_join_it() {
    let done = (0..TRIES).find_map(|_| refused()).unwrap();
    let trial = trial(&done);
    let [fault] = each(&trial.faults);
    assert_eq!(fault.error, None);
    let found = fault.recovery.as_ref().unwrap();
    assert!(found.rejoined_s > Some(60.0), "{found:?}");
}

/// One of them stays away; without an operator, the others would wait for it.
#[test]
fn galera_comes_back_after_all_members_were_killed() {
    let back = "Synchronized with group, ready for connections";
    comes_back("mariadb", "galera", ["never", "3s", "1s"], back);
}
