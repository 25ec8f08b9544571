//! The CPUs: their clock, their sleep, their nodes.

use measure::finding::Level;

use super::check::{About, Check, Mend, Seen};

/// A sleep that takes longer to wake from is felt in a response time of a millisecond.
const LONG_WAKE_US: u64 = 100;

/// What the kernel tells of the CPUs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Cpu {
    /// The governors of all CPUs, each once.
    pub(super) governors: Vec<String>,
    /// Who sets the clock, for example `intel_pstate`.
    pub(super) driver: Option<String>,
    /// Whether the CPU may run above its nominal clock, and the file that says so.
    pub(super) turbo: Option<(bool, String)>,
    /// The states in which the CPUs may sleep, each once.
    pub(super) idle: Vec<Idle>,
    /// What drivers are told to save energy, each value once.
    pub(super) saving: Vec<Saving>,
    /// Whether the host runs on its battery, where it has one and tells of other sources.
    pub(super) on_battery: Option<bool>,
    /// Weaknesses that the kernel works around, and those that it leaves open; `None`
    /// if it does not tell.
    pub(super) weaknesses: Option<Vec<(String, String)>>,
    pub(super) numa_nodes: Option<u64>,
    pub(super) numa_balancing: Option<u64>,
}

/// A state in which a CPU sleeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Idle {
    pub(super) name: String,
    /// Time to wake from it, in microseconds.
    pub(super) exit_us: u64,
    pub(super) disabled: bool,
    /// The file that tells `exit_us`, of the first CPU that has it so.
    pub(super) file: String,
}

impl Idle {
    /// Whether it is the same on another CPU.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (&self.name, self.exit_us, self.disabled) == (&other.name, other.exit_us, other.disabled)
    }
}

/// What a driver is told to save energy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Saving {
    /// The file, of the first CPU that has this value.
    pub(super) file: String,
    pub(super) value: String,
    /// The files to write for all CPUs.
    pub(super) everywhere: String,
}

impl Saving {
    /// As a name, or as the number that the driver gives it.
    fn is_off(&self) -> bool {
        ["performance", "0"].contains(&self.value.as_str())
    }

    fn is_most(&self) -> bool {
        ["power", "low-power", "quiet", "cool", "255"].contains(&self.value.as_str())
    }
}

pub(super) const CHECKS: &[Check<Cpu>] = &[
    Check {
        about: About {
            id: "cpu-governor",
            worst: Level::Spoils,
            why: "A governor that follows the load lowers the clock of a CPU that waits for IO or locks, so that the same work takes longer under a smaller load.",
            source: "kernel docs, admin-guide/pm/cpufreq",
            mend: Mend::Words("cpupower frequency-set -g performance"),
        },
        judge: governor,
    },
    Check {
        about: About {
            id: "cpu-turbo",
            worst: Level::Careful,
            why: "How far a CPU goes above its nominal clock depends on its temperature and on how many cores are busy, which differs from trial to trial and along a sweep.",
            source: "paper P2 (measured with turbo off); kernel docs, admin-guide/pm/intel_pstate",
            mend: Mend::Words("echo VALUE > FILE"),
        },
        judge: turbo,
    },
    Check {
        about: About {
            id: "cpu-idle-states",
            worst: Level::Careful,
            why: "A CPU that sleeps deeply between requests takes its time to wake, which makes a small load look slower than a large one.",
            source: "kernel docs, admin-guide/pm/cpuidle",
            mend: Mend::Words("cpupower idle-set -D 100"),
        },
        judge: idle,
    },
    Check {
        about: About {
            id: "power-saving",
            worst: Level::Spoils,
            why: "A host that saves energy runs below the clock it could have, and how far below changes with time.",
            source: "kernel docs, admin-guide/pm/intel_pstate (energy_performance_preference) and userspace-api/sysfs-platform_profile",
            mend: Mend::Words("echo performance | tee FILES"),
        },
        judge: saving,
    },
    Check {
        about: About {
            id: "battery",
            worst: Level::Spoils,
            why: "On its battery a host runs slower than it can, and slower still as the battery empties.",
            source: "kernel docs, ABI/testing/sysfs-class-power",
            mend: Mend::Words("plug it in"),
        },
        judge: battery,
    },
    Check {
        about: About {
            id: "cpu-mitigations",
            worst: Level::Note,
            why: "Workarounds for weaknesses of the CPU make each system call dearer, so two hosts compare only with the same ones.",
            source: "kernel docs, admin-guide/hw-vuln",
            mend: Mend::Nothing,
        },
        judge: mitigations,
    },
    Check {
        about: About {
            id: "numa-nodes",
            worst: Level::Note,
            why: "Memory of another node is slower, and where a buffer pool lies is decided anew with each start of a server.",
            source: "paper P2 (two nodes); MySQL manual, innodb_numa_interleave",
            mend: Mend::Words(
                "innodb_numa_interleave = ON in the server's option file, or numactl --cpunodebind=0 --membind=0 for server and dyno",
            ),
        },
        judge: nodes,
    },
    Check {
        about: About {
            id: "numa-balancing",
            worst: Level::Careful,
            why: "The kernel moves pages of the buffer pool from node to node while it is measured, and takes page faults to find out which.",
            source: "kernel docs, admin-guide/sysctl/kernel (numa_balancing)",
            mend: Mend::Words("sysctl kernel.numa_balancing=0"),
        },
        judge: balancing,
    },
];

