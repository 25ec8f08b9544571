//! Judges of a machine's checks that need more than an expression in a row of the table, and what
//! rows have in common.

use std::fmt::Display;

use host::{Activity, Chrony, Cpu, Memory, PowerSetting, Timekeeping};
use measure::finding::Level::{self, Note, Passed, Severe, Warning};
use measure::finding::check::{Judged, Observed, graded, note, passed, severe, unknown, warning};
use plan::shown_bytes;

use super::machine::Machine;
use crate::trial::OWN_FILES;

/// The value, or the observation that `source` could not be read.
pub(super) fn known<T>(value: Option<T>, source: &str) -> Result<T, Observed> {
    value.ok_or_else(|| unknown(format!("{source}: not available")))
}

pub(super) fn joined<T>(
    all: impl IntoIterator<Item = T>,
    shown: impl FnMut(T) -> String,
) -> String {
    all.into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Grades a value that is shown as it is.
pub(super) fn is<T: Display + Copy>(
    value: Option<T>,
    source: &str,
    level: impl FnOnce(T) -> Level,
) -> Judged {
    let value = known(value, source)?;
    Ok(graded(level(value), format!("{source}: {value}")))
}

/// Grades a number by the first threshold that it reaches.
pub(super) fn at_least<T: PartialOrd + Copy>(
    value: Option<T>,
    thresholds: &[(T, Level)],
    source: &str,
    shown: impl FnOnce(T) -> String,
) -> Judged {
    let value = known(value, source)?;
    let reached = thresholds.iter().find(|(limit, _)| value >= *limit);
    let level = reached.map_or(Level::Passed, |(_, level)| *level);
    Ok(graded(level, format!("{source}: {}", shown(value))))
}

/// Compares a limit with what the load needs; without a load, the check passes.
pub(super) fn is_enough(limit: u64, needed: Option<u64>, observed: String) -> Observed {
    let Some(needed) = needed else {
        return passed(observed);
    };
    let level = Level::Severe.when(needed > limit);
    graded(level, format!("{observed}; the load needs {needed}")).with("NEEDED", needed)
}

const MAX_NAMED: usize = 3;

pub(super) fn others(activity: &Activity) -> Judged {
    let thresholds = [(15.0, Severe), (5.0, Warning)];
    let named = activity.busiest.iter().take(MAX_NAMED);
    let named = joined(named, |(name, of_one)| {
        format!("{name} {of_one:.0} % of one CPU")
    });
    let busiest = match named.is_empty() {
        true => String::new(),
        false => format!("; busiest: {named}"),
    };
    at_least(activity.others_pct, &thresholds, "/proc/stat", |share| {
        format!(
            "other processes used {share:.0} % of {} CPUs for {:.1} s{busiest}",
            activity.cpus, activity.seconds
        )
    })
}

pub(super) fn load_average(activity: &Activity) -> Judged {
    let cpus = activity.cpus.max(1) as f64;
    at_least(
        activity.load_1m,
        &[(0.5 * cpus, Note)],
        "/proc/loadavg",
        |load| format!("{load:.2} on {cpus} CPUs"),
    )
}

pub(super) fn busy_disks(activity: &Activity) -> Judged {
    let busiest = activity.disks.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, share) = busiest.map_or(("", None), |(name, share)| (name, Some(*share)));
    at_least(
        share,
        &[(50.0, Severe), (10.0, Warning)],
        "/proc/diskstats",
        |share| format!("{name} was busy {share:.0} % of the time"),
    )
}

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
    let level = match on.iter().any(is_full) {
        true => Severe,
        false => Warning,
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
    let mut lists = Vec::new();
    for (state, words) in [("Mitigation", "mitigated"), ("Vulnerable", "not mitigated")] {
        let all = vulnerabilities.iter();
        let names = joined(
            all.filter(|(_, known)| known.starts_with(state)),
            |(name, _)| name.clone(),
        );
        if !names.is_empty() {
            lists.push(format!("{words}: {names}"));
        }
    }
    Ok(match lists.is_empty() {
        true => passed(format!("{DIR}: not affected")),
        false => note(format!("{DIR}: {}", lists.join("; "))),
    })
}

/// Open files of a server besides connections and tables.
const SERVER_FILES: u64 = 300;
/// Threads of a server besides those of its connections.
const SERVER_THREADS: u64 = 60;
/// Threads of dyno and of the user's other processes.
const OTHER_THREADS: u64 = 200;

pub(super) fn open_files(machine: &Machine) -> Observed {
    let Some(limit) = machine.facts.limits.open_files else {
        return passed("/proc/self/limits: no limit on open files");
    };
    let needed = machine.required.map(|required| {
        let own = required.load_files + OWN_FILES;
        let server = required.server.users + required.server.tables + SERVER_FILES;
        match required.private_servers {
            0 => own,
            _ => own.max(server),
        }
    });
    is_enough(
        limit,
        needed,
        format!("/proc/self/limits: {limit} open files"),
    )
}

