//! Memory: huge pages, swap, overcommit, writeback.

use measure::finding::Level::{Note, Severe, Warning};
use plan::shown_bytes;

use super::check::{About, Check, Observed, Remedy};
use super::machine::Machine;
use super::rule::{at_least, graded, is_one_of};

/// The fraction of memory that the kernel and servers need in addition to buffer pools: one in
/// `RESERVE`.
const RESERVE: u64 = 10;

pub(super) const CHECKS: &[Check<Machine>] = &[
    Check {
        about: About {
            id: "transparent-huge-pages",
            worst: Warning,
            why: "The kernel stalls processes while it assembles huge pages, which increases tail latency, and servers use more memory than they account for.",
            source: "kernel docs, admin-guide/mm/transhuge",
            remedy: Remedy::Words("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        },
        judge: |machine| {
            let choice = machine.facts.memory.transparent_hugepages.as_deref();
            let file = "/sys/kernel/mm/transparent_hugepage/enabled";
            is_one_of(choice, &[("always", Warning)], file)
        },
    },
    Check {
        about: About {
            id: "swap-used",
            worst: Warning,
            why: "Swapped-out pages are read back from disk when they are needed again, which may be during the measurement.",
            source: "kernel docs, admin-guide/sysctl/vm",
            remedy: Remedy::Words("swapoff -a && swapon -a"),
        },
        judge: |machine| {
            let used = machine.facts.memory.swap_used_bytes;
            let value = used.map(|bytes| bytes as f64);
            at_least(value, &[(1.0, Warning)], "/proc/meminfo", |_| {
                format!("swap in use: {}", shown_bytes(used.unwrap_or(0)))
            })
        },
    },
    Check {
        about: About {
            id: "swappiness",
            worst: Warning,
            why: "With a high value, the kernel swaps out parts of the buffer pool to cache files that may never be read again.",
            source: "kernel docs, admin-guide/sysctl/vm (swappiness)",
            remedy: Remedy::Words("sysctl vm.swappiness=1"),
        },
        judge: |machine| {
            let memory = &machine.facts.memory;
            // Above 10, the kernel swaps out memory of servers while it could still drop cached files.
            let (thresholds, swap): (&[_], _) = match memory.swap_bytes {
                Some(0) => (&[], ", without swap space"),
                _ => (&[(11.0, Warning)], ""),
            };
            let value = memory.swappiness.map(|value| value as f64);
            at_least(value, thresholds, "/proc/sys/vm/swappiness", |value| {
                format!("{value}{swap}")
            })
        },
    },
    Check {
        about: About {
            id: "memory-for-servers",
            worst: Severe,
            why: "If the buffer pools do not fit into memory, the servers swap, and read their pages from disk twice.",
            source: "VMware vSAN paper (70-80 % of the memory for the buffer pool)",
            remedy: Remedy::Words(
                "reduce topology.instances, or the size of the buffer pool in server.config",
            ),
        },
        judge: buffer_pools,
    },
    Check {
        about: About {
            id: "overcommit",
            worst: Warning,
            why: "With strict overcommit accounting the kernel may refuse a buffer pool that would fit.",
            source: "kernel docs, mm/overcommit-accounting",
            remedy: Remedy::Words("sysctl vm.overcommit_memory=0"),
        },
        judge: |machine| {
            let policy = machine.facts.memory.overcommit.map(|policy| policy as f64);
            let file = "/proc/sys/vm/overcommit_memory";
            at_least(policy, &[(2.0, Warning)], file, |policy| policy.to_string())
        },
    },
    Check {
        about: About {
            id: "dirty-pages",
            worst: Note,
            why: "Buffered writes accumulate up to this limit. At the limit, all writers stall, for seconds if the limit is high.",
            source: "kernel docs, admin-guide/sysctl/vm (dirty_ratio)",
            remedy: Remedy::Words(
                "sysctl vm.dirty_bytes=1073741824 vm.dirty_background_bytes=268435456",
            ),
        },
        judge: |machine| {
            let limit = machine.facts.memory.dirty_bytes;
            let gib = limit.map(|bytes| bytes as f64 / (1_u64 << 30) as f64);
            at_least(gib, &[(4.0, Note)], "/proc/sys/vm/dirty_ratio", |_| {
                format!("up to {}", shown_bytes(limit.unwrap_or(0)))
            })
        },
    },
];

fn buffer_pools(machine: &Machine) -> Observed {
    let Some(available) = machine.facts.memory.available_bytes else {
        return Observed::unknown("/proc/meminfo: available memory is unknown");
    };
    let needed = machine.required.map_or(0, |required| required.pool_bytes);
    let free = format!("{} available", shown_bytes(available));
    let (level, observed) = match needed {
        0 => (None, free),
        _ => {
            let level = match needed {
                _ if needed > available => Some(Severe),
                _ if needed > available - available / RESERVE => Some(Warning),
                _ => None,
            };
            let pools = shown_bytes(needed);
            (level, format!("buffer pools need {pools}, {free}"))
        }
    };
    graded(level, format!("/proc/meminfo: {observed}"))
}

#[cfg(test)]
mod tests {
    use host::{HostFacts, Memory};
    use measure::finding::Level::{self, Passed, Unknown};

    use super::*;
    use crate::doctor::requirements::Requirements;

    fn levels<const N: usize>(ids: [&str; N], memory: &Memory) -> [Level; N] {
        let machine = Machine {
            facts: HostFacts {
                memory: memory.clone(),
                ..HostFacts::default()
            },
            ..Machine::default()
        };
        ids.map(|id| {
            let check = CHECKS.iter().find(|check| check.about.id == id);
            (check.unwrap().judge)(&machine).level()
        })
    }

    #[test]
    fn transparent_huge_pages_are_a_finding_only_if_always_enabled() {
        for (choice, level) in [("always", Warning), ("madvise", Passed), ("never", Passed)] {
            let memory = Memory {
                transparent_hugepages: Some(choice.to_owned()),
                ..Memory::default()
            };
            assert_eq!(levels(["transparent-huge-pages"], &memory), [level]);
        }
    }

    #[test]
    fn swap() {
        let with = |swap_bytes, swap_used_bytes, swappiness| {
            let memory = Memory {
                swap_bytes,
                swap_used_bytes,
                swappiness,
                ..Memory::default()
            };
            levels(["swap-used", "swappiness"], &memory)
        };
        assert_eq!(with(Some(0), Some(0), Some(60)), [Passed, Passed]);
        assert_eq!(with(Some(1 << 30), Some(0), Some(60)), [Passed, Warning]);
        assert_eq!(with(Some(1 << 30), Some(4096), Some(10)), [Warning, Passed]);
        assert_eq!(with(None, None, None), [Unknown, Unknown]);
    }

    #[test]
    fn buffer_pools_must_fit() {
        let with = |pool_bytes, available_bytes| {
            let mut machine = Machine::default();
            machine.facts.memory.available_bytes = available_bytes;
            machine.required = Some(Requirements {
                pool_bytes,
                ..Requirements::default()
            });
            buffer_pools(&machine).level()
        };
        assert_eq!(with(0, Some(100)), Passed);
        assert_eq!(with(80, Some(100)), Passed);
        assert_eq!(with(95, Some(100)), Warning);
        assert_eq!(with(101, Some(100)), Severe);
        assert_eq!(with(1, None), Unknown);
    }

    #[test]
    fn overcommit_and_writeback() {
        let with = |overcommit, dirty_bytes| {
            let memory = Memory {
                overcommit,
                dirty_bytes,
                ..Memory::default()
            };
            levels(["overcommit", "dirty-pages"], &memory)
        };
        assert_eq!(with(Some(2), Some(8 << 30)), [Warning, Note]);
        assert_eq!(with(Some(0), Some(1 << 30)), [Passed, Passed]);
        assert_eq!(with(None, None), [Unknown, Unknown]);
    }
}
