//! The facts about a machine that its checks examine.

use host::{Activity, HostFacts};
use measure::finding::check::Check;

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
