//! Virtualization and the limits of control groups.

use measure::finding::Level::{self, Note, Severe, Warning};
use plan::shown_bytes;

use super::check::{About, Check, Observed, Remedy};
use super::machine::Machine;
use super::rule::{at_least, graded};

pub(super) const CHECKS: &[Check<Machine>] = &[
    Check {
        about: About {
            id: "virtualization",
            worst: Note,
            why: "A virtual machine is a few percent slower than the bare hardware, and shares that hardware with others.",
            source: "Sun and VMware paper (4.9 % less throughput on average)",
            remedy: Remedy::Nothing,
        },
        judge: |machine| match &machine.facts.virtualization {
            None => Observed::passed("/proc/cpuinfo: neither a hypervisor nor a container"),
            Some(name) => Observed::note(format!("/proc/cpuinfo and /sys/class/dmi: {name}")),
        },
    },
    Check {
        about: About {
            id: "virtual-devices",
            worst: Note,
            why: "Unused virtual drives cause interrupts.",
            source: "Sun and VMware paper, best practices (floppy, CD-ROM and USB off)",
            remedy: Remedy::Words("remove them from the configuration of the virtual machine"),
        },
        judge: |machine| {
            let drives = machine.facts.removable_drives.join(", ");
            match (&machine.facts.virtualization, drives.is_empty()) {
                (_, true) => Observed::passed("/sys/block: no CD-ROM or floppy drive"),
                (Some(_), _) => Observed::note(format!("/sys/block: {drives}")),
                (None, _) => Observed::passed(format!("/sys/block: {drives} (not virtual)")),
            }
        },
    },
    Check {
        about: About {
            id: "cgroup-cpu",
            worst: Warning,
            why: "When a control group has used up its CPU quota, all its threads stop until the next period, which increases tail latency.",
            source: "kernel docs, admin-guide/cgroup-v2 (cpu.max) and scheduler/sched-bwc",
            remedy: Remedy::Words(
                "run in a control group without a CPU quota, or assign whole CPUs with cpuset",
            ),
        },
        judge: |machine| unlimited(machine, &["cpu.max", "cpu.cfs"], "no CPU quota"),
    },
    Check {
        about: About {
            id: "server-quota",
            worst: Warning,
            why: "A quota of more CPUs than the machine has does not limit the server.",
            source: "kernel docs, scheduler/sched-bwc (quota over period)",
            remedy: Remedy::Words("reduce site.cpus, or remove it"),
        },
        judge: |machine| {
            let required = machine
                .required
                .map_or(0, |required| required.cpu_thousandths);
            if required == 0 {
                return Observed::passed("site.cpus: no CPU quota");
            }
            let cpus = machine.facts.limits.cpus;
            let excess = cpus.map(|cpus| required as f64 / 1000.0 - cpus as f64);
            at_least(excess, &[(0.001, Warning)], "site.cpus", |_| {
                format!("{} of {} CPUs", required as f64 / 1000.0, cpus.unwrap_or(0))
            })
        },
    },
    Check {
        about: About {
            id: "cgroup-memory",
            worst: Severe,
            why: "At the memory limit of a control group, its processes are first throttled and then killed. The page cache counts toward the limit.",
            source: "kernel docs, admin-guide/cgroup-v2 (memory.max, memory.high)",
            remedy: Remedy::Words(
                "raise the limit of the control group, or use smaller buffer pools",
            ),
        },
        judge: memory,
    },
    Check {
        about: About {
            id: "cgroup-io",
            worst: Warning,
            why: "With an I/O limit, the limit is measured instead of the disk.",
            source: "kernel docs, admin-guide/cgroup-v2 (io.max)",
            remedy: Remedy::Words(
                "run in a control group without the limit, unless you intend to measure it",
            ),
        },
        judge: |machine| unlimited(machine, &["io.max", "blkio."], "no I/O limit"),
    },
];

/// The limits of control groups whose names start with one of `kinds`.
fn limits<'a>(machine: &'a Machine, kinds: &[&str]) -> Vec<&'a (String, String)> {
    let limits = machine.facts.limits.groups.iter();
    let of_kind = limits.filter(|(name, _)| kinds.iter().any(|kind| name.starts_with(kind)));
    of_kind.collect()
}

fn shown(limits: &[&(String, String)]) -> String {
    let limits = limits.iter();
    let limits = limits.map(|(name, value)| format!("{name}: {value}"));
    limits.collect::<Vec<_>>().join(", ")
}

fn unlimited(machine: &Machine, kinds: &[&str], none: &str) -> Observed {
    match limits(machine, kinds).as_slice() {
        [] => Observed::passed(format!("/sys/fs/cgroup: {none}")),
        limits => Observed::warning(shown(limits)),
    }
}

fn memory(machine: &Machine) -> Observed {
    let limits = limits(machine, &["memory."]);
    let values = limits.iter();
    let values = values.filter_map(|(_, value)| value.parse::<u64>().ok());
    let Some(lowest) = values.min() else {
        return Observed::passed("/sys/fs/cgroup: no memory limit");
    };
    let observed = format!("{} ({})", shown(&limits), shown_bytes(lowest));
    let pools = machine.required.map_or(0, |required| required.pool_bytes);
    let (level, needed): (Level, _) = match pools {
        0 => (Note, String::new()),
        _ => {
            let level = if pools >= lowest { Severe } else { Warning };
            (level, format!("; buffer pools need {}", shown_bytes(pools)))
        }
    };
    graded(Some(level), format!("{observed}{needed}"))
}

#[cfg(test)]
mod tests {
    use measure::finding::Level::Passed;

    use super::*;
    use crate::doctor::requirements::Requirements;

    fn levels(machine: &Machine) -> Vec<Level> {
        let levels = CHECKS.iter().map(|check| (check.judge)(machine).level());
        levels.collect()
    }

    #[test]
    fn hardware_without_limits_passes() {
        let mut machine = Machine::default();
        machine.facts.removable_drives = vec!["sr0".into()];
        assert_eq!(levels(&machine), [Passed; 6]);
    }

    #[test]
    fn a_virtual_machine_with_limits_does_not() {
        let mut machine = Machine::default();
        machine.facts.virtualization = Some("KVM".into());
        machine.facts.removable_drives = vec!["sr0".into()];
        machine.facts.limits.groups = [
            ("cpu.max", "50000 100000"),
            ("memory.max of /a", "1073741824"),
            ("io.max", "254:0 riops=100"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        let found = levels(&machine);
        assert_eq!(found, [Note, Note, Warning, Passed, Note, Warning]);
        let observed = "memory.max of /a: 1073741824 (1.0 GiB)";
        assert_eq!(memory(&machine), Observed::note(observed));
        for (pool_bytes, level) in [(1 << 29, Warning), (1 << 30, Severe)] {
            machine.required = Some(Requirements {
                pool_bytes,
                ..Requirements::default()
            });
            assert_eq!(memory(&machine).level(), level);
        }
    }

    #[test]
    fn a_quota_of_more_cpus_than_the_machine_has_is_a_finding() {
        let with = |cpu_thousandths| {
            let mut machine = Machine::default();
            machine.facts.limits.cpus = Some(2);
            machine.required = Some(Requirements {
                cpu_thousandths,
                ..Requirements::default()
            });
            (CHECKS[3].judge)(&machine)
        };
        assert_eq!(
            [0, 2000].map(|required| with(required).level()),
            [Passed; 2]
        );
        assert_eq!(with(2500), Observed::warning("site.cpus: 2.5 of 2 CPUs"));
    }
}
