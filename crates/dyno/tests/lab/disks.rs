//! Faults of the devices that store the data of servers: they fail, return, slow down, and are replaced
//! under load.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    self, Cache, Finished, Program, can_make_volumes, each, in_time, is_whole, shown, wait_until,
};
use measure::fault::FaultRecord;
use measure::summary::TrialSummary;
use plan::{FaultKind, FaultVolume};
use rustix::process::Signal;

/// Where `btrfs scrub` keeps files.
const SCRUBS: &str = "/var/lib/btrfs";

/// A study of one server on a volume, with the ledger and these faults. A semicolon ends a line.
fn study(engine: &str, volume: &str, time: &str, faults: &[&str]) -> Program {
    let faults = faults.iter().map(|fault| format!("; [[fault]]; {fault}"));
    let users = "workload = 'oltp_update_non_index'; threads = 2; think = '50ms'";
    let load = format!("{users}; warmup = '500ms'; time = '{time}'");
    let rest = format!(
        "[server.config]; innodb_buffer_pool_size = '16M'; \
         [server.config.postgres]; max_wal_size = '64MB'; \
         [volume]; {volume}; device_size = '1500M'; [ledger]{}",
        faults.collect::<String>()
    );
    Program::private(engine, &load, &rest).args("--set data.rows=500")
}

/// Loop devices on files below a directory, and mounts there.
fn left_in(dir: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let files = devices
        .filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let dir = dir.display().to_string();
    let all = files.chain(mounts.lines().map(str::to_owned));
    all.filter(|line| line.contains(&dir)).collect()
}

/// Files that programs of scrubs keep; other programs may use the directory, too.
fn scrubs() -> Vec<PathBuf> {
    common::entries(Path::new(SCRUBS))
}

/// Tests that run at the same time have scrubs, too.
fn assert_no_new_scrubs(before: &[PathBuf]) {
    wait_until("the end of the scrubs' files", || {
        scrubs().iter().all(|file| before.contains(file))
    });
}

/// The kernel detaches a device a moment after its last user.
fn assert_nothing_left(cache: &Cache) {
    cache.assert_nothing_left();
    wait_until("the devices' end", || left_in(cache.path()).is_empty());
}

fn run(study: Program) -> Finished {
    let cache = Cache::kept();
    let done = study.cache(&cache).succeeds();
    assert_nothing_left(&cache);
    done
}

/// The columns of `faults.csv` of each fault.
fn columns(done: &Finished, names: [&str; 4]) -> Vec<[String; 4]> {
    let text = done.file("faults.csv");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let place = |name| heads.iter().position(|head| *head == name).unwrap();
    let places = names.map(place);
    lines
        .map(|line| places.map(|at| line[at].to_owned()))
        .collect()
}

/// A device fails and returns stale, a scrub corrects it, another one fails and is rebuilt: the
/// server notices nothing.
#[test]
fn copies_survive_the_loss_of_a_device_under_load() {
    if !can_make_volumes() {
        return;
    }
    let before = scrubs();
    let faults = [
        "at = '1s'; fail_device = 'primary'; device = 2; heal = '2s'",
        "at = '4s'; scrub = 'primary'",
        // The scrub and the replacement have ended by the next fault, also on a busy machine.
        "at = '9s'; fail_device = 1; heal = 'never'",
        "at = '10s'; replace_device = 1",
        "at = '16s'; slow_device = 1; device = 2; write_iops = 20; heal = '1s'",
        "at = '19s'; scrub = 1",
    ];
    let volume = "filesystem = 'btrfs'; devices = 2; profile = 'raid1'; write_iops = 100000";
    let run = |time: &str| run(study("mariadb", volume, time, &faults));
    let is_over = |done: &Finished| {
        let mut faults = done.trial().faults.into_iter();
        faults.all(|fault| fault.healed_s.is_some() || fault.kind == FaultKind::FailDevice)
    };
    let done = in_time(&["20s", "60s"], run, is_over);
    let trial = done.completed();
    let shown = shown(&trial);
    let [failed, scrubbed, lost, replaced, slow, clean] = each(&trial.faults);
    let healed = [failed, scrubbed, replaced, slow, clean];
    assert!(healed.into_iter().all(is_whole), "{shown}");
    assert!(trial.faults.iter().all(|fault| fault.crash.is_none()));
    assert_eq!((failed.device, lost.device), (Some(2), Some(1)));
    assert_eq!((failed.kind, lost.healed_s), (FaultKind::FailDevice, None));
    // What was written while the device was away is missing on it, and the other one has it.
    let found = scrubbed.scrub.unwrap();
    let is_corrected = found.corrected > 0 && found.uncorrectable == 0;
    assert!(found.found > 0 && is_corrected, "{shown}");
    assert_eq!(clean.scrub.unwrap().found, 0, "{shown}");
    let ledger = &trial.ledgers[0];
    assert!(ledger.acknowledged > 0 && ledger.is_intact(), "{shown}");
    assert_eq!(trial.failures(), 0, "{:?}", trial.errors);
    assert_no_new_scrubs(&before);

    let names = [
        "fault.kind",
        "fault.device",
        "scrub.found",
        "fault.server_ended_s",
    ];
    let rows = columns(&done, names);
    assert_eq!(rows[0], ["fail_device", "2", "", ""]);
    assert_eq!(rows[1], ["scrub", "", &found.found.to_string(), ""]);
    let report = done.file("report.md");
    assert!(report.contains(&found.to_string()), "{report}");
}

