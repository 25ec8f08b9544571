//! What the host is itself: a virtual machine, a control group with limits.

use measure::finding::Level;

use super::asked::Asked;
use measure::bytes::shown_bytes;
use measure::finding::check::{About, Check, Mend, Seen};

/// Where this process runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Container {
    /// The hypervisor or container around it.
    pub(super) virtualisation: Option<String>,
    /// Devices for disks that nobody has put in, for example `sr0`.
    pub(super) empty_drives: Vec<String>,
    /// Limits of control groups: the kernel's name of the limit, and its value.
    pub(super) limits: Vec<(String, String)>,
    /// CPUs for dyno and all that it starts.
    pub(super) cpus: u64,
    pub(super) asked: Option<Asked>,
}

pub(super) const CHECKS: &[Check<Container>] = &[
    Check {
        about: About {
            id: "virtualisation",
            worst: Level::Note,
            why: "A virtual machine gives some per cent less than the same hardware without it, and shares that with others.",
            source: "MySQL on VMware ESX (Sun, VMware) (4.9 % less throughput on average)",
            mend: Mend::Nothing,
        },
        judge: virtualisation,
    },
    Check {
        about: About {
            id: "virtual-devices",
            worst: Level::Note,
            why: "Drives that a virtual machine does not use cost it interrupts.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (floppy, CD-ROM and USB off)",
            mend: Mend::Words("take them out of the machine's configuration"),
        },
        judge: devices,
    },
    Check {
        about: About {
            id: "cgroup-cpu",
            worst: Level::Careful,
            why: "A quota stops all threads of the group for the rest of each period in which it is used up, which shows as stalls in the tail.",
            source: "kernel docs, admin-guide/cgroup-v2 (cpu.max) and scheduler/sched-bwc",
            mend: Mend::Words(
                "run it in a group without a quota, or give it whole CPUs with cpuset",
            ),
        },
        judge: cpu,
    },
    Check {
        about: About {
            id: "server-quota",
            worst: Level::Careful,
            why: "A quota of more CPUs than there are limits nothing.",
            source: "kernel docs, scheduler/sched-bwc (quota over period)",
            mend: Mend::Words("ask for fewer with server.cpus, or leave it out"),
        },
        judge: quota,
    },
    Check {
        about: About {
            id: "cgroup-memory",
            worst: Level::Spoils,
            why: "At its limit a group's processes are stopped to free memory, then killed; the page cache counts, too.",
            source: "kernel docs, admin-guide/cgroup-v2 (memory.max, memory.high)",
            mend: Mend::Words("raise the group's limit, or ask for smaller buffer pools"),
        },
        judge: memory,
    },
    Check {
        about: About {
            id: "cgroup-io",
            worst: Level::Careful,
            why: "A limit of the group is measured in place of the disk.",
            source: "kernel docs, admin-guide/cgroup-v2 (io.max)",
            mend: Mend::Words(
                "run it in a group without the limit, unless that is what you measure",
            ),
        },
        judge: io,
    },
];

fn virtualisation(container: &Container) -> Seen {
    match &container.virtualisation {
        None => Seen::passed("/proc/cpuinfo: no hypervisor, no container"),
        Some(name) => Seen::note(format!("/proc/cpuinfo and /sys/class/dmi: {name}")),
    }
}

fn devices(container: &Container) -> Seen {
    match (&container.virtualisation, container.empty_drives.as_slice()) {
        (Some(_), drives @ [_, ..]) => Seen::note(format!("/sys/block: {}", drives.join(", "))),
        (_, []) => Seen::passed("/sys/block: no CD-ROM or floppy"),
        (None, drives) => Seen::passed(format!("/sys/block: {}, of hardware", drives.join(", "))),
    }
}

impl Container {
    /// Limits whose names begin with one of these.
    fn limits_of(&self, kinds: &[&str]) -> Vec<&(String, String)> {
        let limits = self.limits.iter();
        limits
            .filter(|(name, _)| kinds.iter().any(|kind| name.starts_with(kind)))
            .collect()
    }
}

