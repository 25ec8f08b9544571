//! Memory, swap, and the kernel's settings for both.

use crate::cgroup;
use crate::files::{Files, line, number, selected, text};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    pub total_bytes: Option<u64>,
    /// Memory that is available without swapping, within the limits of this process's control
    /// groups, in bytes.
    pub available_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    pub swap_used_bytes: Option<u64>,
    /// `vm.swappiness` (0 to 200).
    pub swappiness: Option<u64>,
    /// `vm.overcommit_memory`: 0 heuristic, 1 always, 2 never.
    pub overcommit: Option<u64>,
    /// Limit of dirty page cache at which writers must wait, in bytes.
    pub dirty_bytes: Option<u64>,
    /// When the kernel uses transparent huge pages, for example `madvise`.
    pub transparent_hugepages: Option<String>,
}

impl Memory {
    pub fn read(files: &dyn Files) -> Self {
        let meminfo = text(files, "/proc/meminfo").unwrap_or_default();
        let field = |name: &str| field_bytes(&meminfo, name);
        let vm = |name: &str| number(files, format!("/proc/sys/vm/{name}"));
        let total_bytes = field("MemTotal");
        let swap_bytes = field("SwapTotal");
        let by_ratio = || Some(total_bytes? / 100 * vm("dirty_ratio")?);
        let left = cgroup::memory_left(files).into_iter();
        Self {
            total_bytes,
            available_bytes: field("MemAvailable").map(|bytes| left.fold(bytes, u64::min)),
            swap_bytes,
            swap_used_bytes: swap_bytes.and_then(|total| total.checked_sub(field("SwapFree")?)),
            swappiness: vm("swappiness"),
            overcommit: vm("overcommit_memory"),
            dirty_bytes: vm("dirty_bytes")
                .filter(|bytes| *bytes > 0)
                .or_else(by_ratio),
            transparent_hugepages: line(files, "/sys/kernel/mm/transparent_hugepage/enabled")
                .map(selected),
        }
    }
}

/// The value of a line such as `MemTotal:       24684084 kB`, in bytes.
pub(crate) fn field_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = crate::files::field(meminfo, name, ':')?;
    let kib: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn memory_of_a_machine() {
        let machine = TestMachine::of(
            "proc/meminfo MemTotal: 1000 kB; MemAvailable:   900 kB; SwapTotal: 100 kB; SwapFree: 90 kB
             proc/sys/vm/dirty_bytes 0
             proc/sys/vm/dirty_ratio 20
             sys/kernel/mm/transparent_hugepage/enabled [always] x",
        );
        let memory = Memory::read(&machine.files);
        assert_eq!(memory.available_bytes, Some(900 * 1024));
        assert_eq!(memory.swap_used_bytes, Some(10 * 1024));
        assert_eq!(memory.dirty_bytes, Some(10 * 1024 * 20));
        assert_eq!(memory.transparent_hugepages.as_deref(), Some("always"));
        assert_eq!(memory.swappiness, None);
        machine.write("/proc/sys/vm/dirty_bytes", "4096\n");
        assert_eq!(Memory::read(&machine.files).dirty_bytes, Some(4096));
    }

    #[test]
    fn damaged_text_is_absent() {
        for text in [
            "",
            "Dirty",
            "Dirty: x kB",
            "Dirty: 3",
            "Dirty: 18446744073709551615 kB",
        ] {
            assert_eq!(field_bytes(text, "Dirty"), None, "{text}");
        }
        assert_eq!(field_bytes("Dirty:    3 kB\n", "Dirty"), Some(3072));
    }
}
