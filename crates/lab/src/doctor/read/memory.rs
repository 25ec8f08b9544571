//! Memory (`/proc/meminfo`, `/proc/sys/vm`).

use crate::doctor::asked::Asked;
use crate::doctor::memory::Memory;
use crate::fingerprint::chosen;
use crate::kernel;
use crate::monitors::memory::field_bytes;
use crate::needs;

pub(in crate::doctor) fn read(asked: Option<Asked>) -> Memory {
    let meminfo = kernel::text("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| field_bytes(&meminfo, name);
    let total_bytes = field("MemTotal");
    let vm = |name: &str| kernel::number(format!("/proc/sys/vm/{name}"));
    let by_ratio = || Some(total_bytes? / 100 * vm("dirty_ratio")?);
    Memory {
        huge_pages: kernel::line("/sys/kernel/mm/transparent_hugepage/enabled").map(chosen),
        total_bytes,
        available_bytes: needs::available_memory().ok(),
        swap_bytes: field("SwapTotal"),
        swap_used_bytes: field("SwapTotal").and_then(|total| total.checked_sub(field("SwapFree")?)),
        swappiness: vm("swappiness"),
        overcommit: vm("overcommit_memory"),
        dirty_bytes: vm("dirty_bytes")
            .filter(|bytes| *bytes > 0)
            .or_else(by_ratio),
        asked,
    }
}
