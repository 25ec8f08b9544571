//! The clocks: what time is read from, and who sets it.

use measure::finding::Level;

use measure::finding::check::{About, Check, Mend, Seen};

/// Read from memory, without a call into kernel or hypervisor; the best first.
const FAST: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
];

/// Programs that set the clock, as the kernel names them (cut at 15 characters), and when
/// they make it jump, however long they have been running. Sources: ntpd(8), ntp.toml(5) of
/// ntpd-rs, systemd-timesyncd(8) with `NTP_MAX_ADJUST` of its source. `None`: only as they
/// start (ntpd(8) of OpenNTPD, ptp4l(8)), or their configuration tells (chrony.conf(5)).
pub(super) const SERVICES: [(&str, Option<&str>); 6] = [
    (CHRONY, None),
    (
        "ntpd",
        Some(
            "more than 0.128 s off for some minutes, unless it was started with -x or is OpenNTPD",
        ),
    ),
    (
        "ntp-daemon",
        Some("more than 0.01 s off, unless step-threshold in ntp.toml says otherwise"),
    ),
    ("openntpd", None),
    ("systemd-timesyn", Some("more than 0.4 s off")),
    ("ptp4l", None),
];
pub(super) const CHRONY: &str = "chronyd";

/// What the kernel and its services tell of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Clock {
    pub(super) source: Option<String>,
    /// Names with spaces between them.
    pub(super) available: Option<String>,
    /// The process that keeps the clock right, one of `SERVICES`; `None` if there is none.
    pub(super) service: Option<String>,
    /// What chrony was told, if it is chrony and its configuration is where it usually is.
    pub(super) chrony: Option<Chrony>,
}

/// What chrony was told of jumps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Chrony {
    /// Its configuration.
    pub(super) file: String,
    /// The `makestep` that holds, and the file that it stands in.
    pub(super) makestep: Option<(String, String)>,
    /// A part of it that is there and could not be read.
    pub(super) unread: Option<String>,
}

