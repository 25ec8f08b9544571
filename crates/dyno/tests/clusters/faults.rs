//! Faults of a study: servers are killed, paused, and restarted while their load goes on.

use crate::common::{
    self, Cache, Finished, Program, SmallDisk, each, in_time, is_whole, mariadb, wait_until,
};
use measure::metric::MonitorPoint;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use plan::FaultKind;
use rustix::process::Signal;

/// Metrics of the server's process, and of what every server counts itself.
const SAMPLED: [&str; 2] = ["server.cpu", COUNTED];
const COUNTED: &str = "server.io.reads_per_s";

/// A study of one trial with two virtual users, with these sections more.
fn study(engine: &str, time: &str, rest: &str) -> Program {
    let load = "workload = 'oltp_point_select'; threads = 2; think = '20ms'; warmup = '1s'";
    Program::private(engine, &format!("{load}; time = '{time}'"), rest)
}

/// The kinds of a trial's faults, and the nodes that they hit.
fn hits(trial: &TrialSummary) -> Vec<(FaultKind, Option<u32>)> {
    let faults = trial.faults.iter();
    faults.map(|fault| (fault.kind, fault.node)).collect()
}

/// What the monitors sampled.
fn points(done: &Finished) -> Vec<MonitorPoint> {
    let dir = &store::trial_dirs(&done.out()).unwrap()[0];
    store::read_monitors(dir, usize::MAX).unwrap()
}

/// No metric is below zero, and the server's process and counters are sampled before `gone_s`
/// and after `back_s`, but not between `gone_s` and `started_s`: a process is sampled before its server answers.
fn monitors_followed(done: &Finished, gone_s: f64, started_s: f64, back_s: f64) {
    let points = points(done);
    let mut values = points.iter().flat_map(|point| point.values.values());
    assert!(values.all(|value| *value >= 0.0), "{points:?}");
    for name in SAMPLED {
        let known = points.iter().filter(|p| p.values.contains_key(name));
        let known: Vec<(f64, f64)> = known.map(|p| (p.t_s, p.t_s + p.seconds)).collect();
        let is_known = |during: &dyn Fn(f64, f64) -> bool| {
            known.iter().any(|&(begin_s, end_s)| during(begin_s, end_s))
        };
        let shown = format!(
            "{name} in {known:?}, gone at {gone_s}, started at {started_s}, back at {back_s}"
        );
        assert!(is_known(&|begin_s, _| begin_s < gone_s), "{shown}");
        assert!(is_known(&|begin_s, _| begin_s >= back_s), "{shown}");
        let in_between = |begin_s, end_s| begin_s >= gone_s && end_s < started_s;
        assert!(!is_known(&in_between), "{shown}");
    }
}

/// Runs until all faults are healed, under load and monitored, however long a slow machine takes.
fn until_healed(engine: &str, rest: &str) -> (Finished, TrialSummary) {
    let place = Cache::kept();
    let mut dyno = study(engine, "1h", rest).cache(&place).start();
    let faults = rest.matches("[[fault]]").count();
    wait_until("the end of the faults", || {
        let said = dyno.stderr();
        let faulty = said.lines().filter(|line| line.starts_with("fault: "));
        let over = faulty.filter(|line| line.contains("healed at") || line.contains("done at"));
        over.count() >= faults || dyno.has_ended()
    });
    let dir = common::trial_dir(&dyno.out(), 1).unwrap();
    dyno.comes_to("both users", || {
        let series = store::read_series(&dir, usize::MAX).unwrap();
        series.iter().map(|second| second.reconnects).sum::<u64>() >= 2
    });
    let samples = || std::fs::read_to_string(dir.join(store::names::MONITORS)).unwrap();
    // The next sample may have begun before.
    let before = samples().lines().count() + 1;
    dyno.comes_to("the server's counters", || {
        let samples = samples();
        let mut later = samples.lines().skip(before);
        later.any(|line| line.contains(COUNTED))
    });
    let done = dyno.stopped_once_it_goes_on();
    place.assert_nothing_left();
    let trial = done.trial();
    assert!(trial.faults.iter().all(is_whole), "{:?}", trial.faults);
    (done, trial)
}

