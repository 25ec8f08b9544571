//! Timekeeping: the clock source, and the service that synchronizes the clock.

use host::{Chrony, Timekeeping};
use measure::finding::Level::{Note, Severe};

use super::check::{About, Check, Observed, Remedy};
use super::machine::Machine;

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

pub(super) const CHECKS: &[Check<Machine>] = &[
    Check {
        about: About {
            id: "clock-source",
            worst: Severe,
            why: "Server and load generator read the time several times per statement, and with a slow clock source, each reading is a system call.",
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
            why: "dyno measures with a clock that is never stepped, but logs of several machines can be compared only if their clocks are synchronized and never stepped.",
            source: "AnandTech article (times measured on the client, because clocks of virtual machines drift); chrony.conf(5), ntpd(8), systemd-timesyncd(8)",
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
            "measure on another machine, or compare only machines with the same clock source; for the kernel's reason: dmesg | grep -i -e tsc -e clocksource",
        ),
    }
}

fn sync(clock: &Timekeeping) -> Observed {
    let Some(service) = clock.service.as_deref() else {
        return Observed::note(
            "/proc: neither chronyd, ntpd, ntpd-rs, systemd-timesyncd nor ptp4l is running",
        );
    };
    if service == "chronyd" {
        return sync_of_chrony(clock.chrony.as_ref());
    }
    match STEPS.iter().find(|(name, _)| *name == service) {
        Some((_, when)) => Observed::note(format!(
            "/proc: {service} is running, which steps the clock whenever it is {when}"
        )),
        None => Observed::passed(format!(
            "/proc: {service} is running, which by default steps the clock only when it starts"
        )),
    }
}

/// With a negative number of updates, chrony may step the clock at any time.
fn sync_of_chrony(chrony: Option<&Chrony>) -> Observed {
    let Some(chrony) = chrony else {
        return Observed::unknown(
            "/proc: chronyd is running, but its chrony.conf is not at a standard path",
        );
    };
    if let Some(unread) = &chrony.unread {
        return Observed::unknown(format!(
            "/proc: chronyd is running, but {unread} could not be read: run dyno as root"
        ));
    }
    let Some((makestep, file)) = &chrony.makestep else {
        return Observed::passed(format!(
            "/proc: chronyd is running and never steps the clock; {}: no makestep",
            chrony.file
        ));
    };
    let updates = makestep.split_whitespace().nth(2);
    match updates.is_some_and(|updates| updates.starts_with('-')) {
        true => Observed::note(format!(
            "/proc: chronyd is running and may step the clock at any time; {file}: {makestep}"
        ))
        .with_remedy(format!(
            "set makestep 1 3 in {file}, and let the clock settle before a measurement"
        )),
        false => Observed::passed(format!("/proc: chronyd is running; {file}: {makestep}")),
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
        let configured = |makestep: Option<&str>| {
            let file = "/etc/chrony.conf".to_owned();
            let makestep = makestep.map(|line| (line.to_owned(), file.clone()));
            let chrony = Chrony {
                file,
                makestep,
                unread: None,
            };
            with(CHRONY, Some(chrony)).level()
        };
        assert_eq!(configured(None), Passed);
        assert_eq!(configured(Some("makestep 1 3")), Passed);
        assert_eq!(configured(Some("makestep 1 -1")), Note);
        assert_eq!(with(CHRONY, None).level(), Unknown);
        let closed = Chrony {
            unread: Some("/etc/chrony.conf".into()),
            ..Chrony::default()
        };
        assert_eq!(with(CHRONY, Some(closed)).level(), Unknown);
    }
}
