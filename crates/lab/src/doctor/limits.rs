//! Limits on this process, which its servers inherit, and memory, compared with what the load
//! requires.

use host::Memory;
use measure::finding::Level::{Severe, Warning};
use measure::finding::check::{Judged, Observed, graded, passed, unknown};
use plan::shown_bytes;

use super::machine::Machine;
use super::rule::{at_least, is_enough, known};
use crate::trial::OWN_FILES;

/// Open files of a server besides connections and tables.
const SERVER_FILES: u64 = 300;
/// Threads of a server besides those of its connections.
const SERVER_THREADS: u64 = 60;
/// Threads of dyno and of the user's other processes.
const OTHER_THREADS: u64 = 200;

pub(super) fn files(machine: &Machine) -> Observed {
    let Some(limit) = machine.facts.limits.open_files else {
        return passed("/proc/self/limits: no limit on open files");
    };
    let needed = machine.required.map(|required| {
        let own = required.load_files + OWN_FILES;
        let server = required.server.users + required.server.tables + SERVER_FILES;
        match required.private_servers {
            0 => own,
            _ => own.max(server),
        }
    });
    is_enough(
        limit,
        needed,
        format!("/proc/self/limits: {limit} open files"),
    )
}

pub(super) fn processes(machine: &Machine) -> Observed {
    let limits = &machine.facts.limits;
    let own = limits.processes.map(|limit| ("/proc/self/limits", limit));
    let groups = limits
        .groups
        .iter()
        .filter(|(name, _)| name.starts_with("pids.max"));
    let groups = groups.filter_map(|(name, limit)| Some((name.as_str(), limit.parse().ok()?)));
    let Some((file, limit)) = own
        .into_iter()
        .chain(groups)
        .min_by_key(|(_, limit)| *limit)
    else {
        return passed("/proc/self/limits: no limit on processes");
    };
    let needed = machine.required.map(|required| {
        let servers = required.private_servers * (required.server.users + SERVER_THREADS);
        servers + OTHER_THREADS
    });
    is_enough(limit, needed, format!("{file}: {limit} processes"))
}

pub(super) fn local_ports(machine: &Machine) -> Judged {
    const FILE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
    let (first, last) = known(machine.facts.limits.ports, FILE)?;
    let count = (last + 1).saturating_sub(first);
    let needed = machine.required.map(|required| required.server.users);
    Ok(is_enough(count, needed, format!("{FILE}: {count} ports")))
}

/// The fraction of memory that the kernel and the servers need besides buffer pools: one in
/// `RESERVE`.
const RESERVE: u64 = 10;

pub(super) fn swappiness(memory: &Memory) -> Judged {
    // Above 10, the kernel swaps out servers' memory while it could still drop cached files.
    let (thresholds, swap): (&[_], _) = match memory.swap_bytes {
        Some(0) => (&[], ", without swap space"),
        _ => (&[(11, Warning)], ""),
    };
    at_least(
        memory.swappiness,
        thresholds,
        "/proc/sys/vm/swappiness",
        |value| format!("{value}{swap}"),
    )
}

pub(super) fn buffer_pools(machine: &Machine) -> Observed {
    let Some(available) = machine.facts.memory.available_bytes else {
        return unknown("/proc/meminfo: available memory is unknown");
    };
    let needed = machine.required.map_or(0, |required| required.pool_bytes);
    let free = format!("{} available", shown_bytes(available));
    if needed == 0 {
        return passed(format!("/proc/meminfo: {free}"));
    }
    let level = match needed > available {
        true => Severe,
        false => Warning.when(needed > available - available / RESERVE),
    };
    let needed = shown_bytes(needed);
    graded(
        level,
        format!("/proc/meminfo: buffer pools need {needed}, {free}"),
    )
}
