//! Memory: huge pages, swap, overcommit, writeback.

use host::Memory;
use measure::finding::Level::{Severe, Warning};
use measure::finding::check::{Judged, Observed, graded, passed, unknown};
use plan::shown_bytes;

use super::machine::Machine;
use super::rule::{at_least, known};

/// The fraction of memory that the kernel and the servers need besides buffer pools: one in
/// `RESERVE`.
const RESERVE: u64 = 10;

pub(super) fn huge_pages(memory: &Memory) -> Judged {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    let choice = known(memory.transparent_hugepages.as_deref(), FILE)?;
    Ok(graded(
        Warning.when(choice == "always"),
        format!("{FILE}: {choice}"),
    ))
}

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
