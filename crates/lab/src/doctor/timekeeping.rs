//! Timekeeping: the clock source, and the service that synchronizes the clock.

use host::{Chrony, Timekeeping};
use measure::finding::check::{Judged, Observed, note, passed, severe, unknown};

use super::rule::known;

/// Clock sources that are read without a system call, the best first.
const FAST: [&str; 5] = [
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

pub(super) fn source(clock: &Timekeeping) -> Judged {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = known(clock.source.as_deref(), FILE)?;
    if FAST.contains(&source) {
        return Ok(passed(format!("{FILE}: {source}")));
    }
    let available = clock.available.as_deref().unwrap_or_default();
    let is_available = |name: &&&str| available.split_whitespace().any(|other| other == **name);
    Ok(match FAST.iter().find(is_available) {
        Some(fast) => severe(format!("{FILE}: {source}; available: {available}"))
            .with("SOURCE", fast),
        None => severe(format!("{FILE}: {source}; no faster one is available"))
            .with_remedy("measure on another machine, or compare only machines with the same clock source; for the kernel's reason: dmesg | grep -i -e tsc -e clocksource"),
    })
}

pub(super) fn sync(clock: &Timekeeping) -> Observed {
    let Some(service) = clock.service.as_deref() else {
        return note(
            "/proc: neither chronyd, ntpd, ntpd-rs, systemd-timesyncd nor ptp4l is running",
        );
    };
    if service == "chronyd" {
        return sync_of_chrony(clock.chrony.as_ref());
    }
    match STEPS.iter().find(|(name, _)| *name == service) {
        Some((_, when)) => note(format!(
            "/proc: {service} is running, which steps the clock whenever it is {when}"
        )),
        None => passed(format!(
            "/proc: {service} is running, which by default steps the clock only when it starts"
        )),
    }
}

/// With a negative number of updates, chrony may step the clock at any time.
fn sync_of_chrony(chrony: Option<&Chrony>) -> Observed {
    let Some(chrony) = chrony else {
        return unknown("/proc: chronyd is running, but its chrony.conf is not at a standard path");
    };
    if let Some(unread) = &chrony.unread {
        return unknown(format!(
            "/proc: chronyd is running, but {unread} could not be read: run dyno as root"
        ));
    }
    let Some((makestep, file)) = &chrony.makestep else {
        return passed(format!(
            "/proc: chronyd is running and never steps the clock; {}: no makestep",
            chrony.file
        ));
    };
    let mut words = makestep.split_whitespace();
    if !words.nth(2).is_some_and(|updates| updates.starts_with('-')) {
        return passed(format!("/proc: chronyd is running; {file}: {makestep}"));
    }
    note(format!(
        "/proc: chronyd is running and may step the clock at any time; {file}: {makestep}"
    ))
    .with_remedy(format!(
        "set makestep 1 3 in {file}, and let the clock settle before a measurement"
    ))
}
