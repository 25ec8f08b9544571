//! The rules of the verdict, in order of precedence; `docs/verdicts.md` gives the reasons.

mod facts;

use crate::check::SATURATED;
use crate::others::MOST_NAMED;
use crate::summary::TrialSummary;
use crate::verdict::{Bottleneck, Verdict};
use crate::warning::Warning;
use facts::Facts;

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

/// The bottleneck of a trial, with its evidence, from the first rule that applies. A rule whose
/// numbers were not measured does not apply.
pub(crate) fn find(trial: &TrialSummary) -> Verdict {
    let facts = Facts::of(trial);
    let rules = [
        generator,
        rate,
        quota,
        other_programs,
        cpu,
        locks,
        latches,
        io_waits,
        full_disk,
    ];
    rules
        .iter()
        .find_map(|rule| rule(&facts))
        .unwrap_or_else(|| nothing(&facts))
}

fn verdict(bound: Bottleneck, evidence: String) -> Option<Verdict> {
    Some(Verdict { bound, evidence })
}

/// A worker that is always busy, or CPUs that are saturated by anything but the servers.
fn generator(facts: &Facts<'_>) -> Option<Verdict> {
    if facts.trial.setup.in_process {
        return None;
    }
    let workers = facts.trial.generator.workers.iter().enumerate();
    let busiest = workers.max_by(|a, b| a.1.running.total_cmp(&b.1.running));
    if let Some((worker, busy)) = busiest.filter(|(_, busy)| busy.running > SATURATED) {
        let evidence = format!(
            "worker {worker} ran for {} of the time",
            share(busy.running)
        );
        return verdict(Bottleneck::Generator, evidence);
    }
    let busy = facts.cpu_busy_pct().filter(|busy| *busy > CPU_FULL_PCT)?;
    if !facts.sees_servers {
        // The other process may be the server itself, if its address hides that.
        let others = facts.generator_of_cpu().is_some_and(|ours| ours < MOST);
        let evidence = format!("the CPUs of its host {busy:.0} % busy, and no server runs there");
        return verdict(Bottleneck::Generator, evidence).filter(|_| !others);
    }
    let (ours, servers) = (facts.generator_of_cpu()?, facts.servers_of_cpu()?);
    let is_most = ours > servers && 1.0 - ours - servers <= MOST;
    verdict(Bottleneck::Generator, cpu_evidence(facts, busy)).filter(|_| is_most)
}

/// An open loop whose servers keep up is limited by its own rate.
fn rate(facts: &Facts<'_>) -> Option<Verdict> {
    let trial = facts.trial;
    let users = trial.setup.planned.users();
    let overloaded = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    let kept_up =
        trial.generator.backlog_end? <= users.max(1) && !trial.warnings.iter().any(overloaded);
    let levels = levels(facts);
    let evidence = format!("the servers kept up with the arrival rate; {levels}");
    verdict(Bottleneck::Nothing, evidence).filter(|_| kept_up)
}

/// CPU time that a quota denied the servers, however idle the host is.
fn quota(facts: &Facts<'_>) -> Option<Verdict> {
    let throttled = facts.metric("server.throttled");
    let throttled = throttled.filter(|percent| *percent > QUOTA_USED_PCT)?;
    let mut text = format!("CPU quota exhausted in {throttled:.0} % of its periods");
    if let Some(cpus) = &facts.trial.setup.planned.topology.node.site.limits.cpus {
        text += &format!(" ({} CPUs per server)", cpus.value);
    }
    if let Some(busy) = facts.cpu_busy_pct() {
        text += &format!(", CPUs of the host {busy:.0} % busy");
    }
    verdict(Bottleneck::CpuQuota, text)
}

/// CPUs that are saturated mostly by programs outside the trial.
fn other_programs(facts: &Facts<'_>) -> Option<Verdict> {
    let busy = facts.cpu_busy_pct().filter(|busy| *busy > CPU_FULL_PCT)?;
    let servers = match facts.trial.setup.in_process {
        true => 0.0,
        // An unseen server may be one of these programs.
        false => facts.servers_of_cpu()?,
    };
    let ours = servers + facts.generator_of_cpu()?;
    let others: f64 = facts.other_programs().iter().map(|(_, share)| share).sum();
    let users: Vec<String> = named(facts).into_iter().chain(own(facts)).collect();
    verdict(Bottleneck::OtherPrograms, busy_of(busy, &users)).filter(|_| others > ours)
}

