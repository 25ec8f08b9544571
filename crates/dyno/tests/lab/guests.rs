//! The papers' study of virtual machines, made small: servers in guests of QEMU, what the pages say of
//! them, and what remains of them.

use std::fs::{self, read_to_string};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::{Cache, Finished, Program, flat, in_time, trial_dir};
use measure::ledger::LedgerSummary;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use rustix::process::Signal;
use tempfile::TempDir;

const QEMU: &str = "/usr/bin/qemu-system-x86_64";
const STUDY: &str = r#"
title = "A guest"

[server]
engine = "mariadb"

[data]
rows = 500

[load]
threads = 2
warmup = "0s"
time = "3s"

[site]
kind = "vm"
cpus = 1
memory = "512M"
"#;

/// A load that an emulated guest can sustain.
const LIGHT: &str =
    "--set load.workload=oltp_update_non_index --set load.think=20ms --set load.time=";

/// The directory of the image; records a skipped test where guests cannot run.
fn image() -> Option<PathBuf> {
    let image = engine::installations().unwrap().join("guest");
    if Path::new(QEMU).exists() && image.join(".complete").exists() {
        return Some(image);
    }
    testkit::skip("there is no QEMU or no guest (scripts/install-servers.sh vm)");
    None
}

#[test]
fn p1_compares_a_process_with_a_guest_and_every_page_says_what_ran_it() {
    if image().is_none() {
        return;
    }
    let words = "--set data.rows=500 --set load.warmup=0s --set load.repeats=1 \
                 --set sweep.load.threads=[2]";
    let run = |time: &str| {
        let study = Program::shipped("p1-physical-virtual").args(words);
        study.args(&format!("{LIGHT}{time}")).run_alone()
    };
    let is_refused = |done: &Finished| done.stderr.contains("cannot enforce site.");
    // A guest without KVM on a busy machine may take seconds for a transaction.
    let is_whole = |done: &Finished| {
        is_refused(done) || {
            let trials = done.result().trials;
            let is_sampled = |trial: &TrialSummary| trial.metrics.contains_key("site.cpu.steal");
            trials.iter().all(|trial| trial.transactions.count > 0) && trials.iter().any(is_sampled)
        }
    };
    let done = in_time(&["6s", "60s"], run, is_whole);
    if is_refused(&done) {
        return testkit::skip("no control groups can be made here");
    }
    let done = done.succeeds();
    let [process, guest] = <[_; 2]>::try_from(done.all_completed()).unwrap();
    // Sampled in the guest, which has the memory and the CPUs of its limits.
    let metric = |name: &str| guest.metrics[name].mean;
    assert!(metric("server[1].rss_bytes") > 0.0 && metric("site.cpu.idle") < 100.0);
    let steal = metric("site.cpu.steal");
    assert!((0.0..=100.0).contains(&steal), "{steal}");
    assert!(metric("site.memory.available_bytes") < (1u64 << 30) as f64);
    assert!(guest.metrics.contains_key("site.cpu[0].idle"));
    assert!(!guest.metrics.contains_key("site.cpu[1].idle"));
    assert!(!process.metrics.contains_key("site.cpu.steal"));

    assert_eq!(guest.setup.clocks[0].host, "guest1");
    let emulated = guest.setup.emulated;
    assert!(!process.setup.emulated);
    let warned = |warning: &Warning| *warning == Warning::Emulated;
    assert_eq!(guest.warnings.iter().any(warned), emulated);
    let platform = guest.setup.platform.unwrap();
    let expected = if emulated {
        "emulated, not KVM: "
    } else {
        "KVM; "
    };
    assert!(platform.starts_with(expected), "{platform}");
    for words in ["1 CPU,", "Linux"] {
        assert!(platform.contains(words), "{platform}");
    }

    let compared = done.compared("");
    let (report, comparison) = (done.file("report.md"), compared.file("compare.md"));
    let pages = [
        (&report, "emulated, not KVM"),
        (&done.file("report.html"), "emulated, not KVM"),
        (&comparison, "emulated"),
        (&compared.file("compare.html"), "emulated"),
        (&done.stdout, "emulated"),
        (&compared.stdout, "emulated"),
    ];
    for (page, words) in pages {
        assert_eq!(flat(page).contains(words), emulated, "{page}");
    }
    for row in ["process tps", "vm tps", "tps delta % (Virtualizing MySQL)"] {
        assert!(report.contains(row) && comparison.contains(row), "{row}");
    }
}

