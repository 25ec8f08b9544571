//! The CPUs: their clock, their sleep, their weaknesses, their nodes.

mod energy;
mod frequency;
mod mitigations;
mod numa;

use measure::finding::check::Check;

pub(super) use energy::{Idle, Saving};

/// What the kernel tells of the CPUs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Cpu {
    /// The governors of all CPUs, each once.
    pub(super) governors: Vec<String>,
    /// Who sets the clock, for example `intel_pstate`.
    pub(super) driver: Option<String>,
    /// Whether the CPU may run above its nominal clock, and the file that says so.
    pub(super) turbo: Option<(bool, String)>,
    /// The states in which the CPUs may sleep, each once.
    pub(super) idle: Vec<Idle>,
    /// What drivers are told to save energy, each value once.
    pub(super) saving: Vec<Saving>,
    /// Whether the host runs on its battery, where it has one and tells of other sources.
    pub(super) on_battery: Option<bool>,
    /// Weaknesses that the kernel works around, and those that it leaves open; `None`
    /// if it does not tell.
    pub(super) weaknesses: Option<Vec<(String, String)>>,
    pub(super) numa_nodes: Option<u64>,
    pub(super) numa_balancing: Option<u64>,
}

/// In the order of the reference page.
pub(super) const CHECKS: [&[Check<Cpu>]; 4] = [
    frequency::CHECKS,
    energy::CHECKS,
    mitigations::CHECKS,
    numa::CHECKS,
];