/// No transaction ended in the seconds between these times, and some did after the second one.
fn stood_still(done: &Finished, from_s: f64, to_s: f64) {
    // A resumed server runs for a moment before dyno has seen all its processes run.
    let mut still = done.series();
    still.retain(|second| second.t_s > from_s && second.t_s + 1.2 < to_s);
    let is_still = still.iter().all(|second| second.tps.unwrap_or(0.0) == 0.0);
    assert!(
        !still.is_empty() && is_still,
        "{still:?}, {from_s} to {to_s}"
    );
    assert!(
        done.completes_after(to_s),
        "{:?}, back at {to_s}",
        done.series()
    );
}

#[test]
fn a_server_that_is_killed_and_started_again_gets_its_load_back() {
    let run = |at: &str| {
        let rest = format!("[[fault]]; at = '{at}'; kill = 1; heal = '4s'");
        until_healed("mariadb", &rest).0
    };
    // On a busy machine, the server may be killed before the monitors have sampled it.
    let was_sampled = |done: &Finished| {
        let (points, asked_s) = (points(done), done.trial().faults[0].asked_s);
        SAMPLED.iter().all(|name| {
            let first = points.iter().find(|point| point.values.contains_key(*name));
            first.is_some_and(|first| first.t_s < asked_s)
        })
    };
    let done = in_time(&["2s", "20s"], run, was_sampled);
    let trial = done.trial();
    let [fault] = each(&trial.faults);
    assert_eq!(hits(&trial), [(FaultKind::Kill, Some(1))]);
    // The clock begins before the connections are open, and the warm-up is on it. Healing is due 4 s after
    // the kill was due, however late a busy machine asks for that.
    let asked_s = fault.heal_asked_s.unwrap();
    let is_in_time = fault.asked_s >= 3.0 && asked_s >= 6.9;
    assert!(is_in_time, "{fault:?}");
    let (gone_s, back_s) = (fault.effect_s.unwrap(), fault.healed_s.unwrap());
    stood_still(&done, gone_s, back_s);
    let errors = &trial.errors;
    assert!(trial.reconnects >= 2 && trial.failures() > 0, "{errors:?}");
    monitors_followed(&done, fault.asked_s, asked_s, back_s);

    let log = done.kept(1, "1/error.log");
    assert_eq!(log.matches("ready for connections").count(), 2, "{log}");
    done.tells(&["kill of server 1, healed at"]);
    let page = done.file("report.html");
    for text in ["healed: kill of server 1", "Events, on the clock"] {
        assert!(page.contains(text), "{text}");
    }
}

/// A server of one process and one of many: both stand still for a while, are stopped, and
/// restarted.
#[test]
fn a_server_that_is_paused_goes_on_and_one_that_is_stopped_starts_again() {
    for engine in ["mariadb", "postgres"] {
        let rest = "[[fault]]; at = '1s'; pause = 'primary'; heal = '3s'; \
                    [[fault]]; at = '5s'; stop = 'any'; heal = '1s'";
        let (done, trial) = until_healed(engine, rest);
        let kinds = [(FaultKind::Pause, Some(1)), (FaultKind::Stop, Some(1))];
        assert_eq!(hits(&trial), kinds);
        let [paused, stopped] = each(&trial.faults);
        assert!(stopped.target.starts_with("any (seed "), "{stopped:?}");
        stood_still(&done, paused.effect_s.unwrap(), paused.healed_s.unwrap());
        assert!(trial.reconnects >= 2, "{:?}", trial.errors);
    }
}

/// A server of one process and one of many.
#[test]
fn a_restart_of_one_server_is_none_of_the_others() {
    for engine in ["mysql", "postgres"] {
        let rest = "[topology]; instances = 2; [[fault]]; at = '1s'; restart = 2";
        let (_, trial) = until_healed(engine, rest);
        assert_eq!(hits(&trial), [(FaultKind::Restart, Some(2))]);
        let [other, restarted] = each(&trial.instances);
        assert!(other.transactions.count > 0 && restarted.transactions.count > 0);
        assert!(other.errors == 0 && restarted.errors > 0 && trial.reconnects >= 2);
    }
}

#[test]
fn a_trial_completes_without_a_server_that_it_expects_to_be_killed() {
    let rest = "[topology]; instances = 2; [[fault]]; at = '1s'; kill = 1; heal = 'never'";
    let run = |time: &str| study("mariadb", time, rest).run_alone().succeeds();
    let is_over = |done: &Finished| done.trial().faults[0].effect_s.is_some();
    let trial = in_time(&["4s", "40s"], run, is_over).completed();
    let [killed, other] = each(&trial.instances);
    let is_lost = matches!(killed.outcome, Outcome::ServerLost { .. });
    assert!(is_lost, "{killed:?}");
    assert_eq!(other.outcome, Outcome::Completed);
    assert_eq!(hits(&trial), [(FaultKind::Kill, Some(1))]);
    assert_eq!(trial.faults[0].healed_s, None);
}

