//! The numbers of a recovery, for tables and figures.

use crate::fault::Recovery;

/// A number of a recovery.
#[derive(Debug)]
pub struct Number {
    /// Its column: `recovery.first_write_s`.
    pub name: &'static str,
    /// The unit of its values; empty for a count or a share.
    pub unit: &'static str,
    /// What tables and figures call it.
    pub heading: &'static str,
    /// Its value; `None` if it did not happen.
    pub of: fn(&Recovery) -> Option<f64>,
}

/// The phases of a recovery, in seconds from the fault's effect.
pub static PHASES: [Number; 7] = [
    seconds("recovery.first_error_s", "first error", |found| {
        found.first_error_s
    }),
    seconds("recovery.detected_s", "detected", |found| found.detected_s),
    seconds("recovery.first_write_s", "first write", |found| {
        found.first_write_s
    }),
    seconds("recovery.load_write_s", "load's write", |found| {
        found.load_write_s
    }),
    seconds("recovery.back_s", "throughput back", |found| found.back_s),
    seconds("recovery.steady_s", "steady", |found| found.steady_s),
    seconds("recovery.rejoined_s", "rejoined", |found| found.rejoined_s),
];

/// What a fault cost.
pub static COSTS: [Number; 3] = [
    seconds("recovery.outage_s", "outage", |found| found.outage_s),
    Number {
        name: "recovery.lowest_share",
        unit: "",
        heading: "lowest share",
        of: |found| found.lowest_share,
    },
    Number {
        name: "recovery.lost_transactions",
        unit: "",
        heading: "transactions not done",
        of: |found| found.lost_transactions,
    },
];

/// All of them.
pub fn numbers() -> impl Iterator<Item = &'static Number> {
    PHASES.iter().chain(&COSTS)
}

const fn seconds(
    name: &'static str,
    heading: &'static str,
    of: fn(&Recovery) -> Option<f64>,
) -> Number {
    Number {
        name,
        unit: "s",
        heading,
        of,
    }
}
