use crate::check::tests::trial as plain_trial;
use crate::interval::Estimate;
use crate::metric::MetricSummary;
use crate::summary::{LatencySummary, StatementSummary};
use crate::warning::Warning;
use plan::StatementClass;

use super::*;

/// 400 transactions of 10 ms per second: four users that never pause.
fn trial(metrics: &[(&str, f64)]) -> TrialSummary {
    let mut trial = plain_trial();
    trial.measured_s = 30.0;
    trial.transactions.count = 12_000;
    trial.transactions.per_s = Some(Estimate::exact(400.0));
    trial.response_ms = trial.response_ms.map(|times| mean(times, 10.0));
    for (name, value) in metrics {
        set(&mut trial, name, *value);
    }
    trial
}

fn mean(mut times: LatencySummary, mean_ms: f64) -> LatencySummary {
    times.mean.value = mean_ms;
    times
}

fn set(trial: &mut TrialSummary, name: &str, value: f64) {
    let summary = MetricSummary {
        mean: value,
        min: value,
        max: value,
    };
    assert!(crate::column::is_known(name), "{name}");
    trial.metrics.insert(name.to_owned(), summary);
}

/// A host with four cores, almost idle, with the server on it.
const IDLE: [(&str, f64); 14] = [
    ("cpu.idle", 80.0),
    ("cpu.iowait", 0.0),
    ("cpu[0].idle", 80.0),
    ("cpu[1].idle", 80.0),
    ("cpu[2].idle", 80.0),
    ("cpu[3].idle", 80.0),
    ("server.cpu", 60.0),
    ("generator.cpu", 10.0),
    ("disk.util", 3.0),
    ("disk.read_iops", 0.0),
    ("psi.io.some", 1.0),
    ("server.locks.wait_ms_per_s", 0.0),
    ("server.locks.waits_per_s", 0.0),
    ("server.cache.misses_per_s", 0.0),
];

fn idle_but(metrics: &[(&str, f64)]) -> TrialSummary {
    let mut idle = trial(&IDLE);
    for (name, value) in metrics {
        set(&mut idle, name, *value);
    }
    idle
}

fn commits(trial: &mut TrialSummary, mean_ms: f64) {
    let times = trial.response_ms.map(|times| mean(times, mean_ms));
    trial.by_statement.push(StatementSummary {
        name: "commit".into(),
        class: StatementClass::Other,
        count: 12_000,
        per_s: Some(400.0),
        latency_ms: times,
    });
}

fn expect(trial: &TrialSummary, bound: Bottleneck, evidence: &str) {
    let verdict = find(trial);
    assert_eq!(verdict.bound, bound, "{verdict}");
    assert!(verdict.evidence.contains(evidence), "{verdict}");
    assert!(!verdict.to_string().contains("NaN"), "{verdict}");
}

/// What a host that is idle but for some metrics was bound by.
fn expect_idle_but(metrics: &[(&str, f64)], bound: Bottleneck, evidence: &str) {
    expect(&idle_but(metrics), bound, evidence);
}

#[test]
fn a_worker_without_a_pause_is_the_bound_whatever_else_is_full() {
    let mut trial = idle_but(&[("cpu.idle", 1.0)]);
    trial.generator.workers[0].running = 0.97;
    let evidence = "worker 0 ran for 97 % of the time";
    expect(&trial, Bottleneck::Generator, evidence);
    trial.setup.in_process = true;
    expect(&trial, Bottleneck::Cpu, "dyno with the engine");
}

