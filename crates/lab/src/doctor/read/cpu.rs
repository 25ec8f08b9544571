//! The CPUs (`/sys/devices/system`).

use std::path::{Path, PathBuf};

use super::{distinct, entries, name};
use crate::doctor::cpu::{Cpu, Idle, Saving};
use crate::fingerprint::cpu as topology;
use crate::kernel;

const CPUS: &str = "/sys/devices/system/cpu";
const SUPPLIES: &str = "/sys/class/power_supply";

pub(in crate::doctor) fn read() -> Cpu {
    let weaknesses = entries(format!("{CPUS}/vulnerabilities"));
    let weaknesses: Vec<(String, String)> = weaknesses
        .iter()
        .filter_map(|file| Some((name(file)?.to_owned(), kernel::line(file)?)))
        .collect();
    let cpus = topology::cpus();
    let governors = of_each(&cpus, "cpufreq/scaling_governor");
    Cpu {
        governors: distinct(
            governors
                .into_iter()
                .map(|(_, governor)| governor)
                .collect(),
        ),
        driver: kernel::line(format!("{CPUS}/cpu0/cpufreq/scaling_driver")),
        turbo: turbo(),
        idle: idle(&cpus),
        saving: saving(&cpus),
        on_battery: on_battery(Path::new(SUPPLIES)),
        weaknesses: (!weaknesses.is_empty()).then_some(weaknesses),
        numa_nodes: topology::numa_nodes(),
        numa_balancing: kernel::number("/proc/sys/kernel/numa_balancing"),
    }
}

/// What the CPUs have in a file: each value once, with the first CPU's file that has it.
fn of_each(cpus: &[PathBuf], file: &str) -> Vec<(PathBuf, String)> {
    let mut values: Vec<(PathBuf, String)> = Vec::new();
    for file in cpus.iter().map(|cpu| cpu.join(file)) {
        if let Some(value) = kernel::line(&file)
            && !values.iter().any(|(_, known)| *known == value)
        {
            values.push((file, value));
        }
    }
    values
}

fn turbo() -> Option<(bool, String)> {
    let files = [
        (format!("{CPUS}/intel_pstate/no_turbo"), 0),
        (format!("{CPUS}/cpufreq/boost"), 1),
    ];
    let mut told = files.into_iter();
    told.find_map(|(file, on)| Some((kernel::number(&file)? == on, file)))
}

/// The states of all CPUs, each once: one may be disabled on some of them only.
fn idle(cpus: &[PathBuf]) -> Vec<Idle> {
    let mut states: Vec<Idle> = Vec::new();
    let dirs = cpus.iter().flat_map(|cpu| entries(cpu.join("cpuidle")));
    for state in dirs.filter_map(|dir| idle_state(&dir)) {
        if !states.iter().any(|known| known.is_like(&state)) {
            states.push(state);
        }
    }
    states
}

fn idle_state(dir: &Path) -> Option<Idle> {
    let file = dir.join("latency");
    Some(Idle {
        name: kernel::line(dir.join("name"))?,
        exit_us: kernel::number(&file)?,
        disabled: kernel::number(dir.join("disable")).is_some_and(|disabled| disabled != 0),
        file: file.display().to_string(),
    })
}

fn saving(cpus: &[PathBuf]) -> Vec<Saving> {
    const PROFILE: &str = "/sys/firmware/acpi/platform_profile";
    const PREFERENCE: &str = "cpufreq/energy_performance_preference";
    let of_cpus = of_each(cpus, PREFERENCE).into_iter();
    let of_cpus = of_cpus.map(|(file, value)| Saving {
        file: file.display().to_string(),
        value,
        everywhere: format!("{CPUS}/cpu*/{PREFERENCE}"),
    });
    let of_host = kernel::line(PROFILE).map(|value| Saving {
        file: PROFILE.to_owned(),
        value,
        everywhere: PROFILE.to_owned(),
    });
    of_cpus.chain(of_host).collect()
}

