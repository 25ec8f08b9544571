//! The CPUs: their topology, frequency scaling, idle states, power settings, and mitigations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::{CPUS, Files, distinct_values, entries, field, line, list_length, name, number};

const SUPPLIES: &str = "/sys/class/power_supply";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cpu {
    pub model: Option<String>,
    /// Number of online hardware threads.
    pub threads: Option<u64>,
    pub cores: Option<u64>,
    pub sockets: Option<u64>,
    pub numa_nodes: Option<u64>,
    /// The `numa_balancing` setting: 0 unless the kernel moves pages between NUMA nodes.
    pub numa_balancing: Option<u64>,
    /// The first CPU's frequency governor.
    pub governor: Option<String>,
    /// The governors of all CPUs, without duplicates.
    pub governors: Vec<String>,
    /// The frequency scaling driver, for example `intel_pstate`.
    pub driver: Option<String>,
    /// Whether the CPU may exceed its nominal frequency, and the file with that setting.
    pub turbo: Option<(bool, String)>,
    /// Idle states of the CPUs, without duplicates.
    pub idle: Vec<IdleState>,
    /// Settings that trade speed for power, without duplicates.
    pub power: Vec<PowerSetting>,
    /// Whether the machine runs on battery; absent if it has none.
    pub on_battery: Option<bool>,
    /// CPU vulnerabilities and their state; absent if the kernel does not report them.
    pub vulnerabilities: Option<Vec<(String, String)>>,
}

impl Cpu {
    pub(crate) fn read(files: &dyn Files, cpuinfo: &str) -> Self {
        let cpus = cpus(files);
        let vulnerabilities: Vec<(String, String)> =
            entries(files, format!("{CPUS}/vulnerabilities"))
                .iter()
                .filter_map(|file| Some((name(file)?.to_owned(), line(files, file)?)))
                .collect();
        let governors = distinct_values(files, &cpus, "cpufreq/scaling_governor");
        let mut governors: Vec<String> = governors.into_iter().map(|(_, name)| name).collect();
        let governor = line(files, format!("{CPUS}/cpu0/cpufreq/scaling_governor"));
        governors.sort();
        let online =
            |part: &str| list_length(&line(files, format!("/sys/devices/system/{part}/online"))?);
        let package = |cpu: &PathBuf| line(files, cpu.join("topology/physical_package_id"));
        let core =
            |cpu: &PathBuf| Some((package(cpu)?, line(files, cpu.join("topology/core_id"))?));
        Self {
            model: field(cpuinfo, "model name", ':').map(str::to_owned),
            threads: online("cpu"),
            cores: distinct(cpus.iter().filter_map(core)),
            sockets: distinct(cpus.iter().filter_map(package)),
            numa_nodes: online("node"),
            numa_balancing: number(files, "/proc/sys/kernel/numa_balancing"),
            governor,
            governors,
            driver: line(files, format!("{CPUS}/cpu0/cpufreq/scaling_driver")),
            turbo: turbo(files),
            idle: idle_states(files, &cpus),
            power: power_settings(files, &cpus),
            on_battery: on_battery(files),
            vulnerabilities: (!vulnerabilities.is_empty()).then_some(vulnerabilities),
        }
    }
}

fn turbo(files: &dyn Files) -> Option<(bool, String)> {
    let switches = [("intel_pstate/no_turbo", 0), ("cpufreq/boost", 1)];
    switches.into_iter().find_map(|(file, on)| {
        let file = format!("{CPUS}/{file}");
        Some((number(files, &file)? == on, file))
    })
}

/// The directories `cpu0`, `cpu1`…, in order.
fn cpus(files: &dyn Files) -> Vec<PathBuf> {
    let number = |path: &Path| name(path)?.strip_prefix("cpu")?.parse::<u32>().ok();
    let dirs = entries(files, CPUS).into_iter();
    let mut cpus: Vec<(u32, PathBuf)> = dirs
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    cpus.sort();
    cpus.into_iter().map(|(_, path)| path).collect()
}

/// The number of distinct values; absent if there are none.
fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> Option<u64> {
    let distinct: BTreeSet<T> = values.collect();
    (!distinct.is_empty()).then_some(distinct.len() as u64)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// For example `C6`.
    pub name: String,
    pub exit_us: u64,
    pub is_disabled: bool,
    /// The file with the exit latency, of the first CPU with this state.
    pub file: String,
}

/// A setting that trades speed for power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerSetting {
    /// The file of the first CPU with this value.
    pub file: String,
    /// A name, or the number that the driver uses for it.
    pub value: String,
    /// The files of all CPUs, as a shell pattern.
    pub all_files: String,
}

/// The idle states of all CPUs, without duplicates. A state may be disabled on some CPUs only.
fn idle_states(files: &dyn Files, cpus: &[PathBuf]) -> Vec<IdleState> {
    let mut states: Vec<IdleState> = Vec::new();
    let dirs = cpus
        .iter()
        .flat_map(|cpu| entries(files, cpu.join("cpuidle")));
    for state in dirs.filter_map(|dir| idle_state(files, &dir)) {
        let key = |state: &IdleState| (state.name.clone(), state.exit_us, state.is_disabled);
        if !states.iter().any(|known| key(known) == key(&state)) {
            states.push(state);
        }
    }
    states
}

