//! The numbers of a recovery, for tables and figures, and the distribution of each over repeats:
//! recovery times are not normally distributed, so a mean with an interval would mislead.

use std::cmp::Ordering;

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

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observation {
    Exactly(f64),
    /// The time is longer than this: the observation ended (right censoring).
    Longer(f64),
}

impl Observation {
    /// The value, or its lower bound.
    pub fn bound(self) -> f64 {
        match self {
            Self::Exactly(value) | Self::Longer(value) => value,
        }
    }

    /// Whether only a lower bound is known.
    pub fn is_censored(self) -> bool {
        matches!(self, Self::Longer(_))
    }

    /// What never happened during the observation is longer than all that did.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let kinds = self.is_censored().cmp(&other.is_censored());
        kinds.then(self.bound().total_cmp(&other.bound()))
    }

    /// The mean of two times, of which this is the smaller one.
    fn midpoint(self, larger: Self) -> Self {
        let middle = f64::midpoint(self.bound(), larger.bound());
        match (self, larger) {
            (Self::Exactly(_), Self::Exactly(_)) => Self::Exactly(middle),
            // Observations may differ in length.
            (Self::Exactly(value), Self::Longer(_)) => Self::Longer(middle.max(value)),
            (Self::Longer(_), _) => Self::Longer(self.bound()),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// In ascending order; never empty.
    values: Vec<Observation>,
}

impl Distribution {
    /// `None` if no repeat has a value.
    pub fn of(repeats: impl IntoIterator<Item = Observation>) -> Option<Self> {
        let mut values: Vec<Observation> = repeats.into_iter().collect();
        values.sort_by(Observation::order);
        (!values.is_empty()).then_some(Self { values })
    }

    /// In ascending order; never empty.
    pub fn values(&self) -> &[Observation] {
        &self.values
    }

    /// Number of repeats in which the event happened.
    pub fn happened(&self) -> usize {
        let all = self.values.iter();
        all.filter(|value| !value.is_censored()).count()
    }

    pub fn min(&self) -> Observation {
        self.values[0]
    }

    pub fn max(&self) -> Observation {
        self.values[self.values.len() - 1]
    }

    /// The median; of an even number, the mean of the two in the middle.
    pub fn median(&self) -> Observation {
        let upper = self.values.len() / 2;
        let lower = (self.values.len() - 1) / 2;
        match lower == upper {
            true => self.values[upper],
            false => self.values[lower].midpoint(self.values[upper]),
        }
    }
}
