//! The CPUs (`/sys/devices/system`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::kernel;

const CPUS: &str = "/sys/devices/system/cpu";

/// CPUs that are on.
pub(crate) fn threads() -> Option<u64> {
    kernel::list_length(&kernel::line(format!("{CPUS}/online"))?)
}

/// Cores, however many threads each has.
pub(super) fn cores() -> Option<u64> {
    let core = |cpu: &Path| {
        let topology = cpu.join("topology");
        let package = kernel::line(topology.join("physical_package_id"))?;
        Some((package, kernel::line(topology.join("core_id"))?))
    };
    count(cpus().iter().filter_map(|cpu| core(cpu)))
}

/// Chips.
pub(super) fn sockets() -> Option<u64> {
    let package = |cpu: &PathBuf| kernel::line(cpu.join("topology/physical_package_id"));
    count(cpus().iter().filter_map(package))
}

/// Parts of the memory that are nearer to some CPUs than to others.
pub(crate) fn numa_nodes() -> Option<u64> {
    kernel::list_length(&kernel::line("/sys/devices/system/node/online")?)
}

/// Whether the CPU may run above its nominal clock, where its driver tells.
pub(super) fn turbo() -> Option<bool> {
    let intel = kernel::number(format!("{CPUS}/intel_pstate/no_turbo")).map(|off| off == 0);
    intel.or_else(|| kernel::number(format!("{CPUS}/cpufreq/boost")).map(|on| on != 0))
}

/// The directories `cpu0`, `cpu1`…, in order.
pub(crate) fn cpus() -> Vec<PathBuf> {
    let entries = fs::read_dir(CPUS).into_iter().flatten().flatten();
    let number = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("cpu")?.parse::<u32>().ok()
    };
    let paths = entries.map(|entry| entry.path());
    let mut cpus: Vec<(u32, PathBuf)> = paths
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    cpus.sort();
    cpus.into_iter().map(|(_, path)| path).collect()
}

/// How many different ones there are; `None` of nothing.
fn count<T: Ord>(things: impl Iterator<Item = T>) -> Option<u64> {
    let different: BTreeSet<T> = things.collect();
    (!different.is_empty()).then_some(different.len() as u64)
}
