//! CPUs: frequency scaling, power saving, vulnerabilities, NUMA.

use host::{Cpu, PowerSetting};
use measure::finding::Level::{Note, Severe, Warning};

use super::check::{About, Check, Observed, Remedy};
use super::machine::Machine;
use super::rule::{at_least, graded, is_one_of};

pub(super) const CHECKS: &[Check<Machine>] = &[
    Check {
        about: About {
            id: "cpu-governor",
            worst: Severe,
            why: "A governor that follows the load lowers the frequency of a CPU that waits for I/O or locks, so the same work takes longer under a lighter load.",
            source: "kernel docs, admin-guide/pm/cpufreq",
            remedy: Remedy::Words("cpupower frequency-set -g performance"),
        },
        judge: |machine| governor(&machine.facts.cpu),
    },
    Check {
        about: About {
            id: "cpu-turbo",
            worst: Warning,
            why: "How far a CPU exceeds its nominal frequency depends on its temperature and on the number of busy cores, which vary from trial to trial and within a sweep.",
            source: "SanDisk paper (measured with turbo off); kernel docs, admin-guide/pm/intel_pstate",
            remedy: Remedy::Words("echo VALUE > FILE"),
        },
        judge: |machine| match &machine.facts.cpu.turbo {
            None => Observed::unknown(
                "/sys/devices/system/cpu has neither intel_pstate/no_turbo nor cpufreq/boost",
            ),
            Some((false, file)) => Observed::passed(format!("{file}: turbo is off")),
            Some((true, file)) => Observed::warning(format!("{file}: turbo is on"))
                .with("VALUE", u8::from(file.ends_with("no_turbo")))
                .with("FILE", file),
        },
    },
    Check {
        about: About {
            id: "cpu-idle-states",
            worst: Warning,
            why: "A CPU wakes slowly from a deep idle state, so response times under a light load may exceed those under a heavy one.",
            source: "kernel docs, admin-guide/pm/cpuidle",
            remedy: Remedy::Words("cpupower idle-set -D 100"),
        },
        judge: |machine| {
            let states = &machine.facts.cpu.idle;
            let allowed = states.iter().filter(|state| !state.is_disabled);
            match allowed.max_by_key(|state| state.exit_us) {
                None if states.is_empty() => at_least(None, &[], IDLE_STATES, |_| String::new()),
                None => Observed::passed(format!("{IDLE_STATES}: all states are disabled")),
                Some(deepest) => {
                    let exit_us = Some(deepest.exit_us as f64);
                    at_least(exit_us, &[(100.0, Warning)], &deepest.file, |us| {
                        format!("{us} µs to wake from {}", deepest.name)
                    })
                }
            }
        },
    },
    Check {
        about: About {
            id: "power-saving",
            worst: Severe,
            why: "A machine that saves power runs below its maximum frequency, and how far below varies over time.",
            source: "kernel docs, admin-guide/pm/intel_pstate (energy_performance_preference) and userspace-api/sysfs-platform_profile",
            remedy: Remedy::Words("echo performance | tee FILES"),
        },
        judge: |machine| power(&machine.facts.cpu.power),
    },
    Check {
        about: About {
            id: "battery",
            worst: Severe,
            why: "A machine on battery runs slower, and slower still as the battery drains.",
            source: "kernel docs, ABI/testing/sysfs-class-power",
            remedy: Remedy::Words("connect the machine to external power"),
        },
        judge: |machine| {
            let supply = match machine.facts.cpu.on_battery {
                None => "no battery",
                Some(false) => "not on battery",
                Some(true) => "on battery",
            };
            let files = "/sys/class/power_supply/*/online";
            is_one_of(Some(supply), &[("on battery", Severe)], files)
        },
    },
    Check {
        about: About {
            id: "cpu-mitigations",
            worst: Note,
            why: "Mitigations of CPU vulnerabilities slow down system calls, so compare only machines with the same mitigations.",
            source: "kernel docs, admin-guide/hw-vuln",
            remedy: Remedy::Nothing,
        },
        judge: |machine| mitigations(&machine.facts.cpu),
    },
    Check {
        about: About {
            id: "numa-nodes",
            worst: Note,
            why: "Access to memory on another NUMA node is slower, and the placement of the buffer pool changes with each start of the server.",
            source: "SanDisk paper (two nodes); numactl(8)",
            remedy: Remedy::Words(
                "start the server under numactl --interleave=all, or server and dyno under numactl --cpunodebind=0 --membind=0",
            ),
        },
        judge: |machine| {
            let nodes = machine.facts.cpu.numa_nodes.map(|nodes| nodes as f64);
            let file = "/sys/devices/system/node/online";
            at_least(nodes, &[(2.0, Note)], file, |nodes| {
                format!("number of nodes: {nodes}")
            })
        },
    },
    Check {
        about: About {
            id: "numa-balancing",
            worst: Warning,
            why: "The kernel moves pages of the buffer pool between NUMA nodes during the measurement, and causes page faults to decide which pages to move.",
            source: "kernel docs, admin-guide/sysctl/kernel (numa_balancing)",
            remedy: Remedy::Words("sysctl kernel.numa_balancing=0"),
        },
        judge: |machine| {
            let cpu = &machine.facts.cpu;
            let file = "/proc/sys/kernel/numa_balancing";
            let value = cpu.numa_balancing.map(|value| value as f64);
            let thresholds: &[_] = match cpu.numa_nodes {
                Some(1) => &[],
                _ => &[(1.0, Warning)],
            };
            at_least(value, thresholds, file, |value| value.to_string())
        },
    },
];