fn idle_state(files: &dyn Files, dir: &Path) -> Option<IdleState> {
    let file = dir.join("latency");
    Some(IdleState {
        name: line(files, dir.join("name"))?,
        exit_us: number(files, &file)?,
        is_disabled: number(files, dir.join("disable")).is_some_and(|disabled| disabled != 0),
        file: file.display().to_string(),
    })
}

fn power_settings(files: &dyn Files, cpus: &[PathBuf]) -> Vec<PowerSetting> {
    const PROFILE: &str = "/sys/firmware/acpi/platform_profile";
    const PREFERENCE: &str = "cpufreq/energy_performance_preference";
    let of_cpus = distinct_values(files, cpus, PREFERENCE).into_iter();
    let of_cpus = of_cpus.map(|(file, value)| PowerSetting {
        file: file.display().to_string(),
        value,
        all_files: format!("{CPUS}/cpu*/{PREFERENCE}"),
    });
    let of_machine = line(files, PROFILE).map(|value| PowerSetting {
        file: PROFILE.to_owned(),
        value,
        all_files: PROFILE.to_owned(),
    });
    of_cpus.chain(of_machine).collect()
}

/// Whether all power supplies except batteries are offline; `None` unless the machine has both
/// kinds. Batteries of devices such as mice do not count. A machine without a battery may have an
/// unused charging port.
fn on_battery(files: &dyn Files) -> Option<bool> {
    let supplies = entries(files, SUPPLIES);
    let is = |supply: &Path, file: &str, wanted: &str| {
        line(files, supply.join(file)).is_some_and(|value| value == wanted)
    };
    let own = supplies
        .iter()
        .filter(|supply| !is(supply, "scope", "Device"));
    let (batteries, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        own.partition(|supply| is(supply, "type", "Battery"));
    let online = others
        .iter()
        .filter_map(|supply| number(files, supply.join("online")));
    let online: Vec<u64> = online.collect();
    let is_known = !batteries.is_empty() && !online.is_empty();
    is_known.then(|| online.iter().all(|online| *online == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn two_sockets_of_two_cores_with_two_threads() {
        let machine = TestMachine::of(
            "sys/devices/system/cpu/online 0-7
             sys/devices/system/node/online 0-1
             sys/devices/system/cpu/intel_pstate/no_turbo 0
             sys/devices/system/cpu/cpu0/cpufreq/scaling_driver x",
        );
        for cpu in 0..8 {
            let (package, core) = (cpu / 4, cpu / 2 % 2);
            let governor = ["performance", "powersave"][cpu % 2];
            let files = format!(
                "topology/physical_package_id {package}
                 topology/core_id {core}
                 cpufreq/scaling_governor {governor}"
            );
            machine.write_all(&format!("{CPUS}/cpu{cpu}/"), &files);
        }
        let cpu = Cpu::read(&machine.files, "processor : 0\nmodel name\t: Fast CPU\n");
        assert_eq!(cpu.model.as_deref(), Some("Fast CPU"));
        let counts = [cpu.threads, cpu.cores, cpu.sockets, cpu.numa_nodes];
        assert_eq!(counts, [Some(8), Some(4), Some(2), Some(2)]);
        assert_eq!(cpu.governors, ["performance", "powersave"]);
        assert_eq!(cpu.governor.as_deref(), Some("performance"));
        assert!(cpu.turbo.unwrap().0);
        assert_eq!((cpu.on_battery, cpu.vulnerabilities), (None, None));
    }

    fn cpus() -> Vec<PathBuf> {
        ["cpu0", "cpu1"]
            .map(|cpu| Path::new(CPUS).join(cpu))
            .to_vec()
    }

    /// Writes a file of each of two CPUs.
    fn write(machine: &TestMachine, file: &str, values: [&str; 2]) {
        for (cpu, value) in cpus().iter().zip(values) {
            machine.write(cpu.join(file).to_str().unwrap(), value);
        }
    }

    #[test]
    fn a_value_is_reported_with_the_cpu_that_has_it() {
        let machine = TestMachine::with(&[]);
        let file = "cpufreq/energy_performance_preference";
        write(&machine, file, ["performance\n", "power\n"]);
        let settings = power_settings(&machine.files, &cpus());
        assert_eq!(settings[1].value, "power");
        assert_eq!(settings[1].file, format!("{CPUS}/cpu1/{file}"));
    }

    #[test]
    fn only_the_machines_own_battery_counts() {
        type Supply<'a> = (&'a str, &'a [(&'a str, &'a str)]);
        let on = |supplies: &[Supply<'_>]| {
            let machine = TestMachine::with(&[]);
            for (supply, files) in supplies {
                for (file, value) in *files {
                    machine.write(&format!("{SUPPLIES}/{supply}/{file}"), value);
                }
            }
            on_battery(&machine.files)
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
    fn a_state_that_is_disabled_on_one_cpu_is_reported_for_the_others() {
        let machine = TestMachine::with(&[]);
        write(&machine, "cpuidle/state2/name", ["C6\n", "C6\n"]);
        write(&machine, "cpuidle/state2/latency", ["133\n", "133\n"]);
        write(&machine, "cpuidle/state2/disable", ["1\n", "0\n"]);
        let states = idle_states(&machine.files, &cpus());
        let disabled: Vec<bool> = states.iter().map(|state| state.is_disabled).collect();
        assert_eq!(disabled, [true, false]);
        assert!(states[1].file.ends_with("cpu1/cpuidle/state2/latency"));
        let one = cpus()[0].clone();
        assert_eq!(idle_states(&machine.files, &[one.clone(), one]).len(), 1);
    }
}
