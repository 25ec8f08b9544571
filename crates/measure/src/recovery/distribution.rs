//! The values of repeats as they are: times of recovery are not normal, so a mean with an interval
//! would mislead.

/// The values of all repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// In ascending order; at least one.
    values: Vec<f64>,
    /// In how many repeats it did not happen.
    pub missing: usize,
}

impl Distribution {
    /// Of a value for each repeat, `None` where it did not happen. `None` if it never did.
    #[must_use]
    pub fn of(repeats: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let all: Vec<Option<f64>> = repeats.into_iter().collect();
        let mut values: Vec<f64> = all.iter().copied().flatten().collect();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| Self {
            missing: all.len() - values.len(),
            values,
        })
    }

    /// In ascending order; at least one.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.values[0]
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.values[self.values.len() - 1]
    }

    /// The median; of an even number, the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        let upper = self.values.len() / 2;
        let lower = (self.values.len() - 1) / 2;
        f64::midpoint(self.values[lower], self.values[upper])
    }
}
