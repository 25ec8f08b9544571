//! Around this process: a hypervisor, a container, control groups.

use super::{entries, name};
use crate::doctor::asked::Asked;
use crate::doctor::container::Container;
use crate::fingerprint::{limits, virtualisation};
use crate::kernel;

pub(in crate::doctor) fn read(asked: Option<Asked>) -> Container {
    let cpuinfo = kernel::text("/proc/cpuinfo").unwrap_or_default();
    let drives = entries("/sys/block");
    let drives = drives.iter().filter_map(|drive| name(drive));
    let drives = drives.filter(|name| name.starts_with("sr") || name.starts_with("fd"));
    Container {
        virtualisation: virtualisation::detect(&cpuinfo),
        empty_drives: drives.map(str::to_owned).collect(),
        limits: limits::all(),
        cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64,
        asked,
    }
}