/// Whether the only fault is healed, and transactions complete after that.
fn is_back(done: &Finished) -> bool {
    let healed_s = done.trial().faults[0].healed_s;
    healed_s.is_some_and(|healed_s| done.completes_after(healed_s))
}

/// Without copies the server ends, which is what the study found out; so is its return.
#[test]
fn a_server_ends_with_its_only_copy_and_starts_on_it_again() {
    if !can_make_volumes() {
        return;
    }
    let stripe = "filesystem = 'btrfs'; devices = 2; profile = 'raid0'";
    for (engine, volume) in [("postgres", "filesystem = 'xfs'"), ("mariadb", stripe)] {
        let run = |heal_s: &str| {
            let fault = format!("at = '1s'; fail_device = 'primary'; heal = '{heal_s}s'");
            let time_s = 4 * heal_s.parse::<u32>().unwrap();
            run(study(engine, volume, &format!("{time_s}s"), &[&fault]))
        };
        // PostgreSQL's postmaster may go on restarting its processes.
        let has_ended =
            |done: &Finished| engine == "postgres" || done.trial().faults[0].crash.is_some();
        // A slow machine needs more time.
        let done = in_time(&["2", "8", "25"], run, |done| {
            has_ended(done) && is_back(done)
        });
        let trial = done.completed();
        let shown = shown(&trial);
        let fault = &trial.faults[0];
        assert!(is_whole(fault) && has_ended(&done), "{engine}: {shown}");
        if let Some(crash) = &fault.crash {
            assert!(crash.at_s >= fault.effect_s.unwrap() && crash.reason.contains("its log ends"));
            let ended = &columns(&done, ["fault.server_ended_s"; 4])[0][0];
            assert_eq!(*ended, crash.at_s.to_string());
            let report = done.file("report.md");
            assert!(report.contains("The server ended after"), "{report}");
        }
        let ledger = &trial.ledgers[0];
        assert!(trial.failures() > 0 && ledger.checked.len() == 1, "{shown}");
        assert!(
            ledger.acknowledged > 0 && is_back(&done),
            "{engine}: {shown}"
        );
    }
}

/// Volumes are filled up like directories. A server that cannot write its log may end; it starts again once
/// there is room, and has every acknowledged commit.
#[test]
fn a_volume_that_was_full_takes_writes_again() {
    if !can_make_volumes() {
        return;
    }
    let log_apart = "filesystem = 'ext4'; device_size = '512M'; [log_volume]; filesystem = 'xfs'";
    for (engine, volume, which) in [
        ("mariadb", "filesystem = 'btrfs'", FaultVolume::Data),
        ("postgres", log_apart, FaultVolume::Log),
    ] {
        let fault = format!(
            "at = '1s'; fill_disk = 'primary'; volume = '{}'; heal = '2s'",
            which.name()
        );
        // A server that aborts may do so when there is room again.
        let has_aborted = |done: &Finished| done.stderr.contains("killed by signal 6");
        let run = |time: &str| {
            let mut runs = (0..6).map(|_| {
                let cache = Cache::kept();
                let done = study(engine, volume, time, &[&fault]).cache(&cache).run();
                assert_nothing_left(&cache);
                done
            });
            runs.find(|done| !has_aborted(done)).unwrap().succeeds()
        };
        let done = in_time(&["10s", "60s"], run, is_back);
        let trial = done.completed();
        let shown = shown(&trial);
        let fault = &trial.faults[0];
        assert_eq!(fault.volume, which);
        assert!(is_back(&done) && fault.error.is_none(), "{shown}");
        let ledger = &trial.ledgers[0];
        assert!(ledger.acknowledged > 0 && ledger.is_intact(), "{shown}");
    }
}

