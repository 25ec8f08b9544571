//! Virtualization and the limits of control groups.

use measure::finding::Level::Warning;
use measure::finding::check::{Judged, Observed, note, passed, severe, warning};
use plan::shown_bytes;

use super::machine::Machine;
use super::rule::{at_least, joined};

pub(super) fn virtualization(machine: &Machine) -> Observed {
    match &machine.facts.virtualization {
        None => passed("/proc/cpuinfo: neither a hypervisor nor a container"),
        Some(name) => note(format!("/proc/cpuinfo and /sys/class/dmi: {name}")),
    }
}

pub(super) fn devices(machine: &Machine) -> Observed {
    let drives = machine.facts.removable_drives.join(", ");
    match &machine.facts.virtualization {
        _ if drives.is_empty() => passed("/sys/block: no CD-ROM or floppy drive"),
        Some(_) => note(format!("/sys/block: {drives}")),
        None => passed(format!("/sys/block: {drives} (not virtual)")),
    }
}

/// The limits of control groups whose names start with one of `kinds`.
fn limits<'a>(machine: &'a Machine, kinds: &[&str]) -> Vec<&'a (String, String)> {
    let limits = machine.facts.limits.groups.iter();
    let of_kind = limits.filter(|(name, _)| kinds.iter().any(|kind| name.starts_with(kind)));
    of_kind.collect()
}

fn shown(limits: &[&(String, String)]) -> String {
    joined(limits, |(name, value)| format!("{name}: {value}"))
}

pub(super) fn unlimited(machine: &Machine, kinds: &[&str], none: &str) -> Observed {
    match limits(machine, kinds).as_slice() {
        [] => passed(format!("/sys/fs/cgroup: {none}")),
        limits => warning(shown(limits)),
    }
}

pub(super) fn quota(machine: &Machine) -> Judged {
    let required = machine
        .required
        .map_or(0, |required| required.cpu_thousandths);
    if required == 0 {
        return Ok(passed("site.cpus: no CPU quota"));
    }
    let quota = required as f64 / 1000.0;
    let cpus = machine.facts.limits.cpus;
    let excess = cpus.map(|cpus| quota - cpus as f64);
    at_least(excess, &[(0.001, Warning)], "site.cpus", |_| {
        format!("{quota} of {} CPUs", cpus.unwrap_or(0))
    })
}

pub(super) fn memory(machine: &Machine) -> Observed {
    let limits = limits(machine, &["memory."]);
    let values = limits
        .iter()
        .filter_map(|(_, value)| value.parse::<u64>().ok());
    let Some(lowest) = values.min() else {
        return passed("/sys/fs/cgroup: no memory limit");
    };
    let observed = format!("{} ({})", shown(&limits), shown_bytes(lowest));
    let pools = machine.required.map_or(0, |required| required.pool_bytes);
    let needed = || format!("{observed}; buffer pools need {}", shown_bytes(pools));
    match pools {
        0 => note(observed),
        _ if pools >= lowest => severe(needed()),
        _ => warning(needed()),
    }
}
