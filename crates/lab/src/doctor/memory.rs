//! Memory: huge pages, swap, what is promised and what is written behind.

use measure::finding::Level;

use super::asked::Asked;
use measure::bytes::shown_bytes;
use measure::finding::check::{About, Check, Mend, Seen};

/// What the kernel keeps to itself and servers need besides their buffer pools: one part in so many.
const KEPT_FREE: u64 = 10;
/// From here on, what is written behind comes in waves that last for seconds.
const MUCH_DIRTY_BYTES: u64 = 4 << 30;
/// Below it the kernel takes memory from files before it takes a server's.
const LOW_SWAPPINESS: u64 = 10;

/// What the kernel tells of memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Memory {
    /// When huge pages are used without being asked for.
    pub(super) huge_pages: Option<String>,
    pub(super) total_bytes: Option<u64>,
    /// For new processes, within this process's limits.
    pub(super) available_bytes: Option<u64>,
    pub(super) swap_bytes: Option<u64>,
    pub(super) swap_used_bytes: Option<u64>,
    pub(super) swappiness: Option<u64>,
    /// 0 by experience, 1 always, 2 never more than there is.
    pub(super) overcommit: Option<u64>,
    /// How much may be dirty before writers have to wait.
    pub(super) dirty_bytes: Option<u64>,
    pub(super) asked: Option<Asked>,
}