pub(super) const CHECKS: &[Check<Clock>] = &[
    Check {
        about: About {
            id: "clock-source",
            worst: Level::Spoils,
            why: "Server and generator read the time several times for each statement, and a slow clock makes each of them a system call.",
            source: "kernel docs, timers/timekeeping; MySQL on VMware ESX (Sun, VMware) (timer interrupts)",
            mend: Mend::Words(
                "echo SOURCE > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
        },
        judge: source,
    },
    Check {
        about: About {
            id: "time-sync",
            worst: Level::Note,
            why: "dyno measures with a clock that nobody steps, but the times of logs on several hosts only fit together when those are set, and without a jump in between.",
            source: "OLTP Linux on ESX 3.5 (AnandTech) (times on the client, for clocks of virtual machines drift); chrony.conf(5), ntpd(8), systemd-timesyncd(8)",
            mend: Mend::Words(
                "apt-get install chrony, with makestep 1 3 in chrony.conf: it steps the clock in its first three updates only",
            ),
        },
        judge: sync,
    },
];

fn source(clock: &Clock) -> Seen {
    const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Some(source) = &clock.source else {
        return Seen::unseen(format!("{FILE} is not there"));
    };
    if FAST.contains(&source.as_str()) {
        return Seen::passed(format!("{FILE}: {source}"));
    }
    let available = clock.available.as_deref().unwrap_or_default();
    let is_available = |name: &&&str| available.split_whitespace().any(|other| other == **name);
    match FAST.iter().find(is_available) {
        Some(fast) => Seen::spoils(format!("{FILE}: {source}, of {available}")).with("SOURCE", fast),
        None => Seen::spoils(format!("{FILE}: {source}, and the kernel offers no faster one")).mended_by(
            "measure on another host, or only against hosts with the same clock; why this one has no faster: dmesg | grep -i -e tsc -e clocksource",
        ),
    }
}

fn sync(clock: &Clock) -> Seen {
    let Some(service) = clock.service.as_deref() else {
        return Seen::note("/proc: no chronyd, ntpd, ntpd-rs, systemd-timesyncd or ptp4l runs");
    };
    if service == CHRONY {
        return sync_of_chrony(clock.chrony.as_ref());
    }
    match SERVICES.iter().find(|(name, _)| *name == service) {
        Some((_, Some(when))) => Seen::note(format!(
            "/proc: {service} runs, which steps the clock whenever it is {when}"
        )),
        _ => Seen::passed(format!(
            "/proc: {service} runs, which steps the clock only as it starts, unless it was told otherwise"
        )),
    }
}

/// A negative number of updates means that it may step for as long as it runs.
fn sync_of_chrony(chrony: Option<&Chrony>) -> Seen {
    let Some(chrony) = chrony else {
        return Seen::unseen("/proc: chronyd runs, but its chrony.conf is not where it usually is");
    };
    if let Some(unread) = &chrony.unread {
        return Seen::unseen(format!(
            "/proc: chronyd runs, but {unread} could not be read: look as root"
        ));
    }
    let Some((makestep, file)) = &chrony.makestep else {
        return Seen::passed(format!(
            "/proc: chronyd runs; {}: no makestep, so it never steps",
            chrony.file
        ));
    };
    let updates = makestep.split_whitespace().nth(2);
    match updates.is_some_and(|updates| updates.starts_with('-')) {
        true => Seen::note(format!(
            "/proc: chronyd runs, and may step the clock at any time: {file}: {makestep}"
        ))
        .mended_by(format!(
            "makestep 1 3 in {file}, and let it settle before a measurement"
        )),
        false => Seen::passed(format!("/proc: chronyd runs; {file}: {makestep}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Note, Passed, Spoils, Unseen};
    use measure::finding::check::{on_host, run};

    #[test]
    fn clocks_that_must_be_asked_are_slow() {
        let with = |name: Option<&str>| {
            let clock = Clock {
                source: name.map(str::to_owned),
                available: Some("tsc hpet".into()),
                ..Clock::default()
            };
            source(&clock)
        };
        assert_eq!(with(Some("tsc")).level(), Passed);
        assert_eq!(with(Some("kvm-clock")).level(), Passed);
        assert_eq!(with(Some("acpi_pm")).level(), Spoils);
        assert!(format!("{:?}", with(Some("hpet"))).contains("hpet, of tsc hpet"));
        assert_eq!(with(None).level(), Unseen);
    }

    #[test]
    fn only_a_source_that_the_kernel_offers_is_advised() {
        let mend = |available: &str| {
            let clock = Clock {
                source: Some("hpet".into()),
                available: Some(available.into()),
                ..Clock::default()
            };
            let found = run(&CHECKS[..1], &clock, "host", on_host);
            found[0].mend.clone().unwrap()
        };
        assert!(mend("hpet tsc acpi_pm").starts_with("echo tsc > /sys/"));
        assert!(mend("kvm-clock hpet").starts_with("echo kvm-clock > /sys/"));
        let none = mend("hpet acpi_pm");
        assert!(
            none.starts_with("measure on another host") && !none.contains("echo"),
            "{none}"
        );
    }

    fn with(service: &str, chrony: Option<Chrony>) -> Seen {
        sync(&Clock {
            service: Some(service.to_owned()),
            chrony,
            ..Clock::default()
        })
    }

    #[test]
    fn somebody_should_keep_the_clock_without_steps() {
        assert_eq!(sync(&Clock::default()).level(), Note);
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
    fn chrony_steps_as_it_is_told() {
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
        assert_eq!(with(CHRONY, None).level(), Unseen);
        let closed = Chrony {
            unread: Some("/etc/chrony.conf".into()),
            ..Chrony::default()
        };
        assert_eq!(with(CHRONY, Some(closed)).level(), Unseen);
    }
}