fn shown(limits: &[&(String, String)]) -> String {
    let limits = limits
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    limits.collect::<Vec<_>>().join(", ")
}

fn cpu(container: &Container) -> Seen {
    match container.limits_of(&["cpu.max", "cpu.cfs"]).as_slice() {
        [] => Seen::passed("/sys/fs/cgroup: no quota of CPU time"),
        limits => Seen::careful(shown(limits)),
    }
}

fn quota(container: &Container) -> Seen {
    let asked = container.asked.map_or(0, |asked| asked.cpu_thousandths);
    if asked == 0 {
        return Seen::passed("server.cpus: no quota of CPU time");
    }
    let seen = format!(
        "server.cpus: {} of {} CPUs",
        asked as f64 / 1000.0,
        container.cpus
    );
    match asked > container.cpus.saturating_mul(1000) {
        true => Seen::careful(seen),
        false => Seen::passed(seen),
    }
}

fn memory(container: &Container) -> Seen {
    let limits = container.limits_of(&["memory."]);
    let lowest = limits
        .iter()
        .filter_map(|(_, value)| value.parse::<u64>().ok());
    let Some(lowest) = lowest.min() else {
        return Seen::passed("/sys/fs/cgroup: no limit of memory");
    };
    let pools = container.asked.map_or(0, |asked| asked.pool_bytes);
    match pools {
        0 => Seen::note(format!("{} ({})", shown(&limits), shown_bytes(lowest))),
        _ => {
            let seen = format!(
                "{} ({}), for buffer pools of {}",
                shown(&limits),
                shown_bytes(lowest),
                shown_bytes(pools)
            );
            match pools >= lowest {
                true => Seen::spoils(seen),
                false => Seen::careful(seen),
            }
        }
    }
}

fn io(container: &Container) -> Seen {
    match container.limits_of(&["io.max", "blkio."]).as_slice() {
        [] => Seen::passed("/sys/fs/cgroup: no limit of reads and writes"),
        limits => Seen::careful(shown(limits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Careful, Note, Passed, Spoils};

    fn levels(container: &Container) -> Vec<Level> {
        let levels = CHECKS.iter().map(|check| (check.judge)(container).level());
        levels.collect()
    }

    #[test]
    fn hardware_without_limits_passes() {
        let drives = Container {
            empty_drives: vec!["sr0".into()],
            ..Container::default()
        };
        assert_eq!(levels(&drives), [Passed; 6]);
    }

    #[test]
    fn a_machine_in_a_group_does_not() {
        let limit = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut container = Container {
            virtualisation: Some("KVM".into()),
            empty_drives: vec!["sr0".into()],
            limits: vec![
                limit("cpu.max", "50000 100000"),
                limit("memory.max of /a", "1073741824"),
                limit("io.max", "254:0 riops=100"),
            ],
            cpus: 2,
            asked: None,
        };
        let found = levels(&container);
        assert_eq!(found, [Note, Note, Careful, Passed, Note, Careful]);
        assert_eq!(
            memory(&container),
            Seen::note("memory.max of /a: 1073741824 (1.0 GiB)")
        );
        let pools = |pool_bytes| {
            Some(Asked {
                pool_bytes,
                ..Asked::default()
            })
        };
        container.asked = pools(1 << 29);
        assert_eq!(memory(&container).level(), Careful);
        container.asked = pools(1 << 30);
        assert_eq!(memory(&container).level(), Spoils);
    }

    #[test]
    fn a_quota_of_more_cpus_than_there_are_limits_nothing() {
        let of = |cpu_thousandths| {
            let asked = Asked {
                cpu_thousandths,
                ..Asked::default()
            };
            quota(&Container {
                cpus: 2,
                asked: Some(asked),
                ..Container::default()
            })
        };
        assert_eq!([0, 2000].map(|asked| of(asked).level()), [Passed; 2]);
        assert_eq!(of(2500), Seen::careful("server.cpus: 2.5 of 2 CPUs"));
    }
}