pub(super) const CHECKS: &[Check<Memory>] = &[
    Check {
        about: About {
            id: "transparent-huge-pages",
            worst: Level::Careful,
            why: "The kernel stops processes to make huge pages of small ones at moments of its own choice, which shows in the tail, and a server grows beyond the memory it counts.",
            source: "kernel docs, admin-guide/mm/transhuge",
            mend: Mend::Words("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        },
        judge: huge_pages,
    },
    Check {
        about: About {
            id: "swap-used",
            worst: Level::Careful,
            why: "What lies in swap is read back from the disk when it is next needed, in the middle of a measurement.",
            source: "kernel docs, admin-guide/sysctl/vm",
            mend: Mend::Words("swapoff -a && swapon -a"),
        },
        judge: swap_used,
    },
    Check {
        about: About {
            id: "swappiness",
            worst: Level::Careful,
            why: "With a high value the kernel swaps out parts of the buffer pool to keep files cached that nobody reads again.",
            source: "MariaDB manual, Configuring Linux for MariaDB (swappiness)",
            mend: Mend::Words("sysctl vm.swappiness=1"),
        },
        judge: swappiness,
    },
    Check {
        about: About {
            id: "memory-for-servers",
            worst: Level::Spoils,
            why: "Servers whose buffer pools do not fit into memory swap, and then their pages are read from the disk twice.",
            source: "MySQL on vSAN 6.7 (VMware) (70-80 % of the memory for the buffer pool)",
            mend: Mend::Words(
                "set server.config.innodb_buffer_pool_size to a smaller size in the study, or topology.instances to fewer",
            ),
        },
        judge: room,
    },
    Check {
        about: About {
            id: "overcommit",
            worst: Level::Careful,
            why: "A kernel that never promises more memory than there is may refuse a buffer pool that would fit.",
            source: "kernel docs, mm/overcommit-accounting",
            mend: Mend::Words("sysctl vm.overcommit_memory=0"),
        },
        judge: overcommit,
    },
    Check {
        about: About {
            id: "dirty-pages",
            worst: Level::Note,
            why: "Writes that do not go past the page cache pile up until this much is dirty, and then every writer waits at once.",
            source: "kernel docs, admin-guide/sysctl/vm (dirty_ratio)",
            mend: Mend::Words(
                "sysctl vm.dirty_bytes=1073741824 vm.dirty_background_bytes=268435456",
            ),
        },
        judge: dirty,
    },
];

fn huge_pages(memory: &Memory) -> Seen {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    match memory.huge_pages.as_deref() {
        None => Seen::unseen(format!("{FILE} is not there")),
        Some("always") => Seen::careful(format!("{FILE}: always")),
        Some(choice) => Seen::passed(format!("{FILE}: {choice}")),
    }
}

fn swap_used(memory: &Memory) -> Seen {
    match (memory.swap_bytes, memory.swap_used_bytes) {
        (Some(0), _) => Seen::passed("/proc/meminfo: no swap"),
        (_, Some(0)) => Seen::passed("/proc/meminfo: nothing is swapped out"),
        (_, Some(used)) => Seen::careful(format!(
            "/proc/meminfo: {} are swapped out",
            shown_bytes(used)
        )),
        _ => Seen::unseen("/proc/meminfo tells nothing of swap"),
    }
}

fn swappiness(memory: &Memory) -> Seen {
    const FILE: &str = "/proc/sys/vm/swappiness";
    match (memory.swappiness, memory.swap_bytes) {
        (None, _) => Seen::unseen(format!("{FILE} is not there")),
        (Some(value), Some(0)) => Seen::passed(format!("{FILE}: {value}, without any swap")),
        (Some(value), _) if value > LOW_SWAPPINESS => Seen::careful(format!("{FILE}: {value}")),
        (Some(value), _) => Seen::passed(format!("{FILE}: {value}")),
    }
}

fn room(memory: &Memory) -> Seen {
    let asked = memory.asked.map_or(0, |asked| asked.pool_bytes);
    let Some(available) = memory.available_bytes else {
        return Seen::unseen("/proc/meminfo tells nothing of available memory");
    };
    if asked == 0 {
        return Seen::passed(format!(
            "{} available, and no server is to be started",
            shown_bytes(available)
        ));
    }
    let seen = format!(
        "buffer pools of {} at once, {} available",
        shown_bytes(asked),
        shown_bytes(available)
    );
    match asked {
        _ if asked > available => Seen::spoils(seen),
        _ if asked > available - available / KEPT_FREE => Seen::careful(seen),
        _ => Seen::passed(seen),
    }
}

fn overcommit(memory: &Memory) -> Seen {
    const FILE: &str = "/proc/sys/vm/overcommit_memory";
    match memory.overcommit {
        None => Seen::unseen(format!("{FILE} is not there")),
        Some(2) => Seen::careful(format!("{FILE}: 2")),
        Some(value) => Seen::passed(format!("{FILE}: {value}")),
    }
}

fn dirty(memory: &Memory) -> Seen {
    let Some(bytes) = memory.dirty_bytes else {
        return Seen::unseen("neither /proc/sys/vm/dirty_bytes nor dirty_ratio is there");
    };
    let seen = format!("/proc/sys/vm/dirty_ratio: up to {}", shown_bytes(bytes));
    match bytes {
        MUCH_DIRTY_BYTES.. => Seen::note(seen),
        _ => Seen::passed(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Careful, Note, Passed, Spoils, Unseen};

    #[test]
    fn huge_pages_are_trouble_where_nobody_asks_for_them() {
        let with = |choice: Option<&str>| {
            let memory = Memory {
                huge_pages: choice.map(str::to_owned),
                ..Memory::default()
            };
            huge_pages(&memory).level()
        };
        assert_eq!(with(Some("always")), Careful);
        assert_eq!(with(Some("madvise")), Passed);
        assert_eq!(with(Some("never")), Passed);
        assert_eq!(with(None), Unseen);
    }

    #[test]
    fn swap() {
        let with = |total, used, value| {
            let memory = Memory {
                swap_bytes: total,
                swap_used_bytes: used,
                swappiness: value,
                ..Memory::default()
            };
            (swap_used(&memory).level(), swappiness(&memory).level())
        };
        assert_eq!(with(Some(0), Some(0), Some(60)), (Passed, Passed));
        assert_eq!(with(Some(1 << 30), Some(0), Some(60)), (Passed, Careful));
        assert_eq!(with(Some(1 << 30), Some(4096), Some(1)), (Careful, Passed));
        assert_eq!(with(None, None, None), (Unseen, Unseen));
    }

    #[test]
    fn pools_must_fit() {
        let with = |pool_bytes, available_bytes| {
            let memory = Memory {
                available_bytes,
                asked: Some(Asked {
                    pool_bytes,
                    ..Asked::default()
                }),
                ..Memory::default()
            };
            room(&memory).level()
        };
        assert_eq!(with(0, Some(100)), Passed);
        assert_eq!(with(80, Some(100)), Passed);
        assert_eq!(with(95, Some(100)), Careful);
        assert_eq!(with(101, Some(100)), Spoils);
        assert_eq!(with(1, None), Unseen);
    }

    #[test]
    fn promises_and_what_is_written_behind() {
        let with = |policy, bytes| {
            let memory = Memory {
                overcommit: policy,
                dirty_bytes: bytes,
                ..Memory::default()
            };
            (overcommit(&memory).level(), dirty(&memory).level())
        };
        assert_eq!(with(Some(2), Some(8 << 30)), (Careful, Note));
        assert_eq!(with(Some(0), Some(1 << 30)), (Passed, Passed));
        assert_eq!(with(None, None), (Unseen, Unseen));
    }
}
