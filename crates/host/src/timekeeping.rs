//! The clock source, and the service that synchronizes the clock.

use crate::chrony::{self, Chrony};
use crate::files::{Files, entries, line};

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
pub(crate) const CHRONY: &str = "chronyd";

/// Time services by process name, which the kernel truncates to 15 characters.
const SERVICES: [&str; 6] = [
    CHRONY,
    "ntpd",
    "ntp-daemon",
    "openntpd",
    "systemd-timesyn",
    "ptp4l",
];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timekeeping {
    /// The current clock source, for example `tsc`.
    pub source: Option<String>,
    /// The available clock sources, separated by spaces.
    pub available: Option<String>,
    /// The process that synchronizes the clock, for example `chronyd`.
    pub service: Option<String>,
    /// The configuration of chrony, if chrony runs and the file is at a standard path.
    pub chrony: Option<Chrony>,
}

impl Timekeeping {
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
