//! The clocks, and who keeps them right.

use super::{chrony, entries};
use crate::doctor::clock::{CHRONY, Clock, SERVICES};
use crate::kernel;

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

pub(in crate::doctor) fn read() -> Clock {
    let service = service();
    let is_chrony = service.as_deref() == Some(CHRONY);
    Clock {
        source: kernel::line(format!("{SOURCES}/current_clocksource")),
        available: kernel::line(format!("{SOURCES}/available_clocksource")),
        chrony: is_chrony.then(chrony::read).flatten(),
        service,
    }
}

fn service() -> Option<String> {
    let processes = entries("/proc");
    let mut names = processes
        .iter()
        .filter_map(|process| kernel::line(process.join("comm")));
    names.find(|name| SERVICES.iter().any(|(service, _)| service == name))
}
