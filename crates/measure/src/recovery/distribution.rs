//! The values of repeats as a distribution: recovery times are not normally distributed, so a mean
//! with an interval would mislead.

use std::cmp::Ordering;

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