pub(super) fn processes(machine: &Machine) -> Observed {
    let own = machine.facts.limits.processes;
    let own = own.map(|limit| ("/proc/self/limits", limit));
    let groups = limits_of(machine, &["pids.max"]).into_iter();
    let groups = groups.filter_map(|(name, limit)| Some((name.as_str(), limit.parse().ok()?)));
    let limits = own.into_iter().chain(groups);
    let Some((file, limit)) = limits.min_by_key(|(_, limit)| *limit) else {
        return passed("/proc/self/limits: no limit on processes");
    };
    let needed = machine.required.map(|required| {
        let servers = required.private_servers * (required.server.users + SERVER_THREADS);
        servers + OTHER_THREADS
    });
    is_enough(limit, needed, format!("{file}: {limit} processes"))
}

pub(super) fn local_ports(machine: &Machine) -> Judged {
    const FILE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
    let (first, last) = known(machine.facts.limits.ports, FILE)?;
    let count = (last + 1).saturating_sub(first);
    let needed = machine.required.map(|required| required.server.users);
    Ok(is_enough(count, needed, format!("{FILE}: {count} ports")))
}

/// The fraction of memory that the kernel and the servers need besides buffer pools: one in
/// `RESERVE`.
const RESERVE: u64 = 10;

pub(super) fn swappiness(memory: &Memory) -> Judged {
    // Above 10, the kernel swaps out servers' memory while it could still drop cached files.
    let (thresholds, swap): (&[_], _) = match memory.swap_bytes {
        Some(0) => (&[], ", without swap space"),
        _ => (&[(11, Warning)], ""),
    };
    at_least(
        memory.swappiness,
        thresholds,
        "/proc/sys/vm/swappiness",
        |value| format!("{value}{swap}"),
    )
}

pub(super) fn buffer_pools(machine: &Machine) -> Observed {
    let Some(available) = machine.facts.memory.available_bytes else {
        return unknown("/proc/meminfo: available memory is unknown");
    };
    let needed = machine.required.map_or(0, |required| required.pool_bytes);
    let free = format!("{} available", shown_bytes(available));
    if needed == 0 {
        return passed(format!("/proc/meminfo: {free}"));
    }
    let level = match needed > available {
        true => Severe,
        false => Warning.when(needed > available - available / RESERVE),
    };
    let needed = shown_bytes(needed);
    graded(
        level,
        format!("/proc/meminfo: buffer pools need {needed}, {free}"),
    )
}

/// Clock sources that are read without a system call, the best first.
const FAST_CLOCKS: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
];

/// Time services that step the clock while they run, and the condition for it. Sources: ntpd(8),
/// ntp.toml(5) of ntpd-rs, systemd-timesyncd(8) with `NTP_MAX_ADJUST` in its source code. Others
/// step it only when they start (ntpd(8) of OpenNTPD, ptp4l(8)), or as configured (chrony.conf(5)).
const STEPS: [(&str, &str); 3] = [
    (
        "ntpd",
        "more than 0.128 s off for several minutes, unless it was started with -x or is OpenNTPD",
    ),
    (
        "ntp-daemon",
        "more than 0.01 s off, unless step-threshold in ntp.toml says otherwise",
    ),
    ("systemd-timesyn", "more than 0.4 s off"),
];

pub(super) fn clock_source(clock: &Timekeeping) -> Judged {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = known(clock.source.as_deref(), FILE)?;
    if FAST_CLOCKS.contains(&source) {
        return Ok(passed(format!("{FILE}: {source}")));
    }
    let available = clock.available.as_deref().unwrap_or_default();
    let is_available = |name: &&&str| available.split_whitespace().any(|other| other == **name);
    Ok(match FAST_CLOCKS.iter().find(is_available) {
        Some(fast) => severe(format!("{FILE}: {source}; available: {available}"))
            .with("SOURCE", fast),
        None => severe(format!("{FILE}: {source}; no faster one is available"))
            .with_remedy("measure on another machine, or compare only machines with the same clock source; for the kernel's reason: dmesg | grep -i -e tsc -e clocksource"),
    })
}

pub(super) fn time_sync(clock: &Timekeeping) -> Observed {
    let Some(service) = clock.service.as_deref() else {
        return note(
            "/proc: neither chronyd, ntpd, ntpd-rs, systemd-timesyncd nor ptp4l is running",
        );
    };
    if service == "chronyd" {
        return sync_of_chrony(clock.chrony.as_ref());
    }
    let running = format!("/proc: {service} is running, which");
    match STEPS.iter().find(|(name, _)| *name == service) {
        Some((_, when)) => note(format!("{running} steps the clock whenever it is {when}")),
        None => passed(format!(
            "{running} by default steps the clock only when it starts"
        )),
    }
}

