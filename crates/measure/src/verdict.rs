//! The bottleneck of a trial, with its evidence; `docs/verdicts.md` gives the reasons for the rules.

mod facts;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::others::MOST_NAMED;
use crate::summary::TrialSummary;
use crate::warning::Warning;
use crate::words::words;

/// A worker that runs for a larger share of the time limits the load.
pub(crate) const SATURATED: f64 = 0.85;
/// CPUs that are busy for more of the time (in %) are saturated.
const CPU_FULL_PCT: f64 = 90.0;
/// A server whose CPU quota is used up in more of its periods (in %) is limited by it.
const QUOTA_USED_PCT: f64 = 50.0;
/// A wait that takes more of the response time (0 to 1) is the bottleneck.
const WAIT_SHARE: f64 = 0.5;
/// A device that is busy for more of the time (in %) may be saturated…
const DISK_FULL_PCT: f64 = 90.0;
/// …and is if some task waits for IO for more of the time (in %).
const IO_PRESSURE_PCT: f64 = 50.0;
/// If all runnable tasks wait for IO for more of the time (in %), IO is the bottleneck, however
/// idle the device: an IO limit may act before requests reach the device.
const IO_STALL_PCT: f64 = 50.0;
/// CPU time of other processes is reported from this share (0 to 1) of the CPUs.
const OTHERS_SHARE: f64 = 0.1;
/// Other processes are the cause from this share (0 to 1) of the busy CPU time.
const MOST: f64 = 0.5;

words! {
    /// What limited a trial.
    Bottleneck {
        Generator = "Generator-bound",
        Cpu = "CPU-bound",
        /// Programs that were not part of the trial used most of the CPUs.
        OtherPrograms = "Bound by other programs",
        CpuQuota = "CPU-bound by the quota",
        IoReads = "IO-bound by reads",
        IoLog = "IO-bound by the log",
        IoWrites = "IO-bound by writes",
        Locks = "Lock-bound",
        /// Sessions waited for the server's locks on its own memory.
        Latches = "Latch-bound",
        Nothing = "No bottleneck identified",
    }
}

/// A verdict with its evidence. Shown as `CPU-bound: CPUs 98 % busy; …`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub bound: Bottleneck,
    /// For example `CPUs 98 % busy; of that time, servers 61 %`.
    pub evidence: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.bound, self.evidence)
    }
}

/// A rule: the evidence if it applies. A rule whose numbers were not measured does not.
type Rule = fn(&TrialSummary) -> Option<String>;

/// The rules, in order of precedence.
const RULES: [(Bottleneck, Rule); 12] = [
    (Bottleneck::Generator, busy_worker),
    (Bottleneck::Generator, busy_generator),
    (Bottleneck::Nothing, rate),
    (Bottleneck::CpuQuota, quota),
    (Bottleneck::OtherPrograms, other_programs),
    (Bottleneck::Cpu, cpu),
    (Bottleneck::Locks, locks),
    (Bottleneck::Latches, latches),
    (Bottleneck::IoReads, page_reads),
    (Bottleneck::IoLog, commits),
    (Bottleneck::IoReads, disk_reads),
    (Bottleneck::IoWrites, full_disk),
];

pub(crate) fn find(trial: &TrialSummary) -> Verdict {
    let mut found = RULES
        .iter()
        .filter_map(|(bound, rule)| Some((*bound, rule(trial)?)));
    let (bound, evidence) = found
        .next()
        .unwrap_or_else(|| (Bottleneck::Nothing, nothing(trial)));
    Verdict { bound, evidence }
}

fn busy_worker(trial: &TrialSummary) -> Option<String> {
    let workers = trial.generator.workers.iter().enumerate();
    let (worker, busy) = workers.max_by(|a, b| a.1.running.total_cmp(&b.1.running))?;
    let running = share(busy.running);
    (busy.running > SATURATED && !trial.setup.in_process)
        .then(|| format!("worker {worker} ran for {running} of the time"))
}

/// CPUs that are saturated by the generator rather than the servers.
fn busy_generator(trial: &TrialSummary) -> Option<String> {
    let busy = trial.full_cpus_pct()?;
    if trial.setup.in_process {
        return None;
    }
    if !trial.sees_servers() {
        // The other process may be the server itself, if its address hides that.
        let others = trial.generator_of_cpu().is_some_and(|ours| ours < MOST);
        let evidence = format!("the CPUs of its host {busy:.0} % busy, and no server runs there");
        return (!others).then_some(evidence);
    }
    let (ours, servers) = (trial.generator_of_cpu()?, trial.servers_of_cpu()?);
    (ours > servers && 1.0 - ours - servers <= MOST).then(|| cpu_evidence(trial, busy))
}