#[test]
fn full_cpus_are_of_whoever_used_most_of_them() {
    let busy = |idle, server, generator| {
        [
            ("cpu.idle", idle),
            ("server.cpu", server),
            ("generator.cpu", generator),
        ]
    };
    let evidence = "CPUs 98 % busy; of that time, servers 61 %, generator 26 %, other processes and \
                    the kernel 13 %";
    expect_idle_but(&busy(2.0, 240.0, 100.0), Bottleneck::Cpu, evidence);
    let found = find(&idle_but(&busy(2.0, 240.0, 100.0))).to_string();
    assert!(found.starts_with("CPU-bound: CPUs 98 % busy"), "{found}");
    let generator = busy(2.0, 100.0, 240.0);
    expect_idle_but(&generator, Bottleneck::Generator, "generator 61 %");
    let evidence = "servers 10 %, generator 2 %, other processes on this host 88 %";
    expect_idle_but(&busy(0.0, 40.0, 10.0), Bottleneck::Cpu, evidence);
    // Neither is the cause, whichever used more.
    let evidence = "other processes on this host 97 %";
    expect_idle_but(&busy(0.0, 4.0, 8.0), Bottleneck::Cpu, evidence);
    // Waiting for a disk is not being busy.
    let waiting = [("cpu.idle", 2.0), ("cpu.iowait", 60.0)];
    expect_idle_but(&waiting, Bottleneck::Nothing, "CPUs 38 % busy");
}

#[test]
fn full_cpus_of_a_host_without_servers_are_the_generators() {
    let remote = |idle| trial(&[("cpu.idle", idle), ("generator.cpu", 50.0)]);
    let evidence = "no server runs there";
    expect(&remote(1.0), Bottleneck::Generator, evidence);
    let evidence = "the generator's CPUs 40 % busy";
    expect(&remote(60.0), Bottleneck::Nothing, evidence);
    let evidence = "neither the servers' host nor";
    expect(&trial(&[]), Bottleneck::Nothing, evidence);
    let cpus = ["cpu.idle", "cpu[0].idle", "cpu[1].idle"].map(|name| (name, 0.0));
    let hidden = [&cpus[..], &[("generator.cpu", 6.0)]].concat();
    let evidence = "generator 3 %, other processes 97 %, which may include a server";
    expect(&trial(&hidden), Bottleneck::Cpu, evidence);
}

#[test]
fn waits_for_rows() {
    // 2,400 of 4,000 ms in each second.
    let waits = [
        ("server.locks.wait_ms_per_s", 2400.0),
        ("server.locks.waits_per_s", 300.0),
    ];
    let evidence = "row lock waits take 60 % of the response time (300 waits/s)";
    expect_idle_but(&waits, Bottleneck::Locks, evidence);
}

#[test]
fn reads_of_pages() {
    let misses = [
        ("server.cache.misses_per_s", 3000.0),
        ("server.cache.hit_pct", 96.2),
        ("disk.read_iops", 3200.0),
        ("disk.read_await_ms", 1.0),
        ("disk.util", 99.0),
    ];
    let mut trial = idle_but(&misses);
    let evidence = "page reads take 75 % of the response time, 3000 reads/s at 1.0 ms, cache hit \
                    rate 96.2 %, disk 99 % busy";
    expect(&trial, Bottleneck::IoReads, evidence);
    // They came from the kernel's cache.
    set(&mut trial, "disk.read_iops", 0.0);
    expect(&trial, Bottleneck::Nothing, "page reads 0 %");
}

#[test]
fn commits_that_wait_for_a_flush() {
    let flushes = [
        ("server.log.fsyncs_per_s", 200.0),
        ("disk.flushes_per_s", 200.0),
        ("disk.flush_await_ms", 4.5),
    ];
    let mut trial = idle_but(&flushes);
    commits(&mut trial, 8.0);
    let evidence = "commits take 80 % of the response time, 200 fsyncs/s, 4.5 ms per flush";
    expect(&trial, Bottleneck::IoLog, evidence);
    // Nothing is flushed, so commits are slow for another reason.
    set(&mut trial, "disk.flushes_per_s", 1.0);
    expect(&trial, Bottleneck::Nothing, "commits 3 %");
    // Writes that commit by themselves.
    let mut trial = idle_but(&[
        ("server.io.fsyncs_per_s", 395.0),
        ("disk.flushes_per_s", 395.0),
        ("disk.flush_await_ms", 5.0),
        ("disk.write_await_ms", 3.0),
        ("disk.util", 95.0),
    ]);
    trial.writes = trial.transactions.count;
    let evidence = "commits take 80 % of the response time, 395 fsyncs/s";
    expect(&trial, Bottleneck::IoLog, evidence);
}