/// A trial of two members of which nobody elects a primary, with a fault of the primary's disk.
fn without_election(
    volume: &str,
    fault: &str,
    is_over: impl Fn(&Finished) -> bool,
) -> TrialSummary {
    let fault = format!(
        "at = '2s'; {fault} = 'primary'; heal = 'never'; \
         [topology]; cluster = 'synchronous'; members = 2; failover = '1s'"
    );
    let run = |time: &str| run(study("postgres", volume, time, &[&fault]));
    let trial = in_time(&["11s", "60s"], run, is_over).completed();
    let ledger = &trial.ledgers[0];
    let is_kept = ledger.is_intact() && ledger.checked.contains(&2);
    assert!(ledger.acknowledged > 0 && is_kept, "{}", shown(&trial));
    trial
}

fn promoted(trial: &TrialSummary) -> Option<u32> {
    trial.faults[0].promotion.as_ref().and_then(|one| one.node)
}

/// A replica is promoted after 1 s without an accepted write; slightly less may be measured.
const FAILOVER_S: f64 = 0.9;

/// The longest time without an accepted write.
fn unavailable_s(trial: &TrialSummary) -> f64 {
    let recovery = trial.faults[0].recovery.as_ref().unwrap();
    recovery.unavailable_longest_s.unwrap()
}

/// dyno promotes a replica if the primary cannot write, but not if the primary still has a copy of
/// its data. On a busy machine, the file system may take longer to use that copy than the failover
/// waits.
#[test]
fn a_replica_takes_over_from_a_primary_whose_disk_has_failed() {
    if !can_make_volumes() {
        return;
    }
    let promotion = |fault: &FaultRecord| fault.promotion.as_ref().and_then(|one| one.done_s);
    let copies = "filesystem = 'btrfs'; devices = 2; profile = 'raid1'";
    for (volume, is_replaced) in [("filesystem = 'xfs'", true), (copies, false)] {
        let has_gone_on = |done: &Finished| {
            let fault = &done.trial().faults[0];
            let since_s = if is_replaced {
                promotion(fault)
            } else {
                fault.effect_s
            };
            since_s.is_some_and(|since_s| done.completes_after(since_s))
        };
        let trial = without_election(volume, "fail_device", has_gone_on);
        match promoted(&trial) {
            Some(node) => {
                let may_be = is_replaced || unavailable_s(&trial) > FAILOVER_S;
                assert!(node == 2 && may_be, "{}", shown(&trial));
            }
            None => assert!(!is_replaced, "{}", shown(&trial)),
        }
    }
}

/// A server whose disk is full may accept small writes for as long as its log has room; dyno
/// promotes a replica only if it accepts none.
#[test]
fn a_replica_takes_over_from_a_primary_whose_full_disk_keeps_it_from_writing() {
    if !can_make_volumes() {
        return;
    }
    let is_as_long_as_said = |trial: &TrialSummary| match promoted(trial) {
        Some(node) => node == 2 && unavailable_s(trial) > FAILOVER_S,
        None => unavailable_s(trial) < 2.0,
    };
    // A slow machine may fill the disk only when the load ends, or stall besides.
    let is_over = |done: &Finished| {
        let trial = done.trial();
        let recovery = trial.faults[0].recovery.as_ref();
        let is_known = recovery.is_some_and(|found| found.unavailable_longest_s.is_some());
        is_known && is_as_long_as_said(&trial)
    };
    let trial = without_election("filesystem = 'ext4'", "fill_disk", is_over);
    assert!(is_as_long_as_said(&trial), "{}", shown(&trial));
}

/// A dyno that is killed while a device has failed, is slow, and another one is rebuilt leaves
/// nothing behind a clean.
#[test]
fn a_killed_dyno_leaves_no_device_and_no_mount() {
    if !can_make_volumes() {
        return;
    }
    let before = scrubs();
    let volume = "filesystem = 'btrfs'; devices = 3; profile = 'raid1'";
    for fault in [
        "at = '500ms'; fail_device = 'primary'; heal = 'never'",
        "at = '500ms'; slow_device = 'primary'; write_iops = 1; heal = 'never'",
        "at = '500ms'; scrub = 'primary'",
        "at = '500ms'; replace_device = 'primary'",
        "at = '500ms'; fill_disk = 'primary'; heal = 'never'",
    ] {
        let cache = Cache::kept();
        let study = study("mariadb", volume, "1h", &[fault]);
        let mut dyno = study.cache(&cache).start();
        dyno.says("fault: at");
        assert!(!left_in(cache.path()).is_empty());
        dyno.signal(Signal::KILL);
        assert_eq!(dyno.wait().code(), None);
        cache.clean();
        assert_nothing_left(&cache);
    }
    assert_no_new_scrubs(&before);
}
