//! Virtualization and the limits of control groups.

use measure::checks;
use measure::finding::Level::Warning;
use measure::finding::check::{Check, Judged, Observed};
use plan::shown_bytes;

use super::machine::Machine;
use super::rule::at_least;

pub(super) const CHECKS: &[Check<Machine>] = checks! { machine:
    "virtualization", Note => virtualization(machine),
        why: "A virtual machine is a few percent slower than the bare hardware, and shares that hardware with others.",
        source: "Sun and VMware paper (4.9 % less throughput on average)",
        remedy: Nothing;
    "virtual-devices", Note => devices(machine),
        why: "Unused virtual drives cause interrupts.",
        source: "Sun and VMware paper, best practices (floppy, CD-ROM and USB off)",
        remedy: Words("remove them from the configuration of the virtual machine");
    "cgroup-cpu", Warning => unlimited(machine, &["cpu.max", "cpu.cfs"], "no CPU quota"),
        why: "When a control group has used up its CPU quota, all its threads stop until the next period, which increases tail latency.",
        source: "kernel docs, admin-guide/cgroup-v2 (cpu.max) and scheduler/sched-bwc",
        remedy: Words("run in a control group without a CPU quota, or assign whole CPUs with cpuset");
    "server-quota", Warning => quota(machine),
        why: "A quota of more CPUs than the machine has does not limit the server.",
        source: "kernel docs, scheduler/sched-bwc (quota over period)",
        remedy: Words("reduce site.cpus, or remove it");
    "cgroup-memory", Severe => memory(machine),
        why: "At the memory limit of a control group, its processes are first throttled and then killed. The page cache counts toward the limit.",
        source: "kernel docs, admin-guide/cgroup-v2 (memory.max, memory.high)",
        remedy: Words("raise the limit of the control group, or use smaller buffer pools");
    "cgroup-io", Warning => unlimited(machine, &["io.max", "blkio."], "no I/O limit"),
        why: "With an I/O limit, the limit is measured instead of the disk.",
        source: "kernel docs, admin-guide/cgroup-v2 (io.max)",
        remedy: Words("run in a control group without the limit, unless you intend to measure it");
};

fn virtualization(machine: &Machine) -> Observed {
    match &machine.facts.virtualization {
        None => Observed::passed("/proc/cpuinfo: neither a hypervisor nor a container"),
        Some(name) => Observed::note(format!("/proc/cpuinfo and /sys/class/dmi: {name}")),
    }
}

fn devices(machine: &Machine) -> Observed {
    let drives = machine.facts.removable_drives.join(", ");
    match &machine.facts.virtualization {
        _ if drives.is_empty() => Observed::passed("/sys/block: no CD-ROM or floppy drive"),
        Some(_) => Observed::note(format!("/sys/block: {drives}")),
        None => Observed::passed(format!("/sys/block: {drives} (not virtual)")),
    }
}

/// The limits of control groups whose names start with one of `kinds`.
fn limits<'a>(machine: &'a Machine, kinds: &[&str]) -> Vec<&'a (String, String)> {
    let limits = machine.facts.limits.groups.iter();
    let of_kind = limits.filter(|(name, _)| kinds.iter().any(|kind| name.starts_with(kind)));
    of_kind.collect()
}

fn shown(limits: &[&(String, String)]) -> String {
    let limits = limits
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    limits.collect::<Vec<_>>().join(", ")
}

fn unlimited(machine: &Machine, kinds: &[&str], none: &str) -> Observed {
    match limits(machine, kinds).as_slice() {
        [] => Observed::passed(format!("/sys/fs/cgroup: {none}")),
        limits => Observed::warning(shown(limits)),
    }
}

fn quota(machine: &Machine) -> Judged {
    let required = machine
        .required
        .map_or(0, |required| required.cpu_thousandths);
    if required == 0 {
        return Ok(Observed::passed("site.cpus: no CPU quota"));
    }
    let quota = required as f64 / 1000.0;
    let cpus = machine.facts.limits.cpus;
    let excess = cpus.map(|cpus| quota - cpus as f64);
    at_least(excess, &[(0.001, Warning)], "site.cpus", |_| {
        format!("{quota} of {} CPUs", cpus.unwrap_or(0))
    })
}

fn memory(machine: &Machine) -> Observed {
    let limits = limits(machine, &["memory."]);
    let values = limits
        .iter()
        .filter_map(|(_, value)| value.parse::<u64>().ok());
    let Some(lowest) = values.min() else {
        return Observed::passed("/sys/fs/cgroup: no memory limit");
    };
    let observed = format!("{} ({})", shown(&limits), shown_bytes(lowest));
    let pools = machine.required.map_or(0, |required| required.pool_bytes);
    let needed = || format!("{observed}; buffer pools need {}", shown_bytes(pools));
    match pools {
        0 => Observed::note(observed),
        _ if pools >= lowest => Observed::severe(needed()),
        _ => Observed::warning(needed()),
    }
}
