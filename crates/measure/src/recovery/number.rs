//! The numbers of a recovery, for tables and figures.

use super::distribution::Observation;
use crate::fault::Recovery;

/// A number that something may have, as a column of tables and figures.
#[derive(Debug)]
pub struct Number<Thing = Recovery, Value = f64> {
    /// Name of the column, for example `recovery.first_write_s`.
    pub name: &'static str,
    /// Unit of the values; empty for a count or a share.
    pub unit: &'static str,
    pub heading: &'static str,
    pub of: fn(&Thing) -> Option<Value>,
}

pub(crate) const fn number<Thing, Value>(
    name: &'static str,
    unit: &'static str,
    heading: &'static str,
    of: fn(&Thing) -> Option<Value>,
) -> Number<Thing, Value> {
    Number {
        name,
        unit,
        heading,
        of,
    }
}

/// The phases of a recovery, in seconds from its origin.
#[rustfmt::skip] // A line for each.
pub static PHASES: [Number; 8] = [
    number("recovery.first_error_s", "s", "first error", |found| found.first_error_s),
    number("recovery.detected_s", "s", "detected", |found| found.detected_s),
    number("recovery.first_write_s", "s", "first write", |found| found.first_write_s),
    number("recovery.load_write_s", "s", "load's write", |found| found.load_write_s),
    number("recovery.back_s", "s", "throughput back", |found| found.back_s),
    number("recovery.steady_s", "s", "steady", |found| found.steady_s),
    number("recovery.rejoined_s", "s", "rejoined", |found| found.rejoined_s),
    number("recovery.redundant_s", "s", "all in service", |found| found.redundant_s),
];

/// What a fault and its healing cost.
#[rustfmt::skip] // A line for each.
static COSTS: [Number; 13] = [
    number("recovery.back_after_heal_s", "s", "back after healing", |found| found.back_after_heal_s),
    number("recovery.unavailable_s", "s", "unavailable", |found| found.unavailable_s),
    number("recovery.unavailable_longest_s", "s", "unavailable, longest", |found| found.unavailable_longest_s),
    number("recovery.available_pct", "%", "available", available_pct),
    number("recovery.two_primaries_s", "s", "two primaries", |found| found.two_primaries_s),
    number("recovery.rpo_transactions", "", "RPO, transactions", |found| Some(found.loss?.transactions as f64)),
    number("recovery.rpo_s", "s", "RPO", |found| Some(found.loss?.seconds)),
    number("recovery.p99_before_ms", "ms", "99 % before", |found| found.p99_before_ms),
    number("recovery.p99_during_ms", "ms", "99 % during", |found| found.p99_during_ms),
    number("recovery.p99_after_ms", "ms", "99 % after", |found| found.p99_after_ms),
    number("recovery.outage_s", "s", "outage", |found| found.outage_s),
    number("recovery.lowest_share", "", "lowest share", |found| found.lowest_share),
    number("recovery.lost_transactions", "", "transactions not done", |found| found.lost_transactions),
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
