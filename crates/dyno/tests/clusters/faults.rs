//! Faults of a study: servers are killed, paused, and restarted while their load goes on.

use crate::common::{self, Cache, Finished, Program, SmallDisk, each, in_time, mariadb};
use measure::fault::FaultRecord;
use measure::metric::MonitorPoint;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use plan::FaultKind;
use rustix::process::Signal;

/// A metric that every server counts itself.
const COUNTED: &str = "io.reads_per_s";

/// A study of one trial with two virtual users, with these lines more.
fn study(engine: &str, time: &str, rest: &str) -> Program {
    Program::study(&format!(
        "title = \"t\"\n[server]\nengine = \"{engine}\"\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_point_select\"\nthreads = 2\nthink = \"20ms\"\nwarmup = \"1s\"\ntime = \"{time}\"\n{rest}\n"
    ))
}

/// A study of writes to a server that soon fills its small disk, with these lines more.
fn on_disk(disk: &SmallDisk, time: &str, rest: &str) -> Program {
    Program::study(&format!(
        "title = \"t\"\n[server]\nengine = \"postgres\"\nconfig = {{ max_wal_size = \"64MB\" }}\n\
         [volume]\ndirectory = {:?}\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_update_non_index\"\nthreads = 2\nthink = \"20ms\"\nwarmup = \"0s\"\ntime = \"{time}\"\n{rest}",
        disk.shown()
    ))
}

/// The kinds of a trial's faults, and the nodes that they hit.
fn hits(trial: &TrialSummary) -> Vec<(FaultKind, Option<u32>)> {
    let faults = trial.faults.iter();
    faults.map(|fault| (fault.kind, fault.node)).collect()
}

/// Its times are in order, and it took effect and was healed.
fn is_whole(fault: &FaultRecord) -> bool {
    let times = [fault.effect_s, fault.heal_asked_s, fault.healed_s];
    let times: Vec<f64> = times.into_iter().flatten().collect();
    times.len() == 3 && times.is_sorted() && fault.asked_s <= times[0] && fault.error.is_none()
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
    let mut values = points.iter().flat_map(|point| point.values.values());
    assert!(values.all(|value| *value >= 0.0), "{points:?}");
    for name in ["server.cpu", &format!("server.{COUNTED}")] {
        let known = points.iter().filter(|p| p.values.contains_key(name));
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

/// Runs for a time in which all faults are healed, under load and monitored; a slow machine needs
/// more of it.
fn with_time_to_heal(engine: &str, rest: &str, place: &Cache) -> Finished {
    let run = |time: &str| study(engine, time, rest).cache(place).succeeds();
    let is_back = |done: &Finished| {
        let trial = done.trial();
        let last_s = trial.faults.iter().filter_map(|fault| fault.healed_s);
        let last_s = last_s.fold(0.0, f64::max);
        trial.faults.iter().all(is_whole)
            && done.completes_after(last_s)
            && points(done).iter().any(|point| {
                let counted = |name: &String| name.ends_with(COUNTED);
                point.t_s >= last_s && point.values.keys().any(counted)
            })
    };
    in_time(&["14s", "30s", "150s"], run, is_back)
}

/// No transaction ended in the seconds between these times, and some did after the second one.
fn stood_still(done: &Finished, from_s: f64, to_s: f64) {
    let seconds = seconds(done);
    // A resumed server runs for a moment before dyno has seen all its processes run.
    let during = |t: f64| t > from_s && t + 1.2 < to_s;
    let still = seconds
        .iter()
        .filter(|(t, _)| during(*t))
        .map(|(_, tps)| *tps);
    let still: Vec<f64> = still.collect();
    let shown = format!("{seconds:?}, {from_s} to {to_s}");
    assert!(
        !still.is_empty() && still.iter().all(|tps| *tps == 0.0),
        "{shown}"
    );
    assert!(done.completes_after(to_s), "{seconds:?}, back at {to_s}");
}

#[test]
fn a_server_that_is_killed_and_started_again_gets_its_load_back() {
    let place = Cache::new();
    let rest = "[[fault]]\nat = \"2s\"\nkill = 1\nheal = \"4s\"\n";
    let done = with_time_to_heal("mariadb", rest, &place);
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    let [fault] = each(&trial.faults);
    assert_eq!(hits(&trial), [(FaultKind::Kill, Some(1))]);
    assert!(is_whole(fault), "{fault:?}");
    // The clock begins before the connections are open, and the warm-up is on it.
    let asked_s = fault.heal_asked_s.unwrap();
    let is_in_time = fault.asked_s >= 3.0 && asked_s - fault.asked_s >= 3.9;
    assert!(is_in_time, "{fault:?}");
    let (gone_s, back_s) = (fault.effect_s.unwrap(), fault.healed_s.unwrap());
    stood_still(&done, gone_s, back_s);
    let errors = &trial.errors;
    assert!(trial.reconnects >= 2 && trial.failures() > 0, "{errors:?}");
    monitors_followed(&done, fault.asked_s, back_s);

    let log = done.kept(1, "1/error.log");
    assert_eq!(log.matches("ready for connections").count(), 2, "{log}");
    done.tells(&["kill of server 1, healed at"]);
    let page = done.file("report.html");
    for text in ["healed: kill of server 1", "Events, on the clock"] {
        assert!(page.contains(text), "{text}");
    }
    place.assert_nothing_left();
}

/// A server of one process and one of many: both stand still for a while, are stopped, and
/// restarted.
#[test]
fn a_server_that_is_paused_goes_on_and_one_that_is_stopped_starts_again() {
    for engine in ["mariadb", "postgres"] {
        let place = Cache::new();
        let rest = "[[fault]]\nat = \"1s\"\npause = \"primary\"\nheal = \"3s\"\n\
                    [[fault]]\nat = \"5s\"\nstop = \"any\"\nheal = \"1s\"\n";
        let done = with_time_to_heal(engine, rest, &place);
        let trial = done.trial();
        assert_eq!(trial.outcome, Outcome::Completed);
        let kinds = [(FaultKind::Pause, Some(1)), (FaultKind::Stop, Some(1))];
        assert_eq!(hits(&trial), kinds);
        let [paused, stopped] = each(&trial.faults);
        assert!(is_whole(paused) && is_whole(stopped), "{:?}", trial.faults);
        assert!(stopped.target.starts_with("any (seed "), "{stopped:?}");
        stood_still(&done, paused.effect_s.unwrap(), paused.healed_s.unwrap());
        assert!(trial.reconnects >= 2, "{:?}", trial.errors);
        place.assert_nothing_left();
    }
}

/// A server of one process and one of many.
#[test]
fn a_restart_of_one_server_is_none_of_the_others() {
    restarts_one_of_two("mysql");
    restarts_one_of_two("postgres");
}

fn restarts_one_of_two(engine: &str) {
    let place = Cache::new();
    let rest = "[topology]\ninstances = 2\n[[fault]]\nat = \"1s\"\nrestart = 2\n";
    let done = with_time_to_heal(engine, rest, &place);
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    assert_eq!(hits(&trial), [(FaultKind::Restart, Some(2))]);
    assert!(is_whole(&trial.faults[0]), "{:?}", trial.faults);
    for instance in &trial.instances {
        assert!(instance.transactions.count > 0, "{instance:?}");
    }
    assert_eq!(trial.instances[0].errors, 0);
    assert!(trial.instances[1].errors > 0 && trial.reconnects >= 2);
    place.assert_nothing_left();
}

#[test]
fn a_trial_completes_without_a_server_that_it_expects_to_be_killed() {
    let place = Cache::new();
    let rest = "[topology]\ninstances = 2\n[[fault]]\nat = \"1s\"\nkill = 1\nheal = \"never\"\n";
    let done = study("mariadb", "4s", rest).cache(&place).succeeds();
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    let [killed, other] = each(&trial.instances);
    let is_lost = matches!(killed.outcome, Outcome::ServerLost { .. });
    assert!(is_lost, "{killed:?}");
    assert_eq!(other.outcome, Outcome::Completed);
    assert_eq!(hits(&trial), [(FaultKind::Kill, Some(1))]);
    assert_eq!(trial.faults[0].healed_s, None);
    place.assert_nothing_left();
}

/// A server that cannot write waits or ends; it goes on once its disk has room.
#[test]
fn a_server_whose_disk_was_full_goes_on() {
    let Some(disk) = SmallDisk::new("400m") else {
        return;
    };
    let place = Cache::new();
    let rest = "[[fault]]\nat = \"1s\"\nfill_disk = 1\nheal = \"8s\"\n";
    let run = |time: &str| on_disk(&disk, time, rest).cache(&place).succeeds();
    let has_room = |done: &Finished| done.trial().faults.iter().all(is_whole);
    let done = in_time(&["25s", "90s"], run, has_room);
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed);
    let [fault] = each(&trial.faults);
    assert!(is_whole(fault), "{fault:?}");
    assert!(done.completes_after(fault.healed_s.unwrap()), "{fault:?}");
    assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 0);
    place.assert_nothing_left();
}