/// A server in a guest is killed and started again; then dyno is killed.
#[test]
fn a_guest_survives_the_kill_of_its_server_and_ends_with_dyno() {
    let cache = Cache::kept();
    if image().is_none() {
        return;
    }
    let fault = "[[fault]]\nat = \"1s\"\nkill = \"primary\"\nheal = \"300ms\"\n";
    let dyno = Program::study(&format!("{STUDY}{fault}")).args(&format!("{LIGHT}1h"));
    let mut dyno = dyno.cache(&cache).start();
    let out = dyno.out();
    dyno.comes_to("the second start of the server", || {
        let log = trial_dir(&out, 1).map(|dir| dir.join("servers/1/error.log"));
        let log = log
            .and_then(|log| read_to_string(log).ok())
            .unwrap_or_default();
        log.matches("ready for connections").count() >= 2
    });
    let guests = cache.in_runs();
    let mut guests = guests.iter().filter(|path| path.join("console").exists());
    let guest = guests.next().unwrap();
    let mode = guest.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o067, 0, "others may read keys and data: {mode:o}");
    let key = guest.join("user_key").metadata().unwrap();
    assert_eq!(key.permissions().mode() & 0o077, 0);
    assert!(guests.next().is_none());
    let mut processes = cache.processes().into_iter();
    let qemu = processes.find(|process| process.words.contains("-machine q35"));
    let qemu = qemu.unwrap();
    if qemu.words.contains("-accel tcg") {
        // With KVM, it may need the right of root.
        let status = read_to_string(format!("/proc/{}/status", qemu.pid)).unwrap();
        assert!(!status.contains("\nUid:\t0\t"), "{status}");
    }
    dyno.signal(Signal::KILL);
    assert_eq!(dyno.wait().code(), None);
    cache.wait_for_no_process();
    cache.clean();
    assert!(cache.runs().is_empty(), "{:?}", cache.runs());
    cache.assert_nothing_left();
}

/// The log is written to the guest's page cache with every commit, and to its disk with every commit
/// or never. An emulated guest takes long to boot, so only `./test --all` tries what loses nothing.
#[test]
fn a_guest_without_power_loses_what_was_not_written_to_its_disk() {
    if image().is_none() {
        return;
    }
    let lazy = without_power(2);
    assert!(lazy.lost > 0, "{lazy:?}");
    if std::env::var_os("DYNO_TEST_ALL").is_some() {
        let durable = without_power(1);
        assert_eq!(durable.lost, 0, "{durable:?}");
    }
}

/// The ledger of a server in a guest whose power is cut, with this `innodb_flush_log_at_trx_commit`.
fn without_power(flush: u8) -> LedgerSummary {
    let more = format!(
        "[server.config]\ninnodb_log_file_buffering = \"ON\"\n\
         innodb_flush_log_at_timeout = 2700\ninnodb_flush_log_at_trx_commit = {flush}\n\
         [ledger]\nrate = 50\n\
         [[fault]]\nat = \"4s\"\ncut_power = \"primary\"\nheal = \"1s\"\n"
    );
    let study = |time| {
        let program = Program::study(&format!("{STUDY}{more}"));
        program.args(&format!("--set load.rate=20 {LIGHT}{time}"))
    };
    // How long it takes to boot again depends on the machine.
    let until_it_is_back = || {
        let place = Cache::kept();
        let mut dyno = study("1h").cache(&place).start();
        dyno.says(", healed at");
        let done = dyno.stopped_once_it_goes_on();
        place.assert_nothing_left();
        done.trial()
    };
    // A dyno that was stopped looks at the ledger once: a busy guest may not answer in time.
    let whole = || study("150s").run_alone().succeeds().completed();
    let runs: [&dyn Fn() -> TrialSummary; 2] = [&until_it_is_back, &whole];
    let is_back = |trial: &TrialSummary| {
        trial.faults[0].healed_s.is_some() && trial.ledgers[0].unchecked.is_empty()
    };
    let mut trials = runs.into_iter().map(|run| run());
    let trial = trials.find(is_back).unwrap();
    assert_eq!(trial.faults[0].error, None);
    assert!(trial.ledgers[0].acknowledged > 0, "{:?}", trial.ledgers);
    trial.ledgers[0].clone()
}

/// An image whose root is not a file system.
fn broken(image: &Path) -> TempDir {
    let servers = tempfile::tempdir().unwrap();
    let guest = servers.path().join("guest");
    fs::create_dir(&guest).unwrap();
    for name in ["vmlinuz", "initrd", ".complete"] {
        symlink(image.join(name), guest.join(name)).unwrap();
    }
    fs::write(guest.join("root.img"), vec![0; 1 << 20]).unwrap();
    servers
}

#[test]
fn a_guest_that_cannot_boot_is_refused_with_the_reason() {
    let cache = Cache::kept();
    let study = || Program::study(STUDY).cache(&cache);
    let tools = tempfile::tempdir().unwrap();
    symlink("/usr/bin/setpriv", tools.path().join("setpriv")).unwrap();
    let without = study().env("PATH", tools.path());
    let said = ["study.toml:16", "qemu-system-x86_64 is not installed"];
    without.fails(2, &said);
    let Some(image) = image() else {
        return;
    };
    let empty = tempfile::tempdir().unwrap();
    let without = study().env("DYNO_SERVERS", empty.path());
    let said = ["study.toml:16", "no image in", "scripts/build-guest.sh"];
    without.fails(2, &said);
    let servers = broken(&image);
    let broken = study().env("DYNO_SERVERS", servers.path());
    let said = ["QEMU ended", "its console ends: ", "Kernel panic"];
    broken.fails(3, &said);
    cache.assert_nothing_left();
}
