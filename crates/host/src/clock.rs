//! The clocks, and the service that sets them.

use crate::chrony::{self, Chrony};
use crate::files::{Files, entries, line};

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
pub(crate) const CHRONY: &str = "chronyd";

/// Time services, as the kernel names their processes (cut at 15 characters).
const SERVICES: [&str; 6] = [
    CHRONY,
    "ntpd",
    "ntp-daemon",
    "openntpd",
    "systemd-timesyn",
    "ptp4l",
];

/// The clocks of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clock {
    /// What the kernel reads the time from, for example `tsc`.
    pub source: Option<String>,
    /// What it could read the time from, separated by blanks.
    pub available: Option<String>,
    /// The process that sets the clock, for example `chronyd`.
    pub service: Option<String>,
    /// The configuration of chrony, if chrony runs and its file is in a usual place.
    pub chrony: Option<Chrony>,
}

impl Clock {
    pub(crate) fn read(files: &dyn Files) -> Self {
        let service = service(files);
        let is_chrony = service.as_deref() == Some(CHRONY);
        Self {
            source: line(files, format!("{SOURCES}/current_clocksource")),
            available: line(files, format!("{SOURCES}/available_clocksource")),
            chrony: is_chrony.then(|| chrony::read(files)).flatten(),
            service,
        }
    }
}

fn service(files: &dyn Files) -> Option<String> {
    let processes = entries(files, "/proc");
    let mut names = processes
        .iter()
        .filter_map(|process| line(files, process.join("comm")));
    names.find(|name| SERVICES.contains(&name.as_str()))
}
