//! CPUs: frequency scaling, power saving, vulnerabilities, NUMA.

use host::{Cpu, PowerSetting};
use measure::checks;
use measure::finding::Level::{Note, Passed, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};

use super::machine::Machine;
use super::rule::{at_least, known};

pub(super) const CHECKS: &[Check<Machine>] = checks! { machine:
    "cpu-governor", Severe => governor(&machine.facts.cpu),
        why: "A governor that follows the load lowers the frequency of a CPU that waits for I/O or locks, so the same work takes longer under a lighter load.",
        source: "kernel docs, admin-guide/pm/cpufreq",
        remedy: Words("cpupower frequency-set -g performance");
    "cpu-turbo", Warning => turbo(&machine.facts.cpu),
        why: "How far a CPU exceeds its nominal frequency depends on its temperature and on the number of busy cores, which vary from trial to trial and within a sweep.",
        source: "SanDisk paper (measured with turbo off); kernel docs, admin-guide/pm/intel_pstate",
        remedy: Words("echo VALUE > FILE");
    "cpu-idle-states", Warning => idle_states(&machine.facts.cpu),
        why: "A CPU wakes slowly from a deep idle state, so response times under a light load may exceed those under a heavy one.",
        source: "kernel docs, admin-guide/pm/cpuidle",
        remedy: Words("cpupower idle-set -D 100");
    "power-saving", Severe => power(&machine.facts.cpu.power),
        why: "A machine that saves power runs below its maximum frequency, and how far below varies over time.",
        source: "kernel docs, admin-guide/pm/intel_pstate (energy_performance_preference) and userspace-api/sysfs-platform_profile",
        remedy: Words("echo performance | tee FILES");
    "battery", Severe => battery(&machine.facts.cpu),
        why: "A machine on battery runs slower, and slower still as the battery drains.",
        source: "kernel docs, ABI/testing/sysfs-class-power",
        remedy: Words("connect the machine to external power");
    "cpu-mitigations", Note => mitigations(&machine.facts.cpu),
        why: "Mitigations of CPU vulnerabilities slow down system calls, so compare only machines with the same mitigations.",
        source: "kernel docs, admin-guide/hw-vuln",
        remedy: Nothing;
    "numa-nodes", Note => at_least(machine.facts.cpu.numa_nodes, &[(2, Note)], "/sys/devices/system/node/online", |nodes| {
            format!("number of nodes: {nodes}")
        }),
        why: "Access to memory on another NUMA node is slower, and the placement of the buffer pool changes with each start of the server.",
        source: "SanDisk paper (two nodes); numactl(8)",
        remedy: Words("start the server under numactl --interleave=all, or server and dyno under numactl --cpunodebind=0 --membind=0");
    "numa-balancing", Warning => numa_balancing(&machine.facts.cpu),
        why: "The kernel moves pages of the buffer pool between NUMA nodes during the measurement, and causes page faults to decide which pages to move.",
        source: "kernel docs, admin-guide/sysctl/kernel (numa_balancing)",
        remedy: Words("sysctl kernel.numa_balancing=0");
};

fn governor(cpu: &Cpu) -> Observed {
    const FILE: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    if cpu.governors.is_empty() {
        return Observed::unknown(format!(
            "{FILE}: not available; in a virtual machine, the host controls the frequency"
        ));
    }
    let driver = cpu.driver.as_deref().unwrap_or("unknown driver");
    // With these drivers, `powersave` lets the hardware follow the load.
    let follows_load = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"].contains(&driver);
    let level = match cpu.governors.as_slice() {
        [only] if only == "performance" => Passed,
        all if all.iter().any(|name| name == "powersave") && !follows_load => Severe,
        _ => Warning,
    };
    let governors = cpu.governors.join(", ");
    Observed::graded(level, format!("{FILE}: {governors} ({driver})"))
}

