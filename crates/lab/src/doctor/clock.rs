//! The clocks: what time is read from, and who sets it.

use measure::finding::Level;

use super::check::{About, Check, Mend, Seen};

/// Read from memory, without a call into kernel or hypervisor.
const FAST: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
];

/// What the kernel and its services tell of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Clock {
    pub(super) source: Option<String>,
    pub(super) available: Option<String>,
    /// The process that keeps the clock right, for example `chronyd`; `None` if there is none.
    pub(super) service: Option<String>,
    /// A line of its configuration that lets it step the clock at any time.
    pub(super) steps: Option<String>,
}

pub(super) const CHECKS: &[Check<Clock>] = &[
    Check {
        about: About {
            id: "clock-source",
            worst: Level::Spoils,
            why: "Server and generator read the time several times for each statement, and a slow clock makes each of them a system call.",
            source: "kernel docs, timers/timekeeping; paper P1 (timer interrupts)",
            mend: Mend::Words(
                "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
        },
        judge: source,
    },
    Check {
        about: About {
            id: "time-sync",
            worst: Level::Note,
            why: "dyno measures with a clock that nobody steps, but the times of logs on several hosts only fit together when those are set, and without a jump in between.",
            source: "paper P4 (times on the client, for clocks of virtual machines drift); chrony.conf(5)",
            mend: Mend::Words("ADVICE"),
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
    let available = clock.available.as_deref().unwrap_or("nothing else");
    Seen::spoils(format!("{FILE}: {source}, of {available}"))
}

fn sync(clock: &Clock) -> Seen {
    match (&clock.service, &clock.steps) {
        (None, _) => Seen::note("/proc: no chronyd, ntpd, systemd-timesyncd or ptp4l runs")
            .with("ADVICE", "apt-get install chrony"),
        (Some(service), Some(line)) => {
            Seen::note(format!("{service} may step the clock at any time: {line}")).with(
                "ADVICE",
                "makestep 1 3 in chrony.conf, and let it settle before a measurement",
            )
        }
        (Some(service), None) => Seen::passed(format!("/proc: {service} runs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Note, Passed, Spoils, Unseen};

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
    fn somebody_should_keep_the_clock_without_steps() {
        let with = |service: Option<&str>, steps: Option<&str>| {
            let clock = Clock {
                service: service.map(str::to_owned),
                steps: steps.map(str::to_owned),
                ..Clock::default()
            };
            sync(&clock).level()
        };
        assert_eq!(with(None, None), Note);
        assert_eq!(with(Some("chronyd"), Some("makestep 1 -1")), Note);
        assert_eq!(with(Some("chronyd"), None), Passed);
    }
}
