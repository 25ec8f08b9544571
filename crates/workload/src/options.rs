//! How much of each statement a transaction holds, and over which rows.

pub use plan::{Data, Transaction};

use crate::distribution::{Distribution, DistributionError};

/// The options of a workload, whose numbers are in the ranges of their keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    pub data: Data,
    pub transaction: Transaction,
    /// Ids are drawn from 1 to this, at least 1; default: the number of rows. More than that makes
    /// some statements miss. It stands for sysbench's `table-size` wherever a run uses it.
    pub key_range: Option<u64>,
    pub distribution: Distribution,
}

/// Why options do not define a workload.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptionsError {
    /// The storage engine's name is not safe in a statement.
    #[error("storage_engine is '{0}'; it must be a name of letters, digits and _")]
    StorageEngine(String),
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    #[error("{workload} works on one table; tables is {tables}")]
    OneTable { workload: &'static str, tables: u32 },
    #[error("{workload} has tables of its own, so it cannot be part of a mix")]
    NotMixed { workload: &'static str },
    /// A transaction would do nothing, forever and at once.
    #[error("a transaction of {workload} has no statement with these options")]
    NoStatements { workload: &'static str },
    /// The script cannot be run: its own message, with the place.
    #[error("{0}")]
    Script(String),
}

impl Options {
    /// The options of a planned trial.
    pub fn of(planned: &plan::Trial) -> Result<Self, DistributionError> {
        Ok(Self {
            data: planned.data.clone(),
            transaction: planned.transaction.clone(),
            key_range: planned.load.key_range,
            distribution: planned.load.distribution.parse()?,
        })
    }

    /// The highest id that statements ask for.
    pub fn highest_key(&self) -> u64 {
        self.key_range.unwrap_or(self.data.rows)
    }

    /// Checks what the range of a single key does not.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let name = self.data.storage_engine.as_deref().unwrap_or_default();
        let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.chars().all(is_safe) {
            return Err(OptionsError::StorageEngine(name.to_owned()));
        }
        Ok(self.distribution.validate()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_engine_is_a_plain_name() {
        let mut options = Options::default();
        assert_eq!(options.validate(), Ok(()));
        options.data.storage_engine = Some("x */ DROP".to_owned());
        assert!(options.validate().is_err());
    }
}