/// Whether every source of power but batteries is off, where the host has a battery. That of
/// a mouse is none of the host's, and a socket for a charger that a host without battery has
/// may be empty.
fn on_battery(supplies: &Path) -> Option<bool> {
    let supplies = entries(supplies);
    let is = |supply: &Path, file: &str, wanted: &str| {
        kernel::line(supply.join(file)).is_some_and(|value| value == wanted)
    };
    let of_host = supplies
        .iter()
        .filter(|supply| !is(supply, "scope", "Device"));
    let (batteries, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        of_host.partition(|supply| is(supply, "type", "Battery"));
    let mains = others
        .iter()
        .filter_map(|supply| kernel::number(supply.join("online")));
    let mains: Vec<u64> = mains.collect();
    let is_asked = !batteries.is_empty() && !mains.is_empty();
    is_asked.then(|| mains.iter().all(|online| *online == 0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// CPUs of which the second differs from the first.
    fn cpus(root: &Path, file: &str, values: [&str; 2]) -> Vec<PathBuf> {
        let cpus = ["cpu0", "cpu1"].map(|cpu| root.join(cpu));
        for (cpu, value) in cpus.iter().zip(values) {
            let file = cpu.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, value).unwrap();
        }
        cpus.to_vec()
    }

    #[test]
    fn a_value_is_reported_with_the_cpu_that_has_it() {
        let root = tempfile::tempdir().unwrap();
        let file = "cpufreq/energy_performance_preference";
        let cpus = cpus(root.path(), file, ["performance\n", "power\n"]);
        let told = saving(&cpus);
        assert_eq!(told[1].value, "power");
        assert_eq!(told[1].file, cpus[1].join(file).display().to_string());
    }

    #[test]
    fn only_a_battery_of_the_hosts_own_is_run_on() {
        type Supply<'a> = (&'a str, &'a [(&'a str, &'a str)]);
        let on = |supplies: &[Supply<'_>]| {
            let root = tempfile::tempdir().unwrap();
            for (supply, files) in supplies {
                let dir = root.path().join(supply);
                fs::create_dir(&dir).unwrap();
                for (file, value) in *files {
                    fs::write(dir.join(file), format!("{value}\n")).unwrap();
                }
            }
            on_battery(root.path())
        };
        let socket: Supply<'_> = (
            "ucsi-source-psy-1",
            &[("type", "USB"), ("scope", "System"), ("online", "0")],
        );
        let mouse: Supply<'_> = (
            "hidpp_battery_0",
            &[("type", "Battery"), ("scope", "Device"), ("online", "1")],
        );
        let battery: Supply<'_> = ("BAT0", &[("type", "Battery"), ("status", "Full")]);
        let plug: Supply<'_> = ("AC", &[("type", "Mains"), ("online", "1")]);
        let unplugged: Supply<'_> = ("AC", &[("type", "Mains"), ("online", "0")]);
        assert_eq!(on(&[]), None);
        assert_eq!(on(&[socket, mouse]), None);
        assert_eq!(on(&[battery, unplugged, socket, mouse]), Some(true));
        assert_eq!(on(&[battery, plug, socket]), Some(false));
        assert_eq!(on(&[battery, mouse]), None);
    }

    #[test]
    fn a_state_that_is_disabled_on_one_cpu_counts_for_the_others() {
        let root = tempfile::tempdir().unwrap();
        cpus(root.path(), "cpuidle/state2/name", ["C6\n", "C6\n"]);
        cpus(root.path(), "cpuidle/state2/latency", ["133\n", "133\n"]);
        let cpus = cpus(root.path(), "cpuidle/state2/disable", ["1\n", "0\n"]);
        let states = idle(&cpus);
        let disabled: Vec<bool> = states.iter().map(|state| state.disabled).collect();
        assert_eq!(disabled, [true, false]);
        assert!(states[1].file.ends_with("cpu1/cpuidle/state2/latency"));
        assert_eq!(idle(&[cpus[0].clone(), cpus[0].clone()]).len(), 1);
    }
}