fn cpu(facts: &Facts<'_>) -> Option<Verdict> {
    let busy = facts.cpu_busy_pct().filter(|busy| *busy > CPU_FULL_PCT)?;
    verdict(Bottleneck::Cpu, cpu_evidence(facts, busy))
}

/// Which programs used the busy time of the CPUs.
fn cpu_evidence(facts: &Facts<'_>, busy: f64) -> String {
    let servers = match facts.trial.setup.in_process {
        true => Some(0.0),
        false => facts.servers_of_cpu(),
    };
    let generator = facts.generator_of_cpu();
    let others = generator.and_then(|generator| others(facts, servers, generator));
    busy_of(busy, &own(facts).chain(others).collect::<Vec<_>>())
}

/// The servers' and the generator's parts of the busy time.
fn own(facts: &Facts<'_>) -> impl Iterator<Item = String> {
    let (generator, servers) = match facts.trial.setup.in_process {
        true => ("dyno with the engine", None),
        false => ("generator", facts.servers_of_cpu()),
    };
    let servers = servers.map(|servers| format!("servers {}", share(servers)));
    let ours = facts.generator_of_cpu();
    let ours = ours.map(|ours| format!("{generator} {}", share(ours)));
    servers.into_iter().chain(ours)
}

fn busy_of(busy: f64, users: &[String]) -> String {
    match users.is_empty() {
        true => format!("CPUs {busy:.0} % busy"),
        false => format!("CPUs {busy:.0} % busy; of that time, {}", users.join(", ")),
    }
}

/// The part that neither the servers nor the generator used, if it is worth reporting.
fn others(facts: &Facts<'_>, servers: Option<f64>, generator: f64) -> Option<String> {
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
    let named = match named(facts).join(", ") {
        none if none.is_empty() => none,
        named => format!(" ({named})"),
    };
    Some(format!("{who} {}{named}", share(others)))
}

/// `rustc 41 %`, `cc1 12 %`: the busiest other programs.
fn named(facts: &Facts<'_>) -> Vec<String> {
    let programs = facts.other_programs().into_iter().take(MOST_NAMED);
    programs
        .map(|(name, of_busy)| format!("{name} {}", share(of_busy)))
        .collect()
}

/// Row lock waits, as a share of the time of all transactions.
fn locks(facts: &Facts<'_>) -> Option<Verdict> {
    let waited = share(facts.lock_share().filter(|waited| *waited > WAIT_SHARE)?);
    let waits = facts.metric("server.locks.waits_per_s");
    let waits = waits.map_or_else(String::new, |waits| format!(" ({} waits/s)", number(waits)));
    let evidence = format!("row lock waits take {waited} of the response time{waits}");
    verdict(Bottleneck::Locks, evidence)
}

/// Sessions that contend for the server's own locks.
fn latches(facts: &Facts<'_>) -> Option<Verdict> {
    let waited = share(facts.latch_share().filter(|waited| *waited > WAIT_SHARE)?);
    let evidence = format!("latch waits take {waited} of the response time");
    verdict(Bottleneck::Latches, evidence)
}

/// Page reads and commits together; the longer of the two waits names the bottleneck.
fn io_waits(facts: &Facts<'_>) -> Option<Verdict> {
    let reads = facts.read_share().unwrap_or(0.0);
    let log = facts.log_share().unwrap_or(0.0);
    match reads + log > WAIT_SHARE {
        false => None,
        true if reads >= log => verdict(Bottleneck::IoReads, reads_evidence(facts, reads)),
        true => verdict(Bottleneck::IoLog, log_evidence(facts, log)),
    }
}