fn governor(cpu: &Cpu) -> Seen {
    const FILE: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    if cpu.governors.is_empty() {
        return Seen::unseen(format!(
            "{FILE} is not there: whoever owns the hardware sets the clock, as is usual in a virtual machine"
        ));
    }
    let driver = cpu.driver.as_deref().unwrap_or("a driver without a name");
    let seen = format!("{FILE}: {} ({driver})", cpu.governors.join(", "));
    // These drivers call it powersave when the hardware itself follows the load.
    let follows = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"].contains(&driver);
    match cpu.governors.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["performance"] => Seen::passed(seen),
        _ if cpu.governors.iter().any(|name| name == "powersave") && !follows => Seen::spoils(seen),
        _ => Seen::careful(seen),
    }
}

fn turbo(cpu: &Cpu) -> Seen {
    match &cpu.turbo {
        None => Seen::unseen(
            "neither /sys/devices/system/cpu/intel_pstate/no_turbo nor /sys/devices/system/cpu/cpufreq/boost is there",
        ),
        Some((false, file)) => Seen::passed(format!("{file}: turbo is off")),
        Some((true, file)) => Seen::careful(format!("{file}: turbo is on"))
            .with("VALUE", u8::from(file.ends_with("no_turbo")))
            .with("FILE", file),
    }
}

fn idle(cpu: &Cpu) -> Seen {
    const FILES: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*/latency";
    let allowed = cpu.idle.iter().filter(|state| !state.disabled);
    let Some(deepest) = allowed.max_by_key(|state| state.exit_us) else {
        return match cpu.idle.is_empty() {
            true => Seen::unseen(format!("{FILES} is not there")),
            false => Seen::passed(format!("{FILES}: all states are disabled")),
        };
    };
    let seen = format!(
        "{}: {} us to wake from {}",
        deepest.file, deepest.exit_us, deepest.name
    );
    match deepest.exit_us {
        LONG_WAKE_US.. => Seen::careful(seen),
        _ => Seen::passed(seen),
    }
}

fn saving(cpu: &Cpu) -> Seen {
    if cpu.saving.is_empty() {
        return Seen::unseen(
            "neither energy_performance_preference of a CPU nor /sys/firmware/acpi/platform_profile is there",
        );
    }
    let shown = |told: &[&Saving]| {
        let told = told.iter();
        let told = told.map(|saving| format!("{}: {}", saving.file, saving.value));
        told.collect::<Vec<_>>().join(", ")
    };
    let (off, on): (Vec<&Saving>, Vec<&Saving>) =
        cpu.saving.iter().partition(|saving| saving.is_off());
    if on.is_empty() {
        return Seen::passed(shown(&off));
    }
    let level = match on.iter().any(|saving| saving.is_most()) {
        true => Level::Spoils,
        false => Level::Careful,
    };
    let mut files: Vec<&str> = on.iter().map(|saving| saving.everywhere.as_str()).collect();
    files.dedup();
    Seen::found(level, shown(&on)).with("FILES", files.join(" "))
}