/// An open loop whose servers keep up is limited by its own rate.
fn rate(trial: &TrialSummary) -> Option<String> {
    let users = trial.setup.planned.users();
    let overloaded = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    let kept_up =
        trial.generator.backlog_end? <= users.max(1) && !trial.warnings.iter().any(overloaded);
    let levels = levels(trial);
    kept_up.then(|| format!("the servers kept up with the arrival rate; {levels}"))
}

/// CPU time that a quota denied the servers, however idle the host is.
fn quota(trial: &TrialSummary) -> Option<String> {
    let throttled = trial.metric("server.throttled");
    let throttled = throttled.filter(|percent| *percent > QUOTA_USED_PCT)?;
    let mut text = format!("CPU quota exhausted in {throttled:.0} % of its periods");
    if let Some(cpus) = &trial.setup.planned.topology.node.site.limits.cpus {
        text += &format!(" ({} CPUs per server)", cpus.value);
    }
    if let Some(busy) = trial.cpu_busy_pct() {
        text += &format!(", CPUs of the host {busy:.0} % busy");
    }
    Some(text)
}

/// CPUs that are saturated mostly by programs outside the trial.
fn other_programs(trial: &TrialSummary) -> Option<String> {
    let busy = trial.full_cpus_pct()?;
    // An unseen server may be one of these programs.
    let ours = trial.servers_beside_dyno()? + trial.generator_of_cpu()?;
    let others: f64 = trial.other_programs().iter().map(|(_, share)| share).sum();
    let users: Vec<String> = named(trial).into_iter().chain(own(trial)).collect();
    (others > ours).then(|| busy_of(busy, &users))
}

fn cpu(trial: &TrialSummary) -> Option<String> {
    Some(cpu_evidence(trial, trial.full_cpus_pct()?))
}

/// Which programs used the busy time of the CPUs.
fn cpu_evidence(trial: &TrialSummary, busy: f64) -> String {
    let generator = trial.generator_of_cpu();
    let others = generator.and_then(|generator| others(trial, generator));
    busy_of(busy, &own(trial).chain(others).collect::<Vec<_>>())
}

/// The servers' and the generator's parts of the busy time.
fn own(trial: &TrialSummary) -> impl Iterator<Item = String> {
    let (generator, servers) = match trial.setup.in_process {
        true => ("dyno with the engine", None),
        false => ("generator", trial.servers_of_cpu()),
    };
    let parts = [("servers", servers), (generator, trial.generator_of_cpu())];
    parts
        .into_iter()
        .filter_map(|(who, of_busy)| Some(format!("{who} {}", share(of_busy?))))
}

fn busy_of(busy: f64, users: &[String]) -> String {
    match users.is_empty() {
        true => format!("CPUs {busy:.0} % busy"),
        false => format!("CPUs {busy:.0} % busy; of that time, {}", users.join(", ")),
    }
}

/// The part that neither the servers nor the generator used, if it is worth reporting.
fn others(trial: &TrialSummary, generator: f64) -> Option<String> {
    let servers = trial.servers_beside_dyno();
    let others = 1.0 - servers.unwrap_or(0.0) - generator;
    let who = match servers {
        None => {
            let others = share(others);
            let hidden = "which may include a server that dyno does not see";
            return Some(format!("other processes {others}, {hidden}"));
        }
        Some(_) if others > MOST => "other processes on this host",
        Some(_) if others > OTHERS_SHARE => "other processes and the kernel",
        Some(_) => return None,
    };
    let named = match named(trial).join(", ") {
        none if none.is_empty() => none,
        named => format!(" ({named})"),
    };
    Some(format!("{who} {}{named}", share(others)))
}

/// `rustc 41 %`, `cc1 12 %`: the busiest other programs.
fn named(trial: &TrialSummary) -> Vec<String> {
    let programs = trial.other_programs().into_iter().take(MOST_NAMED);
    programs
        .map(|(name, of_busy)| format!("{name} {}", share(of_busy)))
        .collect()
}

fn locks(trial: &TrialSummary) -> Option<String> {
    let waits = trial.metric("server.locks.waits_per_s");
    let waits = waits.map_or_else(String::new, |waits| format!(" ({} waits/s)", number(waits)));
    Some(long_wait("row lock waits", trial.lock_share()?)? + &waits)
}

fn latches(trial: &TrialSummary) -> Option<String> {
    long_wait("latch waits", trial.latch_share()?)
}

fn long_wait(what: &str, waited: f64) -> Option<String> {
    (waited > WAIT_SHARE).then(|| format!("{what} take {} of the response time", share(waited)))
}