fn reads_evidence(facts: &Facts<'_>, reads: f64) -> String {
    let mut text = format!("page reads take {} of the response time", share(reads));
    let misses = facts.metric("server.cache.misses_per_s");
    if let Some((reads, ms)) = misses.zip(facts.metric("disk.read_await_ms")) {
        text += &format!(", {} reads/s at {} ms", number(reads), number(ms));
    }
    if let Some(rate) = facts.metric("server.cache.hit_pct") {
        text += &format!(", cache hit rate {rate:.1} %");
    }
    text + &busy_disks(facts)
}

fn log_evidence(facts: &Facts<'_>, log: f64) -> String {
    let mut text = format!("commits take {} of the response time", share(log));
    if let Some(fsyncs) = facts.fsyncs_per_s() {
        text += &format!(", {} fsyncs/s", number(fsyncs));
    }
    if let Some(flush_ms) = facts.metric("disk.flush_await_ms") {
        text += &format!(", {} ms per flush", number(flush_ms));
    }
    text + &busy_disks(facts)
}

/// IO that transactions wait for without any counter that shows it: for free pages, for space in
/// the log, for an IO limit.
fn full_disk(facts: &Facts<'_>) -> Option<Verdict> {
    if !facts.sees_servers {
        return None;
    }
    let more = |name: &str, limit: f64| facts.metric(name).is_some_and(|percent| percent > limit);
    let full = more("disk.util", DISK_FULL_PCT) && more("psi.io.some", IO_PRESSURE_PCT);
    if !full && !more("psi.io.full", IO_STALL_PCT) {
        return None;
    }
    let time = |what: &str| {
        let count = facts.metric(&format!("disk.{what}_iops"))?;
        let await_ms = facts.metric(&format!("disk.{what}_await_ms"));
        Some((count, count * await_ms.unwrap_or(0.0)))
    };
    let ((reads, read_ms), (writes, write_ms)) = (time("read")?, time("write")?);
    let bound = match read_ms > write_ms {
        true => Bottleneck::IoReads,
        false => Bottleneck::IoWrites,
    };
    let waits = |name: &str, who: &str| {
        let percent = facts.metric(name);
        percent.map_or_else(String::new, |percent| {
            format!(", {who} waiting for IO {percent:.0} % of the time")
        })
    };
    let evidence = format!(
        "{} reads/s and {} writes/s{}{}{}",
        number(reads),
        number(writes),
        busy_disks(facts),
        waits("psi.io.some", "some tasks"),
        waits("psi.io.full", "all tasks"),
    );
    verdict(bound, evidence)
}

fn nothing(facts: &Facts<'_>) -> Verdict {
    let levels = levels(facts);
    let evidence = match facts.trial.setup.planned.users() == 1 {
        true => format!("a single user, which waits for each reply; {levels}"),
        false => levels,
    };
    Verdict {
        bound: Bottleneck::Nothing,
        evidence,
    }
}

/// How close each resource was to its limit.
fn levels(facts: &Facts<'_>) -> String {
    let whose = if facts.sees_servers {
        ""
    } else {
        "the generator's "
    };
    let busy = [
        (format!("{whose}CPUs"), facts.cpu_busy_pct()),
        ("disks".to_owned(), facts.metric("disk.util")),
    ];
    let busy = busy.map(|(what, busy)| Some(format!("{what} {:.0} % busy", busy?)));
    let waits = [
        ("row lock waits", facts.lock_share()),
        ("latch waits", facts.latch_share()),
        ("page reads", facts.read_share()),
        ("commits", facts.log_share()),
    ];
    let waits = waits.map(|(what, waited)| Some(format!("{what} {}", share(waited?))));
    let waits: Vec<String> = waits.into_iter().flatten().collect();
    let waits = (!waits.is_empty()).then(|| waits.join(", "));
    let busy: Vec<String> = busy.into_iter().flatten().collect();
    let busy = (!busy.is_empty()).then(|| busy.join(", "));
    let waits = waits.map(|waits| format!("of the response time, {waits}"));
    match (busy, waits) {
        (None, None) => "neither the servers' host nor their counters were monitored".to_owned(),
        (busy, waits) => busy.into_iter().chain(waits).collect::<Vec<_>>().join("; "),
    }
}

fn busy_disks(facts: &Facts<'_>) -> String {
    let util = facts.metric("disk.util");
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
#[path = "bottleneck_tests.rs"]
mod tests;
