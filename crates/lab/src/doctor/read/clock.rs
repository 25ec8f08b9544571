//! The clocks, and who keeps them right.

use super::entries;
use crate::doctor::clock::Clock;
use crate::kernel;

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
/// Programs that set the clock. The kernel cuts their names at 15 characters.
const SERVICES: [&str; 6] = [
    "chronyd",
    "ntpd",
    "ntpd-rs",
    "openntpd",
    "systemd-timesyn",
    "ptp4l",
];
const CHRONY: [&str; 2] = ["/etc/chrony/chrony.conf", "/etc/chrony.conf"];

pub(in crate::doctor) fn read() -> Clock {
    let service = service();
    let is_chrony = service.as_deref() == Some("chronyd");
    let config = CHRONY.iter().find_map(kernel::text);
    Clock {
        source: kernel::line(format!("{SOURCES}/current_clocksource")),
        available: kernel::line(format!("{SOURCES}/available_clocksource")),
        steps: config.filter(|_| is_chrony).and_then(|text| steps(&text)),
        service,
    }
}

fn service() -> Option<String> {
    let processes = entries("/proc");
    let mut names = processes
        .iter()
        .filter_map(|process| kernel::line(process.join("comm")));
    names.find(|name| SERVICES.contains(&name.as_str()))
}

/// The line that lets chrony step the clock for as long as it runs: a negative number of
/// updates means always.
fn steps(config: &str) -> Option<String> {
    let mut lines = config.lines().map(str::trim);
    let line = lines.find(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("makestep") && words.nth(1).is_some_and(|limit| limit.starts_with('-'))
    })?;
    Some(line.chars().take(100).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_never_end() {
        assert_eq!(steps("# makestep 1 -1\nmakestep 1 3\n"), None);
        let found = steps("pool x\n makestep 0.1 -1\n");
        assert_eq!(found.as_deref(), Some("makestep 0.1 -1"));
    }
}
