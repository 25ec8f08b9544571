//! The numbers of a recovery, for tables and figures.

use super::distribution::Observation;
use crate::fault::Recovery;

#[derive(Debug)]
pub struct Number {
    /// Name of the column, for example `recovery.first_write_s`.
    pub name: &'static str,
    /// Unit of the values; empty for a count or a share.
    pub unit: &'static str,
    /// Name in tables and figures.
    pub heading: &'static str,
    /// `None` if it did not happen.
    pub of: fn(&Recovery) -> Option<f64>,
}

/// The phases of a recovery, in seconds from its origin.
pub static PHASES: [Number; 8] = [
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
    seconds("recovery.redundant_s", "all in service", |found| {
        found.redundant_s
    }),
];

/// What a fault and its healing cost.
pub static COSTS: [Number; 13] = [
    seconds(
        "recovery.back_after_heal_s",
        "back after healing",
        |found| found.back_after_heal_s,
    ),
    seconds("recovery.unavailable_s", "unavailable", |found| {
        found.unavailable_s
    }),
    seconds(
        "recovery.unavailable_longest_s",
        "unavailable, longest",
        |found| found.unavailable_longest_s,
    ),
    Number {
        name: "recovery.available_pct",
        unit: "%",
        heading: "available",
        of: available_pct,
    },
    seconds("recovery.two_primaries_s", "two primaries", |found| {
        found.two_primaries_s
    }),
    plain("recovery.rpo_transactions", "RPO, transactions", |found| {
        found.loss.map(|loss| loss.transactions as f64)
    }),
    seconds("recovery.rpo_s", "RPO", |found| {
        found.loss.map(|loss| loss.seconds)
    }),
    milliseconds("recovery.p99_before_ms", "99 % before", |found| {
        found.p99_before_ms
    }),
    milliseconds("recovery.p99_during_ms", "99 % during", |found| {
        found.p99_during_ms
    }),
    milliseconds("recovery.p99_after_ms", "99 % after", |found| {
        found.p99_after_ms
    }),
    seconds("recovery.outage_s", "outage", |found| found.outage_s),
    plain("recovery.lowest_share", "lowest share", |found| {
        found.lowest_share
    }),
    plain(
        "recovery.lost_transactions",
        "transactions not done",
        |found| found.lost_transactions,
    ),
];

/// The share of the window in which a member accepted writes.
fn available_pct(found: &Recovery) -> Option<f64> {
    let share = found.unavailable_s? / found.window_s;
    share.is_finite().then_some(100.0 * (1.0 - share))
}

pub fn numbers() -> impl Iterator<Item = &'static Number> {
    PHASES.iter().chain(&COSTS)
}

impl Number {
    /// The value in a recovery; `None` if the number does not apply or was not measured.
    pub fn observed(&self, found: &Recovery) -> Option<Observation> {
        if found.censored.iter().any(|name| name == self.name) {
            return Some(Observation::Longer(found.window_s));
        }
        (self.of)(found).map(Observation::Exactly)
    }
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

const fn milliseconds(
    name: &'static str,
    heading: &'static str,
    of: fn(&Recovery) -> Option<f64>,
) -> Number {
    Number {
        name,
        unit: "ms",
        heading,
        of,
    }
}

const fn plain(
    name: &'static str,
    heading: &'static str,
    of: fn(&Recovery) -> Option<f64>,
) -> Number {
    Number {
        name,
        unit: "",
        heading,
        of,
    }
}
