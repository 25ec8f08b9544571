//! What the checks of a machine judge.

use host::{Activity, HostFacts, Storage};

use super::requirements::Requirements;
use super::check::Check;
use super::{activity, container, cpu, limits, memory, timekeeping};

/// A machine, and what a load asks of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Machine {
    pub(super) facts: HostFacts,
    pub(super) activity: Activity,
    pub(super) asked: Option<Requirements>,
}

/// A directory of a machine that holds data, or is going to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DataStorage {
    pub(super) place: Place,
    /// The disks that hold the operating system.
    pub(super) system_disks: Vec<String>,
    /// What the load is going to store there, in bytes.
    pub(super) needed_bytes: u64,
}

/// The checks of a machine by family, in the order of the reference page.
pub(super) const FAMILIES: [(&str, &[Check<Machine>]); 6] = [
    ("Activity", activity::CHECKS),
    ("CPUs", cpu::CHECKS),
    ("Memory", memory::CHECKS),
    ("Clocks", timekeeping::CHECKS),
    ("Process limits", limits::CHECKS),
    ("Virtualization and control groups", container::CHECKS),
];

#[cfg(test)]
mod tests {
    use measure::finding::Level;

    use super::*;

    /// Checks for which nothing to read is nothing wrong.
    const PASSED: [&str; 10] = [
        "battery",
        "open-files",
        "processes",
        "virtualisation",
        "virtual-devices",
        "cgroup-cpu",
        "server-quota",
        "cgroup-memory",
        "cgroup-io",
        "time-sync",
    ];

    #[test]
    fn a_machine_that_tells_nothing_passes_only_what_it_cannot_have() {
        for check in FAMILIES.iter().flat_map(|(_, checks)| *checks) {
            let level = (check.judge)(&Machine::default()).level();
            let id = check.about.id;
            assert_eq!(level != Level::Unknown, PASSED.contains(&id), "{id}");
        }
    }
}