fn turbo(cpu: &Cpu) -> Observed {
    match &cpu.turbo {
        None => Observed::unknown(
            "/sys/devices/system/cpu has neither intel_pstate/no_turbo nor cpufreq/boost",
        ),
        Some((false, file)) => Observed::passed(format!("{file}: turbo is off")),
        Some((true, file)) => Observed::warning(format!("{file}: turbo is on"))
            .with("VALUE", u8::from(file.ends_with("no_turbo")))
            .with("FILE", file),
    }
}

fn idle_states(cpu: &Cpu) -> Judged {
    const FILES: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*/latency";
    known(cpu.idle.first(), FILES)?;
    let allowed = cpu.idle.iter().filter(|state| !state.is_disabled);
    let Some(deepest) = allowed.max_by_key(|state| state.exit_us) else {
        return Ok(Observed::passed(format!(
            "{FILES}: all states are disabled"
        )));
    };
    at_least(
        Some(deepest.exit_us),
        &[(100, Warning)],
        &deepest.file,
        |us| format!("{us} µs to wake from {}", deepest.name),
    )
}

/// Values are names, or the numbers that the driver uses for them.
fn power(settings: &[PowerSetting]) -> Observed {
    const OFF: [&str; 2] = ["performance", "0"];
    const FULL: [&str; 5] = ["power", "low-power", "quiet", "cool", "255"];
    let shown = |settings: &[&PowerSetting]| {
        let shown = settings
            .iter()
            .map(|setting| format!("{}: {}", setting.file, setting.value));
        shown.collect::<Vec<_>>().join(", ")
    };
    let is_off = |setting: &&PowerSetting| OFF.contains(&setting.value.as_str());
    let is_full = |setting: &&PowerSetting| FULL.contains(&setting.value.as_str());
    let (off, on): (Vec<&PowerSetting>, Vec<&PowerSetting>) = settings.iter().partition(is_off);
    if settings.is_empty() {
        return Observed::unknown(
            "neither energy_performance_preference of a CPU nor /sys/firmware/acpi/platform_profile is available",
        );
    }
    if on.is_empty() {
        return Observed::passed(shown(&off));
    }
    let mut files: Vec<&str> = on.iter().map(|setting| &*setting.all_files).collect();
    files.dedup();
    let level = if on.iter().any(is_full) {
        Severe
    } else {
        Warning
    };
    Observed::graded(level, shown(&on)).with("FILES", files.join(" "))
}

fn battery(cpu: &Cpu) -> Observed {
    let (level, supply) = match cpu.on_battery {
        None => (Passed, "no battery"),
        Some(false) => (Passed, "not on battery"),
        Some(true) => (Severe, "on battery"),
    };
    Observed::graded(level, format!("/sys/class/power_supply/*/online: {supply}"))
}

fn mitigations(cpu: &Cpu) -> Judged {
    const DIR: &str = "/sys/devices/system/cpu/vulnerabilities";
    let vulnerabilities = known(cpu.vulnerabilities.as_ref(), DIR)?;
    let states = [("Mitigation", "mitigated"), ("Vulnerable", "not mitigated")];
    let lists = states.iter().filter_map(|(state, words)| {
        let with = vulnerabilities
            .iter()
            .filter(|(_, known)| known.starts_with(state));
        let names: Vec<&str> = with.map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("{words}: {}", names.join(", ")))
    });
    let lists: Vec<String> = lists.collect();
    Ok(match lists.is_empty() {
        true => Observed::passed(format!("{DIR}: not affected")),
        false => Observed::note(format!("{DIR}: {}", lists.join("; "))),
    })
}

fn numa_balancing(cpu: &Cpu) -> Judged {
    let thresholds: &[_] = match cpu.numa_nodes {
        Some(1) => &[],
        _ => &[(1, Warning)],
    };
    let file = "/proc/sys/kernel/numa_balancing";
    at_least(cpu.numa_balancing, thresholds, file, |value| {
        value.to_string()
    })
}
