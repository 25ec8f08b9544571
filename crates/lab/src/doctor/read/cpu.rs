//! The CPUs (`/sys/devices/system`).

use std::path::Path;

use super::{distinct, entries, name};
use crate::doctor::cpu::{Cpu, Idle};
use crate::fingerprint::cpu as topology;
use crate::kernel;

const CPUS: &str = "/sys/devices/system/cpu";

pub(in crate::doctor) fn read() -> Cpu {
    let weaknesses = entries(format!("{CPUS}/vulnerabilities"));
    let weaknesses: Vec<(String, String)> = weaknesses
        .iter()
        .filter_map(|file| Some((name(file)?.to_owned(), kernel::line(file)?)))
        .collect();
    Cpu {
        governors: of_each("cpufreq/scaling_governor"),
        driver: kernel::line(format!("{CPUS}/cpu0/cpufreq/scaling_driver")),
        turbo: turbo(),
        idle: idle(),
        saving: saving(),
        on_battery: on_battery(),
        weaknesses: (!weaknesses.is_empty()).then_some(weaknesses),
        numa_nodes: topology::numa_nodes(),
        numa_balancing: kernel::number("/proc/sys/kernel/numa_balancing"),
    }
}

/// What the CPUs have in a file, each value once.
fn of_each(file: &str) -> Vec<String> {
    let cpus = topology::cpus();
    let values = cpus.iter().filter_map(|cpu| kernel::line(cpu.join(file)));
    distinct(values.collect())
}

fn turbo() -> Option<(bool, String)> {
    let files = [
        (format!("{CPUS}/intel_pstate/no_turbo"), 0),
        (format!("{CPUS}/cpufreq/boost"), 1),
    ];
    let mut told = files.into_iter();
    told.find_map(|(file, on)| Some((kernel::number(&file)? == on, file)))
}

fn idle() -> Vec<Idle> {
    let states = entries(format!("{CPUS}/cpu0/cpuidle"));
    let state = |dir: &Path| {
        Some(Idle {
            name: kernel::line(dir.join("name"))?,
            exit_us: kernel::number(dir.join("latency"))?,
            disabled: kernel::number(dir.join("disable")).is_some_and(|disabled| disabled != 0),
        })
    };
    states.iter().filter_map(|dir| state(dir)).collect()
}

fn saving() -> Vec<(String, String)> {
    const PROFILE: &str = "/sys/firmware/acpi/platform_profile";
    let preference = "cpufreq/energy_performance_preference";
    let of_cpus = of_each(preference).into_iter();
    let of_cpus = of_cpus.map(|value| (format!("{CPUS}/cpu0/{preference}"), value));
    let of_host = kernel::line(PROFILE).map(|value| (PROFILE.to_owned(), value));
    of_cpus.chain(of_host).collect()
}

/// Whether every source of power but batteries is off, where there are some.
fn on_battery() -> Option<bool> {
    let supplies = entries("/sys/class/power_supply");
    let mains = supplies
        .iter()
        .filter_map(|supply| kernel::number(supply.join("online")));
    let mains: Vec<u64> = mains.collect();
    (!mains.is_empty()).then(|| mains.iter().all(|online| *online == 0))
}