#[test]
fn reads_and_commits_together_by_the_longer() {
    let mut trial = idle_but(&[
        ("server.cache.misses_per_s", 1200.0),
        ("disk.read_iops", 1200.0),
        ("disk.read_await_ms", 1.0),
        ("psi.io.some", 60.0),
    ]);
    commits(&mut trial, 2.5);
    expect(&trial, Bottleneck::IoReads, "30 % of the response time");
    set(&mut trial, "disk.read_await_ms", 0.1);
    expect(&trial, Bottleneck::Nothing, "commits 25 %");
}

#[test]
fn a_disk_full_of_writes() {
    let mut trial = idle_but(&[
        ("disk.util", 100.0),
        ("disk.write_iops", 900.0),
        ("disk.write_await_ms", 20.0),
        ("psi.io.some", 85.0),
    ]);
    let evidence = "0 reads/s and 900 writes/s, disk 100 % busy, some tasks waiting for IO 85 %";
    expect(&trial, Bottleneck::IoWrites, evidence);
    // Always busy, but nobody waits: a device that serves many requests at once.
    set(&mut trial, "psi.io.some", 5.0);
    expect(&trial, Bottleneck::Nothing, "disks 100 % busy");
    // Hardly busy, but all tasks wait: the limit is elsewhere.
    set(&mut trial, "disk.util", 4.0);
    set(&mut trial, "psi.io.full", 80.0);
    let evidence = "all tasks waiting for IO 80 % of the time";
    expect(&trial, Bottleneck::IoWrites, evidence);
}

#[test]
fn an_open_loop_that_keeps_up_is_bound_by_its_rate() {
    let mut trial = idle_but(&[("server.locks.wait_ms_per_s", 2400.0)]);
    trial.generator.backlog_end = Some(0);
    let evidence = "kept up with the arrival rate; CPUs 20 % busy";
    expect(&trial, Bottleneck::Nothing, evidence);
    trial.warnings.push(Warning::Overloaded {
        backlog_end: 900,
        growth: 800,
    });
    expect(&trial, Bottleneck::Locks, "60 %");
}

#[test]
fn an_idle_host_is_bound_by_its_only_user_or_nothing() {
    let mut trial = idle_but(&[]);
    trial.setup.planned.load.threads = 1;
    let evidence = "a single user, which waits for each reply; CPUs 20 %";
    expect(&trial, Bottleneck::Nothing, evidence);
    // Without transactions, there are no shares.
    (trial.transactions.per_s, trial.response_ms) = (None, None);
    let evidence = "CPUs 20 % busy, disks 3 % busy";
    expect(&trial, Bottleneck::Nothing, evidence);
}

/// A server that a quota stops could use more CPU time, on an idle host as well as on a busy one.
#[test]
fn a_quota_that_is_used_up_holds_back() {
    for (idle, busy) in [(80.0, 20), (1.0, 99)] {
        let mut trial = trial(&IDLE);
        trial.setup.planned.topology.node.site.limits.cpus = Some(plan::Spanned {
            value: 0.5,
            span: plan::Span::NOWHERE,
        });
        set(&mut trial, "cpu.idle", idle);
        set(&mut trial, "server.throttled", 97.0);
        let said = format!(
            "exhausted in 97 % of its periods (0.5 CPUs per server), CPUs of the host {busy} % busy"
        );
        expect(&trial, Bottleneck::CpuQuota, &said);
        set(&mut trial, "server.throttled", 40.0);
        assert_ne!(find(&trial).bound, Bottleneck::CpuQuota);
    }
}

/// The page and the rules name the same thresholds.
#[test]
fn docs_verdicts_md_names_the_thresholds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdicts.md");
    let page = std::fs::read_to_string(path).unwrap();
    #[rustfmt::skip]
    let rows = [
        ("a worker ran", SATURATED * 100.0),
        ("CPUs busy", CPU_FULL_PCT),
        ("periods in which a CPU quota is used up", QUOTA_USED_PCT),
        ("waits, as a share of the response time", WAIT_SHARE * 100.0),
        ("disk busy", DISK_FULL_PCT),
        ("some task waits for IO", IO_PRESSURE_PCT),
        ("all tasks wait for IO", IO_STALL_PCT),
        ("CPU share of other processes that is reported", OTHERS_SHARE * 100.0),
        ("CPU share of other processes that is most of it", MOST * 100.0),
    ];
    let table: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("| threshold |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    let expected = rows.map(|(name, percent)| format!("| {name} | {percent:.0} % |"));
    assert_eq!(table, expected);
    for bound in Bottleneck::ALL {
        assert!(page.contains(&format!("**{bound}**")), "{bound}");
    }
}