fn battery(cpu: &Cpu) -> Seen {
    const FILES: &str = "/sys/class/power_supply/*/online";
    match cpu.on_battery {
        None => Seen::passed(format!("{FILES}: no battery that the host could run on")),
        Some(false) => Seen::passed(format!("{FILES}: the host has power")),
        Some(true) => Seen::spoils(format!("{FILES}: the host runs on its battery")),
    }
}

fn mitigations(cpu: &Cpu) -> Seen {
    const DIR: &str = "/sys/devices/system/cpu/vulnerabilities";
    let Some(weaknesses) = &cpu.weaknesses else {
        return Seen::unseen(format!("{DIR} is not there"));
    };
    let names = |wanted: &str| {
        let with = weaknesses
            .iter()
            .filter(|(_, state)| state.starts_with(wanted));
        with.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    let (around, open) = (names("Mitigation"), names("Vulnerable"));
    match (around.as_slice(), open.as_slice()) {
        ([], []) => Seen::passed(format!("{DIR}: none is worked around")),
        (around, []) => Seen::note(format!("{DIR}: worked around: {}", around.join(", "))),
        ([], open) => Seen::note(format!("{DIR}: left open: {}", open.join(", "))),
        (around, open) => Seen::note(format!(
            "{DIR}: worked around: {}; left open: {}",
            around.join(", "),
            open.join(", ")
        )),
    }
}

fn nodes(cpu: &Cpu) -> Seen {
    const FILE: &str = "/sys/devices/system/node/online";
    match cpu.numa_nodes {
        None => Seen::unseen(format!("{FILE} is not there")),
        Some(1) => Seen::passed(format!("{FILE}: one node")),
        Some(nodes) => Seen::note(format!("{FILE}: {nodes} nodes")),
    }
}

fn balancing(cpu: &Cpu) -> Seen {
    const FILE: &str = "/proc/sys/kernel/numa_balancing";
    match (cpu.numa_balancing, cpu.numa_nodes) {
        (None, _) => Seen::unseen(format!("{FILE} is not there")),
        (Some(0), _) => Seen::passed(format!("{FILE}: 0")),
        (Some(on), Some(1)) => Seen::passed(format!("{FILE}: {on}, with one node")),
        (Some(on), _) => Seen::careful(format!("{FILE}: {on}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Careful, Note, Passed, Spoils, Unseen};

    #[test]
    fn governors() {
        let with = |governors: &[&str], driver: &str| {
            let governors = governors.iter().map(ToString::to_string).collect();
            let cpu = Cpu {
                governors,
                driver: Some(driver.to_owned()),
                ..Cpu::default()
            };
            governor(&cpu).level()
        };
        assert_eq!(with(&["performance"], "acpi-cpufreq"), Passed);
        assert_eq!(with(&["performance", "schedutil"], "acpi-cpufreq"), Careful);
        assert_eq!(with(&["powersave"], "intel_pstate"), Careful);
        assert_eq!(with(&["powersave"], "acpi-cpufreq"), Spoils);
        assert_eq!(governor(&Cpu::default()).level(), Unseen);
    }

    #[test]
    fn turbo_is_switched_off_in_the_drivers_own_way() {
        let with = |on, file: &str| {
            let turbo_is = Some((on, file.to_owned()));
            turbo(&Cpu {
                turbo: turbo_is,
                ..Cpu::default()
            })
        };
        assert_eq!(with(false, "/x/boost").level(), Passed);
        assert_eq!(
            with(true, "/x/no_turbo"),
            Seen::careful("/x/no_turbo: turbo is on")
                .with("VALUE", 1)
                .with("FILE", "/x/no_turbo")
        );
        assert_eq!(
            with(true, "/x/boost"),
            Seen::careful("/x/boost: turbo is on")
                .with("VALUE", 0)
                .with("FILE", "/x/boost")
        );
        assert_eq!(turbo(&Cpu::default()).level(), Unseen);
    }

    #[test]
    fn only_the_deepest_sleep_that_is_allowed_counts() {
        let state = |name: &str, exit_us, disabled| Idle {
            name: name.to_owned(),
            exit_us,
            disabled,
            file: format!("/{name}/latency"),
        };
        let with = |idle_states: Vec<Idle>| {
            idle(&Cpu {
                idle: idle_states,
                ..Cpu::default()
            })
            .level()
        };
        assert_eq!(with(vec![]), Unseen);
        assert_eq!(
            with(vec![state("C1", 2, false), state("C6", 133, false)]),
            Careful
        );
        assert_eq!(
            with(vec![state("C1", 2, false), state("C6", 133, true)]),
            Passed
        );
        assert_eq!(with(vec![state("C6", 133, true)]), Passed);
    }

    fn told(cpu: &str, value: &str) -> Saving {
        Saving {
            file: format!("/{cpu}/preference"),
            value: value.to_owned(),
            everywhere: "/cpu*/preference".into(),
        }
    }

    #[test]
    fn what_saves_energy_is_mended_on_all_cpus() {
        let profile = Saving {
            file: "/profile".into(),
            value: "balanced".into(),
            everywhere: "/profile".into(),
        };
        let cpu = Cpu {
            saving: vec![
                told("cpu0", "performance"),
                told("cpu1", "default"),
                told("cpu5", "power"),
                profile,
            ],
            ..Cpu::default()
        };
        let seen = "/cpu1/preference: default, /cpu5/preference: power, /profile: balanced";
        let files = "/cpu*/preference /profile";
        assert_eq!(saving(&cpu), Seen::spoils(seen).with("FILES", files));
    }

    #[test]
    fn saving_energy() {
        let with = |value: &str| {
            let saving_is = vec![told("cpu0", value)];
            saving(&Cpu {
                saving: saving_is,
                ..Cpu::default()
            })
            .level()
        };
        assert_eq!(with("performance"), Passed);
        assert_eq!(with("0"), Passed);
        assert_eq!(with("balance_performance"), Careful);
        assert_eq!(with("balanced-performance"), Careful);
        assert_eq!(with("200"), Careful);
        assert_eq!(with("low-power"), Spoils);
        assert_eq!(saving(&Cpu::default()).level(), Unseen);
        let with = |on_battery| {
            let cpu = Cpu {
                on_battery,
                ..Cpu::default()
            };
            battery(&cpu).level()
        };
        assert_eq!(with(Some(true)), Spoils);
        assert_eq!([with(Some(false)), with(None)], [Passed, Passed]);
    }

    #[test]
    fn weaknesses_are_named() {
        let told = |states: &[(&str, &str)]| {
            let states = states
                .iter()
                .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()));
            mitigations(&Cpu {
                weaknesses: Some(states.collect()),
                ..Cpu::default()
            })
        };
        assert_eq!(told(&[("meltdown", "Not affected")]).level(), Passed);
        let both = told(&[("mds", "Mitigation: Clear"), ("srbds", "Vulnerable")]);
        assert_eq!(
            both,
            Seen::note(
                "/sys/devices/system/cpu/vulnerabilities: worked around: mds; left open: srbds"
            )
        );
        assert_eq!(mitigations(&Cpu::default()).level(), Unseen);
    }

    #[test]
    fn nodes_and_their_balancing() {
        let with = |numa_nodes, numa_balancing| {
            let cpu = Cpu {
                numa_nodes,
                numa_balancing,
                ..Cpu::default()
            };
            (nodes(&cpu).level(), balancing(&cpu).level())
        };
        assert_eq!(with(None, None), (Unseen, Unseen));
        assert_eq!(with(Some(1), Some(1)), (Passed, Passed));
        assert_eq!(with(Some(2), Some(1)), (Note, Careful));
        assert_eq!(with(Some(2), Some(0)), (Note, Passed));
    }
}