const IDLE_STATES: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*/latency";

fn governor(cpu: &Cpu) -> Observed {
    const FILE: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    if cpu.governors.is_empty() {
        return Observed::unknown(format!(
            "{FILE}: not available; in a virtual machine, the host controls the frequency"
        ));
    }
    let driver = cpu.driver.as_deref().unwrap_or("unknown driver");
    let observed = format!("{FILE}: {} ({driver})", cpu.governors.join(", "));
    // With these drivers, `powersave` lets the hardware follow the load.
    let follows_load = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"].contains(&driver);
    match cpu.governors.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["performance"] => Observed::passed(observed),
        _ if cpu.governors.iter().any(|name| name == "powersave") && !follows_load => {
            Observed::severe(observed)
        }
        _ => Observed::warning(observed),
    }
}

/// Values are names, or the numbers that the driver uses for them.
fn power(settings: &[PowerSetting]) -> Observed {
    const OFF: [&str; 2] = ["performance", "0"];
    const FULL: [&str; 5] = ["power", "low-power", "quiet", "cool", "255"];
    let is_off = |setting: &&PowerSetting| OFF.contains(&setting.value.as_str());
    let shown = |settings: &[&PowerSetting]| {
        let shown = settings.iter();
        let shown = shown.map(|setting| format!("{}: {}", setting.file, setting.value));
        shown.collect::<Vec<_>>().join(", ")
    };
    let (off, on): (Vec<&PowerSetting>, Vec<&PowerSetting>) = settings.iter().partition(is_off);
    match (off.as_slice(), on.as_slice()) {
        ([], []) => Observed::unknown(
            "neither energy_performance_preference of a CPU nor /sys/firmware/acpi/platform_profile is available",
        ),
        (off, []) => Observed::passed(shown(off)),
        (_, on) => {
            let is_full = on
                .iter()
                .any(|setting| FULL.contains(&setting.value.as_str()));
            let mut files: Vec<&str> = on.iter().map(|setting| &*setting.all_files).collect();
            files.dedup();
            let level = if is_full { Severe } else { Warning };
            Observed::found(level, shown(on)).with("FILES", files.join(" "))
        }
    }
}

fn mitigations(cpu: &Cpu) -> Observed {
    const DIR: &str = "/sys/devices/system/cpu/vulnerabilities";
    let Some(vulnerabilities) = &cpu.vulnerabilities else {
        return Observed::unknown(format!("{DIR}: not available"));
    };
    let states = [("Mitigation", "mitigated"), ("Vulnerable", "not mitigated")];
    let lists = states.iter().filter_map(|(state, words)| {
        let with = vulnerabilities.iter();
        let with = with.filter(|(_, known)| known.starts_with(state));
        let names: Vec<&str> = with.map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{words}: {}", names.join(", ")))
    });
    let lists: Vec<String> = lists.collect();
    let level = (!lists.is_empty()).then_some(Note);
    let shown = match level {
        Some(_) => lists.join("; "),
        None => "not affected".to_owned(),
    };
    graded(level, format!("{DIR}: {shown}"))
}

#[cfg(test)]
mod tests {
    use host::{HostFacts, IdleState};
    use measure::finding::Level::{self, Passed, Unknown};

    use super::*;

    fn judge(id: &str, cpu: Cpu) -> Observed {
        let machine = Machine {
            facts: HostFacts {
                cpu,
                ..HostFacts::default()
            },
            ..Machine::default()
        };
        let check = CHECKS.iter().find(|check| check.about.id == id);
        (check.unwrap().judge)(&machine)
    }

    #[test]
    fn governors() {
        let with = |governors: &[&str], driver: &str| {
            let cpu = Cpu {
                governors: governors.iter().map(ToString::to_string).collect(),
                driver: Some(driver.to_owned()),
                ..Cpu::default()
            };
            judge("cpu-governor", cpu).level()
        };
        assert_eq!(with(&["performance"], "acpi-cpufreq"), Passed);
        assert_eq!(with(&["performance", "schedutil"], "acpi-cpufreq"), Warning);
        assert_eq!(with(&["powersave"], "intel_pstate"), Warning);
        assert_eq!(with(&["powersave"], "acpi-cpufreq"), Severe);
    }