/// A server that cannot write waits or ends; it goes on once its disk has room.
#[test]
fn a_server_whose_disk_was_full_goes_on() {
    let Some(disk) = SmallDisk::new("400m") else {
        return;
    };
    let rest = format!(
        "[server.config]; max_wal_size = '64MB'; [volume]; directory = {:?}; \
         [[fault]]; at = '1s'; fill_disk = 1; heal = '8s'",
        disk.shown()
    );
    let run = |time: &str| {
        let load = "workload = 'oltp_update_non_index'; threads = 2; think = '20ms'; warmup = '0s'";
        let load = format!("{load}; time = '{time}'");
        Program::private("postgres", &load, &rest)
            .run_alone()
            .succeeds()
    };
    let is_back = |done: &Finished| {
        let fault = &done.trial().faults[0];
        is_whole(fault) && done.completes_after(fault.healed_s.unwrap())
    };
    let done = in_time(&["25s", "90s"], run, is_back);
    assert!(is_back(&done), "{:?}", done.completed().faults);
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
}

/// A dyno that is killed leaves neither a server that stands still nor a full disk.
#[test]
fn a_killed_dyno_leaves_nothing_paused_and_no_full_disk() {
    let Some(disk) = SmallDisk::new("800m") else {
        return;
    };
    let place = Cache::kept();
    let rest = format!(
        "[server.config]; max_wal_size = '64MB'; \
        [volume]; directory = {:?}; [topology]; instances = 2; \
        [[fault]]; at = '500ms'; fill_disk = 1; heal = 'never'; \
        [[fault]]; at = '1s'; pause = 2; heal = 'never'",
        disk.shown()
    );
    let mut dyno = study("postgres", "1h", &rest).cache(&place).start();
    let is_paused = || {
        let pid = place.server(2)?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(stat.rsplit_once(')')?.1.starts_with(" T"))
    };
    dyno.comes_to("the pause", || is_paused() == Some(true));
    // A full disk may take longer.
    dyno.comes_to("the full disk", || {
        let mut made = common::entries(disk.path()).into_iter();
        made.any(|dir| dir.join("filler").exists())
    });
    dyno.signal(Signal::KILL);
    assert_eq!(dyno.wait().code(), None);
    place.clean();
    place.assert_nothing_left();
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
}

/// The study's own program breaks a server that dyno did not start, and heals it.
#[test]
fn a_command_breaks_and_heals_what_dyno_did_not_start() {
    let server = mariadb();
    let dir = tempfile::tempdir().unwrap();
    let (broken, healed) = (dir.path().join("broken"), dir.path().join("healed"));
    let url = common::database(&*server, "faults");
    let run = |command: &str, time: &str| {
        let heal = format!("heal_command = [\"touch\", {healed:?}]\nheal = \"1s\"");
        Program::study(&format!(
            "title = \"t\"\n[server]\nurl = {url:?}\n[data]\nrows = 100\n\
             [load]\nthreads = 2\nthink = \"20ms\"\nwarmup = \"0s\"\ntime = \"{time}\"\n\
             [[fault]]\nat = \"1s\"\ncommand = {command}\n{heal}\n"
        ))
        .run()
    };
    let assert_clean = || {
        let left = server.sql("SHOW TABLES FROM faults LIKE 'dyno_probe'");
        assert!(left.is_empty(), "{left:?}");
    };
    let touch = format!("[\"touch\", {broken:?}]");
    let run_touch = |time: &str| run(&touch, time).succeeds();
    let is_healed = |done: &Finished| done.trial().faults.iter().all(is_whole);
    let trial = in_time(&["4s", "30s"], run_touch, is_healed).trial();
    assert!(broken.exists() && healed.exists());
    assert!(is_whole(&trial.faults[0]), "{:?}", trial.faults);
    assert_eq!(hits(&trial), [(FaultKind::Command, None)]);
    assert_clean();
    // What a program says is shown if it fails.
    let missing = "[\"ls\", \"/nonexistent\"]";
    let words = [
        "fault 1 (command) failed",
        "ended with exit code",
        "/nonexistent",
    ];
    run(missing, "4s").fails(3, &words);
    assert_clean();
}