/// Page reads and commits count together; the longer of the two waits names the bottleneck.
fn io_waits(trial: &TrialSummary) -> Option<(f64, f64)> {
    let reads = trial.read_share().unwrap_or(0.0);
    let log = trial.log_share().unwrap_or(0.0);
    (reads + log > WAIT_SHARE).then_some((reads, log))
}

fn page_reads(trial: &TrialSummary) -> Option<String> {
    let (reads, _) = io_waits(trial).filter(|(reads, log)| reads >= log)?;
    let mut text = format!("page reads take {} of the response time", share(reads));
    let misses = trial.metric("server.cache.misses_per_s");
    if let Some((reads, ms)) = misses.zip(trial.metric("disk.read_await_ms")) {
        text += &format!(", {} reads/s at {} ms", number(reads), number(ms));
    }
    if let Some(rate) = trial.metric("server.cache.hit_pct") {
        text += &format!(", cache hit rate {rate:.1} %");
    }
    Some(text + &busy_disks(trial))
}

fn commits(trial: &TrialSummary) -> Option<String> {
    let (_, log) = io_waits(trial)?;
    let mut text = format!("commits take {} of the response time", share(log));
    if let Some(fsyncs) = trial.fsyncs_per_s() {
        text += &format!(", {} fsyncs/s", number(fsyncs));
    }
    if let Some(flush_ms) = trial.metric("disk.flush_await_ms") {
        text += &format!(", {} ms per flush", number(flush_ms));
    }
    Some(text + &busy_disks(trial))
}

fn disk_reads(trial: &TrialSummary) -> Option<String> {
    let [(_, read_ms), (_, write_ms)] = trial.disk_times()?;
    full_disk(trial).filter(|_| read_ms > write_ms)
}

/// IO that transactions wait for without any counter that shows it: for free pages, for space in
/// the log, for an IO limit.
fn full_disk(trial: &TrialSummary) -> Option<String> {
    let more = |name: &str, limit: f64| trial.metric(name).is_some_and(|percent| percent > limit);
    let full = more("disk.util", DISK_FULL_PCT) && more("psi.io.some", IO_PRESSURE_PCT);
    let is_waited_for = full || more("psi.io.full", IO_STALL_PCT);
    let [(reads, _), (writes, _)] = trial.disk_times()?;
    let waits = |name: &str, who: &str| {
        let percent = trial.metric(name);
        percent.map_or_else(String::new, |percent| {
            format!(", {who} waiting for IO {percent:.0} % of the time")
        })
    };
    (trial.sees_servers() && is_waited_for).then(|| {
        format!(
            "{} reads/s and {} writes/s{}{}{}",
            number(reads),
            number(writes),
            busy_disks(trial),
            waits("psi.io.some", "some tasks"),
            waits("psi.io.full", "all tasks"),
        )
    })
}

fn nothing(trial: &TrialSummary) -> String {
    let levels = levels(trial);
    match trial.setup.planned.users() == 1 {
        true => format!("a single user, which waits for each reply; {levels}"),
        false => levels,
    }
}

/// How close each resource was to its limit.
fn levels(trial: &TrialSummary) -> String {
    let list = |parts: &[Option<String>]| {
        let known: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
        (!known.is_empty()).then(|| known.join(", "))
    };
    let cpus = match trial.sees_servers() {
        true => "CPUs",
        false => "the generator's CPUs",
    };
    let busy = |(what, busy): (&str, Option<f64>)| Some(format!("{what} {:.0} % busy", busy?));
    let busy = [
        (cpus, trial.cpu_busy_pct()),
        ("disks", trial.metric("disk.util")),
    ]
    .map(busy);
    let waits = [
        ("row lock waits", trial.lock_share()),
        ("latch waits", trial.latch_share()),
        ("page reads", trial.read_share()),
        ("commits", trial.log_share()),
    ];
    let waits = waits.map(|(what, waited)| Some(format!("{what} {}", share(waited?))));
    let waits = list(&waits).map(|waits| format!("of the response time, {waits}"));
    let levels: Vec<String> = list(&busy).into_iter().chain(waits).collect();
    match levels.is_empty() {
        true => "neither the servers' host nor their counters were monitored".to_owned(),
        false => levels.join("; "),
    }
}

fn busy_disks(trial: &TrialSummary) -> String {
    let util = trial.metric("disk.util");
    util.map_or_else(String::new, |util| format!(", disk {util:.0} % busy"))
}

/// A share from 0 to 1 in percent.
fn share(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Two significant digits, but all digits before the decimal point.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 10.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