/// The waits of a server's sessions are sampled, and its host is not visible.
#[test]
fn sampled_waits_name_the_bound_without_a_look_at_the_disks() {
    // 400 transactions of 10 ms per second take 4,000 ms.
    let waits = [
        ("server.locks.wait_ms_per_s", Bottleneck::Locks),
        ("server.locks.latch_wait_ms_per_s", Bottleneck::Latches),
        ("server.io.read_wait_ms_per_s", Bottleneck::IoReads),
        ("server.log.wait_ms_per_s", Bottleneck::IoLog),
    ];
    let sampled = |name: &str, ms_per_s: f64| {
        let mut trial = trial(&waits.map(|(name, _)| (name, 0.0)));
        set(&mut trial, name, ms_per_s);
        trial
    };
    for (name, bound) in waits {
        expect(&sampled(name, 2600.0), bound, "65 % of the response time");
        expect(&sampled(name, 1600.0), Bottleneck::Nothing, "40 %");
    }
}

#[test]
fn a_sampled_wait_counts_more_than_an_estimate() {
    let mut trial = idle_but(&[
        ("disk.util", 95.0),
        ("disk.write_await_ms", 8.0),
        ("disk.read_await_ms", 9.0),
        ("server.cache.misses_per_s", 900.0),
        ("disk.read_iops", 900.0),
        ("server.io.read_wait_ms_per_s", 100.0),
        ("server.log.wait_ms_per_s", 3400.0),
        ("server.log.fsyncs_per_s", 118.0),
    ]);
    commits(&mut trial, 1.0);
    expect(
        &trial,
        Bottleneck::IoLog,
        "commits take 85 % of the response time, 118 fsyncs/s",
    );
}

/// PostgreSQL 15 under `oltp_write_only` with 64 users on 20,000 rows, as monitors on another host
/// see it: 1,281 transactions of 45.97 ms per second.
#[test]
fn users_that_wait_for_the_same_rows_are_bound_by_locks() {
    let mut trial = trial(&[
        ("server.cache.hit_pct", 99.94),
        ("server.cache.misses_per_s", 29.44),
        ("server.io.read_wait_ms_per_s", 0.0),
        ("server.log.fsyncs_per_s", 383.5),
        ("server.log.wait_ms_per_s", 5600.0),
        ("server.locks.deadlocks_per_s", 1.132),
        ("server.locks.latch_wait_ms_per_s", 67.8),
        ("server.locks.wait_ms_per_s", 45_122.0),
    ]);
    trial.measured_s = 15.0;
    trial.transactions.count = 19_221;
    trial.transactions.per_s = Some(Estimate::exact(1281.0));
    trial.response_ms = trial.response_ms.map(|times| mean(times, 45.97));
    expect(
        &trial,
        Bottleneck::Locks,
        "row lock waits take 77 % of the response time",
    );
}

#[test]
fn cpus_that_other_programs_fill_are_theirs() {
    let full = [
        ("cpu.idle", 0.0),
        ("server.cpu", 50.0),
        ("generator.cpu", 14.0),
    ];
    let with = |programs: &[(&str, f64)]| {
        let mut trial = idle_but(&full);
        for (name, value) in programs {
            set(&mut trial, name, *value);
        }
        find(&trial)
    };
    let theirs = with(&[("other[rustc].cpu", 200.0), ("other[cc1].cpu", 92.0)]);
    assert_eq!(theirs.bound, Bottleneck::OtherPrograms);
    assert_eq!(
        theirs.evidence,
        "CPUs 100 % busy; of that time, rustc 50 %, cc1 23 %, servers 12 %, generator 4 %"
    );
    assert_eq!(with(&[("other[cc1].cpu", 20.0)]).bound, Bottleneck::Cpu);
}
