//! The clocks: what time is read from, and what sets it.

use host::{Chrony, Timekeeping};
use measure::finding::Level::{Note, Severe};

use super::check::{About, Check, Observed, Remedy};
use super::machine::Machine;

/// Read from memory, without a system call; the best first.
const FAST: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
];

/// Time services that step the clock while they run, and when. Sources: ntpd(8), ntp.toml(5)
/// of ntpd-rs, systemd-timesyncd(8) with `NTP_MAX_ADJUST` of its source. Others step it only
/// at their start (ntpd(8) of OpenNTPD, ptp4l(8)), or as configured (chrony.conf(5)).
const STEPS: [(&str, &str); 3] = [
    (
        "ntpd",
        "more than 0.128 s off for some minutes, unless it was started with -x or is OpenNTPD",
    ),
    (
        "ntp-daemon",
        "more than 0.01 s off, unless step-threshold in ntp.toml says otherwise",
    ),
    ("systemd-timesyn", "more than 0.4 s off"),
];

pub(super) const CHECKS: &[Check<Machine>] = &[
    Check {
        about: About {
            id: "clock-source",
            worst: Severe,
            why: "Server and generator read the time several times per statement, and with a slow clock source each reading is a system call.",
            source: "kernel docs, timers/timekeeping; Sun and VMware paper (timer interrupts)",
            remedy: Remedy::Words(
                "echo SOURCE > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
        },
        judge: |machine| source(&machine.facts.timekeeping),
    },
    Check {
        about: About {
            id: "time-sync",
            worst: Note,
            why: "dyno measures with a clock that is never stepped, but the logs of several machines can be compared only if their clocks are set and do not jump.",
            source: "AnandTech article (times on the client, for clocks of virtual machines drift); chrony.conf(5), ntpd(8), systemd-timesyncd(8)",
            remedy: Remedy::Words(
                "apt-get install chrony, with makestep 1 3 in chrony.conf: it steps the clock only in its first three updates",
            ),
        },
        judge: |machine| sync(&machine.facts.timekeeping),
    },
];

fn source(clock: &Timekeeping) -> Observed {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Some(source) = &clock.source else {
        return Observed::unknown(format!("{FILE}: not available"));
    };
    if FAST.contains(&source.as_str()) {
        return Observed::passed(format!("{FILE}: {source}"));
    }
    let available = clock.available.as_deref().unwrap_or_default();
    let is_available = |name: &&&str| available.split_whitespace().any(|other| other == **name);
    match FAST.iter().find(is_available) {
        Some(fast) => {
            Observed::severe(format!("{FILE}: {source}; available: {available}")).with("SOURCE", fast)
        }
        None => Observed::severe(format!("{FILE}: {source}; no faster one is available")).with_remedy(
            "measure on another machine, or compare only with machines that have the same clock source; to see why: dmesg | grep -i -e tsc -e clocksource",
        ),
    }
}

fn sync(clock: &Timekeeping) -> Observed {
    let Some(service) = clock.service.as_deref() else {
        return Observed::note(
            "/proc: none of chronyd, ntpd, ntpd-rs, systemd-timesyncd, ptp4l runs",
        );
    };
    if service == "chronyd" {
        return sync_of_chrony(clock.chrony.as_ref());
    }
    match STEPS.iter().find(|(name, _)| *name == service) {
        Some((_, when)) => Observed::note(format!(
            "/proc: {service} runs, which steps the clock whenever it is {when}"
        )),
        None => Observed::passed(format!(
            "/proc: {service} runs, which by default steps the clock only at its start"
        )),
    }
}

/// A negative number of updates means that it may step for as long as it runs.
fn sync_of_chrony(chrony: Option<&Chrony>) -> Observed {
    let Some(chrony) = chrony else {
        return Observed::unknown(
            "/proc: chronyd runs, but its chrony.conf is not in a usual place",
        );
    };
    if let Some(unread) = &chrony.unread {
        return Observed::unknown(format!(
            "/proc: chronyd runs, but {unread} could not be read: run as root"
        ));
    }
    let Some((makestep, file)) = &chrony.makestep else {
        return Observed::passed(format!(
            "/proc: chronyd runs; {}: no makestep, so it never steps",
            chrony.file
        ));
    };
    let updates = makestep.split_whitespace().nth(2);
    match updates.is_some_and(|updates| updates.starts_with('-')) {
        true => Observed::note(format!(
            "/proc: chronyd runs, and may step the clock at any time: {file}: {makestep}"
        ))
        .with_remedy(format!(
            "makestep 1 3 in {file}; let the clock settle before a measurement"
        )),
        false => Observed::passed(format!("/proc: chronyd runs; {file}: {makestep}")),
    }
}

#[cfg(test)]
mod tests {
    use measure::finding::Level::{Passed, Unknown};

    use super::*;
    use crate::doctor::check::{on_host, run};

    const CHRONY: &str = "chronyd";

    #[test]
    fn clock_sources_that_need_a_system_call_are_slow() {
        let with = |name: Option<&str>| {
            let clock = Timekeeping {
                source: name.map(str::to_owned),
                available: Some("tsc hpet".into()),
                ..Timekeeping::default()
            };
            source(&clock)
        };
        assert_eq!(with(Some("tsc")).level(), Passed);
        assert_eq!(with(Some("kvm-clock")).level(), Passed);
        assert_eq!(with(Some("acpi_pm")).level(), Severe);
        assert!(format!("{:?}", with(Some("hpet"))).contains("hpet; available: tsc hpet"));
        assert_eq!(with(None).level(), Unknown);
    }

    #[test]
    fn only_an_available_source_is_suggested() {
        let remedy = |available: &str| {
            let mut machine = Machine::default();
            machine.facts.timekeeping.source = Some("hpet".into());
            machine.facts.timekeeping.available = Some(available.into());
            let found = run(&CHECKS[..1], &machine, "host", on_host);
            found[0].remedy.clone().unwrap()
        };
        assert!(remedy("hpet tsc acpi_pm").starts_with("echo tsc > /sys/"));
        assert!(remedy("kvm-clock hpet").starts_with("echo kvm-clock > /sys/"));
        let none = remedy("hpet acpi_pm");
        assert!(
            none.starts_with("measure on another machine") && !none.contains("echo"),
            "{none}"
        );
    }

    fn with(service: &str, chrony: Option<Chrony>) -> Observed {
        sync(&Timekeeping {
            service: Some(service.to_owned()),
            chrony,
            ..Timekeeping::default()
        })
    }

    #[test]
    fn services_that_step_the_clock_are_noted() {
        assert_eq!(sync(&Timekeeping::default()).level(), Note);
        for (service, level) in [
            ("systemd-timesyn", Note),
            ("ntpd", Note),
            ("ntp-daemon", Note),
            ("openntpd", Passed),
            ("ptp4l", Passed),
        ] {
            assert_eq!(with(service, None).level(), level, "{service}");
        }
        let timesyncd = format!("{:?}", with("systemd-timesyn", None));
        assert!(timesyncd.contains("0.4 s"), "{timesyncd}");
    }

    #[test]
    fn chrony_steps_as_configured() {
        let told = |makestep: Option<&str>| {
            let file = "/etc/chrony.conf".to_owned();
            let makestep = makestep.map(|line| (line.to_owned(), file.clone()));
            let chrony = Chrony {
                file,
                makestep,
                unread: None,
            };
            with(CHRONY, Some(chrony)).level()
        };
        assert_eq!(told(None), Passed);
        assert_eq!(told(Some("makestep 1 3")), Passed);
        assert_eq!(told(Some("makestep 1 -1")), Note);
        assert_eq!(with(CHRONY, None).level(), Unknown);
        let closed = Chrony {
            unread: Some("/etc/chrony.conf".into()),
            ..Chrony::default()
        };
        assert_eq!(with(CHRONY, Some(closed)).level(), Unknown);
    }
}
