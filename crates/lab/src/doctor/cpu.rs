//! CPUs: frequency scaling, power saving, vulnerabilities, NUMA.

use host::{Cpu, PowerSetting};
use measure::finding::Level::{Passed, Severe, Warning};
use measure::finding::check::{Judged, Observed, graded, note, passed, unknown, warning};

use super::rule::{at_least, joined, known};

pub(super) fn governor(cpu: &Cpu) -> Observed {
    const FILE: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    if cpu.governors.is_empty() {
        return unknown(format!(
            "{FILE}: not available; in a virtual machine, the host controls the frequency"
        ));
    }
    let driver = cpu.driver.as_deref().unwrap_or("unknown driver");
    // With these drivers, `powersave` lets the hardware scale with the load.
    let follows_load = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"].contains(&driver);
    let level = match cpu.governors.as_slice() {
        [only] if only == "performance" => Passed,
        all if all.iter().any(|name| name == "powersave") && !follows_load => Severe,
        _ => Warning,
    };
    let governors = cpu.governors.join(", ");
    graded(level, format!("{FILE}: {governors} ({driver})"))
}

pub(super) fn turbo(cpu: &Cpu) -> Observed {
    match &cpu.turbo {
        None => {
            unknown("/sys/devices/system/cpu has neither intel_pstate/no_turbo nor cpufreq/boost")
        }
        Some((false, file)) => passed(format!("{file}: turbo is off")),
        Some((true, file)) => warning(format!("{file}: turbo is on"))
            .with("VALUE", u8::from(file.ends_with("no_turbo")))
            .with("FILE", file),
    }
}

pub(super) fn idle_states(cpu: &Cpu) -> Judged {
    const FILES: &str = "/sys/devices/system/cpu/cpu*/cpuidle/state*/latency";
    known(cpu.idle.first(), FILES)?;
    let allowed = cpu.idle.iter().filter(|state| !state.is_disabled);
    let Some(deepest) = allowed.max_by_key(|state| state.exit_us) else {
        return Ok(passed(format!("{FILES}: all states are disabled")));
    };
    at_least(
        Some(deepest.exit_us),
        &[(100, Warning)],
        &deepest.file,
        |us| format!("{us} µs to wake from {}", deepest.name),
    )
}

/// Drivers give values as names or as numbers.
pub(super) fn power(settings: &[PowerSetting]) -> Observed {
    const OFF: [&str; 2] = ["performance", "0"];
    const FULL: [&str; 5] = ["power", "low-power", "quiet", "cool", "255"];
    let shown = |setting: &PowerSetting| format!("{}: {}", setting.file, setting.value);
    let is_off = |setting: &&PowerSetting| OFF.contains(&setting.value.as_str());
    let is_full = |setting: &&PowerSetting| FULL.contains(&setting.value.as_str());
    let (off, on): (Vec<&PowerSetting>, Vec<&PowerSetting>) = settings.iter().partition(is_off);
    if settings.is_empty() {
        return unknown(
            "neither energy_performance_preference of a CPU nor /sys/firmware/acpi/platform_profile is available",
        );
    }
    if on.is_empty() {
        return passed(joined(off, shown));
    }
    let mut files: Vec<&str> = on.iter().map(|setting| &*setting.all_files).collect();
    files.dedup();
    let level = if on.iter().any(is_full) {
        Severe
    } else {
        Warning
    };
    graded(level, joined(on, shown)).with("FILES", files.join(" "))
}

pub(super) fn battery(cpu: &Cpu) -> Observed {
    let (level, supply) = match cpu.on_battery {
        None => (Passed, "no battery"),
        Some(false) => (Passed, "not on battery"),
        Some(true) => (Severe, "on battery"),
    };
    graded(level, format!("/sys/class/power_supply/*/online: {supply}"))
}

pub(super) fn mitigations(cpu: &Cpu) -> Judged {
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
        true => passed(format!("{DIR}: not affected")),
        false => note(format!("{DIR}: {}", lists.join("; "))),
    })
}