/// With a negative number of updates, chrony may step the clock at any time.
fn sync_of_chrony(chrony: Option<&Chrony>) -> Observed {
    const RUNNING: &str = "/proc: chronyd is running";
    let Some(chrony) = chrony else {
        return unknown(format!(
            "{RUNNING}, but its chrony.conf is not at a standard path"
        ));
    };
    if let Some(unread) = &chrony.unread {
        return unknown(format!(
            "{RUNNING}, but {unread} could not be read: run dyno as root"
        ));
    }
    let Some((makestep, file)) = &chrony.makestep else {
        let file = &chrony.file;
        return passed(format!(
            "{RUNNING} and never steps the clock; {file}: no makestep"
        ));
    };
    let updates = makestep.split_whitespace().nth(2);
    if !updates.is_some_and(|updates| updates.starts_with('-')) {
        return passed(format!("{RUNNING}; {file}: {makestep}"));
    }
    note(format!(
        "{RUNNING} and may step the clock at any time; {file}: {makestep}"
    ))
    .with_remedy(format!(
        "set makestep 1 3 in {file}, and let the clock settle before a measurement"
    ))
}

pub(super) fn virtualization(machine: &Machine) -> Observed {
    match &machine.facts.virtualization {
        None => passed("/proc/cpuinfo: neither a hypervisor nor a container"),
        Some(name) => note(format!("/proc/cpuinfo and /sys/class/dmi: {name}")),
    }
}

pub(super) fn virtual_devices(machine: &Machine) -> Observed {
    let drives = machine.facts.removable_drives.join(", ");
    match &machine.facts.virtualization {
        _ if drives.is_empty() => passed("/sys/block: no CD-ROM or floppy drive"),
        Some(_) => note(format!("/sys/block: {drives}")),
        None => passed(format!("/sys/block: {drives} (not virtual)")),
    }
}

/// The limits of control groups whose names start with one of `kinds`.
fn limits_of<'a>(machine: &'a Machine, kinds: &[&str]) -> Vec<&'a (String, String)> {
    let limits = machine.facts.limits.groups.iter();
    let of_kind = limits.filter(|(name, _)| kinds.iter().any(|kind| name.starts_with(kind)));
    of_kind.collect()
}

fn shown(limits: &[&(String, String)]) -> String {
    joined(limits, |(name, value)| format!("{name}: {value}"))
}

pub(super) fn unlimited(machine: &Machine, kinds: &[&str], none: &str) -> Observed {
    match limits_of(machine, kinds).as_slice() {
        [] => passed(format!("/sys/fs/cgroup: {none}")),
        limits => warning(shown(limits)),
    }
}

pub(super) fn quota(machine: &Machine) -> Judged {
    let required = machine
        .required
        .map_or(0, |required| required.cpu_thousandths);
    if required == 0 {
        return Ok(passed("site.cpus: no CPU quota"));
    }
    let quota = required as f64 / 1000.0;
    let cpus = machine.facts.limits.cpus;
    let excess = cpus.map(|cpus| quota - cpus as f64);
    at_least(excess, &[(0.001, Warning)], "site.cpus", |_| {
        format!("{quota} of {} CPUs", cpus.unwrap_or(0))
    })
}

pub(super) fn memory_limit(machine: &Machine) -> Observed {
    let limits = limits_of(machine, &["memory."]);
    let values = limits
        .iter()
        .filter_map(|(_, value)| value.parse::<u64>().ok());
    let Some(lowest) = values.min() else {
        return passed("/sys/fs/cgroup: no memory limit");
    };
    let observed = format!("{} ({})", shown(&limits), shown_bytes(lowest));
    let pools = machine.required.map_or(0, |required| required.pool_bytes);
    let needed = || format!("{observed}; buffer pools need {}", shown_bytes(pools));
    match pools {
        0 => note(observed),
        _ if pools >= lowest => severe(needed()),
        _ => warning(needed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_reached_threshold_determines_the_level() {
        let with = |value: Option<f64>| {
            let shown = |value: f64| value.to_string();
            at_least(value, &[(5.0, Severe), (1.0, Warning)], "/file", shown)
        };
        assert_eq!(with(Some(5.0)), Ok(severe("/file: 5")));
        assert_eq!(with(Some(1.0)), Ok(warning("/file: 1")));
        assert_eq!(with(Some(0.9)), Ok(passed("/file: 0.9")));
        assert_eq!(with(None), Err(unknown("/file: not available")));
    }
}