/// A dyno that is killed leaves neither a server that stands still nor a full disk.
#[test]
fn a_killed_dyno_leaves_nothing_paused_and_no_full_disk() {
    let Some(disk) = SmallDisk::new("800m") else {
        return;
    };
    let place = Cache::new();
    let rest = "[topology]\ninstances = 2\n\
        [[fault]]\nat = \"500ms\"\nfill_disk = 1\nheal = \"never\"\n\
        [[fault]]\nat = \"1s\"\npause = 2\nheal = \"never\"\n";
    let mut dyno = on_disk(&disk, "1h", rest).cache(&place).start();
    let is_paused = || {
        let pid = place.server(2)?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(stat.rsplit_once(')')?.1.starts_with(" T"))
    };
    dyno.comes_to("the pause", || is_paused() == Some(true));
    let made = common::entries(disk.path());
    assert!(
        made.iter().any(|dir| dir.join("filler").exists()),
        "{made:?}"
    );
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
    let touch = format!("[\"touch\", {broken:?}]");
    let is_healed = |done: &Finished| done.trial().faults.iter().all(is_whole);
    let done = in_time(
        &["4s", "30s"],
        |time| run(&touch, time).succeeds(),
        is_healed,
    );
    let trial = done.trial();
    assert!(broken.exists() && healed.exists());
    assert!(is_whole(&trial.faults[0]), "{:?}", trial.faults);
    assert_eq!(hits(&trial), [(FaultKind::Command, None)]);
    let left = server.sql("SHOW TABLES FROM faults LIKE 'dyno_probe'");
    assert!(left.is_empty(), "{left:?}");
    // What a program says is shown if it fails.
    let missing = "[\"ls\", \"/nonexistent\"]";
    let words = [
        "fault 1 (command) failed",
        "ended with exit code",
        "/nonexistent",
    ];
    run(missing, "4s").fails(3, &words);
    let left = server.sql("SHOW TABLES FROM faults LIKE 'dyno_probe'");
    assert!(left.is_empty(), "{left:?}");
}
