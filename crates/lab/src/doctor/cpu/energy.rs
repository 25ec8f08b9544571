//! What the CPUs and their host do to save energy.

use measure::finding::Level;

use super::Cpu;
use measure::finding::check::{About, Check, Mend, Seen};

/// A sleep that takes longer to wake from is felt in a response time of a millisecond.
const LONG_WAKE_US: u64 = 100;

/// A state in which a CPU sleeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::doctor) struct Idle {
    pub(in crate::doctor) name: String,
    /// Time to wake from it, in microseconds.
    pub(in crate::doctor) exit_us: u64,
    pub(in crate::doctor) disabled: bool,
    /// The file that tells `exit_us`, of the first CPU that has it so.
    pub(in crate::doctor) file: String,
}

impl Idle {
    /// Whether it is the same on another CPU.
    pub(in crate::doctor) fn is_like(&self, other: &Self) -> bool {
        (&self.name, self.exit_us, self.disabled) == (&other.name, other.exit_us, other.disabled)
    }
}

/// What a driver is told to save energy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::doctor) struct Saving {
    /// The file, of the first CPU that has this value.
    pub(in crate::doctor) file: String,
    pub(in crate::doctor) value: String,
    /// The files to write for all CPUs.
    pub(in crate::doctor) everywhere: String,
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
];

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

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Careful, Passed, Spoils, Unseen};

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
    }

    #[test]
    fn on_its_battery_a_host_is_slower() {
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
}
