//! The CPUs: their topology, frequency scaling, and mitigations.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::{CPUS, Files, distinct_values, entries, field, line, list_length, name, number};
use crate::power::{self, IdleState, PowerSetting};

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
            idle: power::idle_states(files, &cpus),
            power: power::power_settings(files, &cpus),
            on_battery: power::on_battery(files),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::TestMachine;

    #[test]
    fn two_sockets_of_two_cores_with_two_threads() {
        let machine = TestMachine::with(&[
            (&format!("{CPUS}/online"), "0-7\n"),
            ("/sys/devices/system/node/online", "0-1\n"),
            (&format!("{CPUS}/intel_pstate/no_turbo"), "0\n"),
            (&format!("{CPUS}/cpu0/cpufreq/scaling_driver"), "x\n"),
        ]);
        for cpu in 0..8 {
            let topology = format!("{CPUS}/cpu{cpu}/topology");
            let (package, core) = (cpu / 4, cpu / 2 % 2);
            machine.write(
                &format!("{topology}/physical_package_id"),
                &package.to_string(),
            );
            machine.write(&format!("{topology}/core_id"), &core.to_string());
            let governor = ["performance\n", "powersave\n"][cpu % 2];
            machine.write(
                &format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor"),
                governor,
            );
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

    #[test]
    fn a_machine_without_files() {
        let machine = TestMachine::with(&[]);
        assert_eq!(Cpu::read(&machine.files, ""), Cpu::default());
    }
}