    #[test]
    fn the_remedy_for_turbo_depends_on_the_driver() {
        let with = |on, file: &str| {
            let turbo = Some((on, file.to_owned()));
            let cpu = Cpu {
                turbo,
                ..Cpu::default()
            };
            judge("cpu-turbo", cpu)
        };
        assert_eq!(with(false, "/x/boost").level(), Passed);
        for (file, value) in [("/x/no_turbo", 1), ("/x/boost", 0)] {
            let on = Observed::warning(format!("{file}: turbo is on"));
            assert_eq!(with(true, file), on.with("VALUE", value).with("FILE", file));
        }
    }

    #[test]
    fn only_the_deepest_enabled_idle_state_counts() {
        let state = |name: &str, exit_us, is_disabled| IdleState {
            name: name.to_owned(),
            exit_us,
            is_disabled,
            file: format!("/{name}/latency"),
        };
        let with = |idle: Vec<IdleState>| {
            let cpu = Cpu {
                idle,
                ..Cpu::default()
            };
            judge("cpu-idle-states", cpu)
        };
        let (light, deep) = (state("C1", 2, false), state("C6", 133, false));
        let observed = Observed::warning("/C6/latency: 133 µs to wake from C6");
        assert_eq!(with(vec![light.clone(), deep]), observed);
        let disabled = state("C6", 133, true);
        assert_eq!(with(vec![light, disabled.clone()]).level(), Passed);
        assert_eq!(with(vec![disabled]).level(), Passed);
    }

    fn setting(cpu: &str, value: &str) -> PowerSetting {
        PowerSetting {
            file: format!("/{cpu}/preference"),
            value: value.to_owned(),
            all_files: "/cpu*/preference".into(),
        }
    }

    #[test]
    fn the_remedy_for_power_saving_covers_all_cpus() {
        let profile = PowerSetting {
            file: "/profile".into(),
            value: "balanced".into(),
            all_files: "/profile".into(),
        };
        let settings = [
            setting("cpu0", "performance"),
            setting("cpu1", "default"),
            setting("cpu5", "power"),
            profile,
        ];
        let observed = "/cpu1/preference: default, /cpu5/preference: power, /profile: balanced";
        let files = "/cpu*/preference /profile";
        assert_eq!(
            power(&settings),
            Observed::severe(observed).with("FILES", files)
        );
    }

    #[test]
    fn degrees_of_power_saving() {
        for (value, level) in [
            ("performance", Passed),
            ("0", Passed),
            ("balance_performance", Warning),
            ("balanced-performance", Warning),
            ("200", Warning),
            ("low-power", Severe),
        ] {
            assert_eq!(power(&[setting("cpu0", value)]).level(), level, "{value}");
        }
    }

    #[test]
    fn batteries() {
        let with = |on_battery| {
            let cpu = Cpu {
                on_battery,
                ..Cpu::default()
            };
            judge("battery", cpu).level()
        };
        let levels = [Some(true), Some(false), None].map(with);
        assert_eq!(levels, [Severe, Passed, Passed]);
    }

    #[test]
    fn vulnerabilities_are_named() {
        let with = |states: &[(&str, &str)]| {
            let states = states.iter();
            let states = states.map(|(name, state)| ((*name).to_owned(), (*state).to_owned()));
            mitigations(&Cpu {
                vulnerabilities: Some(states.collect()),
                ..Cpu::default()
            })
        };
        assert_eq!(with(&[("meltdown", "Not affected")]).level(), Passed);
        let both = with(&[("mds", "Mitigation: Clear"), ("srbds", "Vulnerable")]);
        let observed =
            "/sys/devices/system/cpu/vulnerabilities: mitigated: mds; not mitigated: srbds";
        assert_eq!(both, Observed::note(observed));
    }

    #[test]
    fn numa_nodes_and_balancing() {
        let with = |numa_nodes, numa_balancing| -> [Level; 2] {
            let cpu = Cpu {
                numa_nodes,
                numa_balancing,
                ..Cpu::default()
            };
            ["numa-nodes", "numa-balancing"].map(|id| judge(id, cpu.clone()).level())
        };
        assert_eq!(with(None, None), [Unknown, Unknown]);
        assert_eq!(with(Some(1), Some(1)), [Passed, Passed]);
        assert_eq!(with(Some(2), Some(1)), [Note, Warning]);
        assert_eq!(with(Some(2), Some(0)), [Note, Passed]);
    }
}
