//! Memory: huge pages, swap, overcommit, writeback.

use host::Memory;
use measure::checks;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};
use plan::shown_bytes;

use super::machine::Machine;
use super::rule::{at_least, known};

/// The fraction of memory that the kernel and servers need in addition to buffer pools: one in
/// `RESERVE`.
const RESERVE: u64 = 10;

pub(super) const CHECKS: &[Check<Machine>] = checks! { machine:
    "transparent-huge-pages", Warning => huge_pages(&machine.facts.memory),
        why: "The kernel stalls processes while it assembles huge pages, which increases tail latency, and servers use more memory than they account for.",
        source: "kernel docs, admin-guide/mm/transhuge",
        remedy: Words("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    "swap-used", Warning => at_least(machine.facts.memory.swap_used_bytes, &[(1, Warning)], "/proc/meminfo", |used| {
            format!("swap in use: {}", shown_bytes(used))
        }),
        why: "Swapped-out pages are read back from disk when they are needed again, which may be during the measurement.",
        source: "kernel docs, admin-guide/sysctl/vm",
        remedy: Words("swapoff -a && swapon -a");
    "swappiness", Warning => swappiness(&machine.facts.memory),
        why: "With a high value, the kernel swaps out parts of the buffer pool to cache files that may never be read again.",
        source: "kernel docs, admin-guide/sysctl/vm (swappiness)",
        remedy: Words("sysctl vm.swappiness=1");
    "memory-for-servers", Severe => buffer_pools(machine),
        why: "If the buffer pools do not fit into memory, the servers swap, and read their pages from disk twice.",
        source: "VMware vSAN paper (70-80 % of the memory for the buffer pool)",
        remedy: Words("reduce topology.instances, or the size of the buffer pool in server.config");
    "overcommit", Warning => at_least(machine.facts.memory.overcommit, &[(2, Warning)], "/proc/sys/vm/overcommit_memory", |policy| {
            policy.to_string()
        }),
        why: "With strict overcommit accounting the kernel may refuse a buffer pool that would fit.",
        source: "kernel docs, mm/overcommit-accounting",
        remedy: Words("sysctl vm.overcommit_memory=0");
    "dirty-pages", Note => at_least(machine.facts.memory.dirty_bytes, &[(4 << 30, Note)], "/proc/sys/vm/dirty_ratio", |limit| {
            format!("up to {}", shown_bytes(limit))
        }),
        why: "Buffered writes accumulate up to this limit. At the limit, all writers stall, for seconds if the limit is high.",
        source: "kernel docs, admin-guide/sysctl/vm (dirty_ratio)",
        remedy: Words("sysctl vm.dirty_bytes=1073741824 vm.dirty_background_bytes=268435456");
};

fn huge_pages(memory: &Memory) -> Judged {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    let choice = known(memory.transparent_hugepages.as_deref(), FILE)?;
    Ok(Observed::graded(
        Warning.when(choice == "always"),
        format!("{FILE}: {choice}"),
    ))
}

fn swappiness(memory: &Memory) -> Judged {
    // Above 10, the kernel swaps out memory of servers while it could still drop cached files.
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

fn buffer_pools(machine: &Machine) -> Observed {
    let Some(available) = machine.facts.memory.available_bytes else {
        return Observed::unknown("/proc/meminfo: available memory is unknown");
    };
    let needed = machine.required.map_or(0, |required| required.pool_bytes);
    let free = format!("{} available", shown_bytes(available));
    if needed == 0 {
        return Observed::passed(format!("/proc/meminfo: {free}"));
    }
    let level = match needed > available {
        true => Severe,
        false => Warning.when(needed > available - available / RESERVE),
    };
    let needed = shown_bytes(needed);
    Observed::graded(
        level,
        format!("/proc/meminfo: buffer pools need {needed}, {free}"),
    )
}
