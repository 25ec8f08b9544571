//! The facts about a machine that its checks examine.

use host::{Activity, HostFacts};

use super::check::Check;
use super::requirements::Requirements;
use super::{activity, container, cpu, limits, memory, timekeeping};

/// A machine, and what the trials require of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Machine {
    pub(super) facts: HostFacts,
    pub(super) activity: Activity,
    pub(super) required: Option<Requirements>,
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

    /// Checks that pass if there is nothing to read.
    const PASSED: [&str; 10] = [
        "battery",
        "open-files",
        "processes",
        "virtualization",
        "virtual-devices",
        "cgroup-cpu",
        "server-quota",
        "cgroup-memory",
        "cgroup-io",
        "time-sync",
    ];

    #[test]
    fn a_machine_without_files_passes_only_what_it_cannot_have() {
        for check in FAMILIES.iter().flat_map(|(_, checks)| *checks) {
            let level = (check.judge)(&Machine::default()).level();
            let id = check.about.id;
            assert_eq!(level != Level::Unknown, PASSED.contains(&id), "{id}");
        }
    }
}
