//! How much of each statement a transaction holds, and over which rows.

use serde::{Deserialize, Serialize};

use crate::distribution::{Distribution, DistributionError};

/// The most tables.
pub const MAX_TABLES: u32 = 100_000;
/// The most rows of a table: ids are 32-bit signed integers.
pub const MAX_ROWS: u64 = i32::MAX as u64;
/// The most repeats of a statement in a transaction, and the most points or ranges in a
/// statement: a range has two parameters, and engines take 32,766.
pub const MAX_REPEATS: u32 = 10_000;

/// The options of the OLTP workloads, with the names and defaults of sysbench
/// 1.0.20 where it has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Tables, `sbtest1` and on.
    pub tables: u32,
    /// Rows loaded into each table, with ids from 1.
    pub rows: u64,
    /// Ids are drawn from 1 to this; default: `rows`. More than `rows` makes
    /// some statements miss. It stands in for sysbench's `table-size` wherever a
    /// run uses it.
    pub key_range: Option<u64>,
    /// Rows of a range select.
    pub range_size: u64,
    /// Selects by id in a transaction.
    pub point_selects: u32,
    /// Simple range selects in a transaction.
    pub simple_ranges: u32,
    /// `SUM()` range selects in a transaction.
    pub sum_ranges: u32,
    /// `ORDER BY` range selects in a transaction.
    pub order_ranges: u32,
    /// `DISTINCT` range selects in a transaction.
    pub distinct_ranges: u32,
    /// Updates of the indexed column in a transaction.
    pub index_updates: u32,
    /// Updates of the other column in a transaction.
    pub non_index_updates: u32,
    /// Pairs of delete and insert in a transaction.
    pub delete_inserts: u32,
    /// Whether there are range selects at all.
    pub range_selects: bool,
    /// No BEGIN and COMMIT: each statement commits by itself.
    pub skip_trx: bool,
    /// A secondary index on `id` in place of the primary key.
    pub secondary: bool,
    /// An index on `k`.
    pub create_secondary: bool,
    /// The server numbers new rows; else the users do, above the rows loaded.
    pub auto_inc: bool,
    /// The storage engine of new tables; empty: the default.
    pub storage_engine: String,
    /// Values in the IN of `select_random_points`.
    pub random_points: u32,
    /// Ranges of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// From the start to the end of each of those ranges.
    pub delta: u64,
    /// How ids are drawn.
    pub distribution: Distribution,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            tables: 1,
            rows: 10_000,
            key_range: None,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            skip_trx: false,
            secondary: false,
            create_secondary: true,
            auto_inc: true,
            storage_engine: String::new(),
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            distribution: Distribution::default(),
        }
    }
}

/// Options that make no workload.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptionsError {
    /// A number is too small or too large.
    #[error("{option} is {value}; it must be from {min} to {max}")]
    OutOfRange {
        /// The option's name.
        option: &'static str,
        /// What it is.
        value: u64,
        /// The least it may be.
        min: u64,
        /// The most it may be.
        max: u64,
    },
    /// The storage engine's name would not be safe in a statement.
    #[error("storage_engine is '{0}'; it must be a name of letters, digits and _")]
    StorageEngine(String),
    /// The distribution's parameters make none.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// The workload uses one table only.
    #[error("{workload} works on one table; tables is {tables}")]
    OneTable {
        /// The workload's name.
        workload: &'static str,
        /// What `tables` is.
        tables: u32,
    },
    /// A transaction would do nothing, for ever and at once.
    #[error("a transaction of {workload} has no statement with these options")]
    NoStatements {
        /// The workload's name.
        workload: &'static str,
    },
}

impl Options {
    /// The highest id that statements ask for.
    pub fn highest_key(&self) -> u64 {
        self.key_range.unwrap_or(self.rows)
    }

    /// Checks every option by itself.
    pub fn validate(&self) -> Result<(), OptionsError> {
        within("tables", u64::from(self.tables), 1, u64::from(MAX_TABLES))?;
        within("rows", self.rows, 1, MAX_ROWS)?;
        within("key_range", self.highest_key(), 1, MAX_ROWS)?;
        within("range_size", self.range_size, 1, MAX_ROWS)?;
        within("delta", self.delta, 0, MAX_ROWS)?;
        for (option, value, min) in self.repeats() {
            within(option, u64::from(value), min, u64::from(MAX_REPEATS))?;
        }
        let name = &self.storage_engine;
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.chars().all(safe) {
            return Err(OptionsError::StorageEngine(name.clone()));
        }
        Ok(self.distribution.validate()?)
    }

    /// What is not as it is by default in transactions and tables, each with its value:
    /// everything but `tables`, `rows`, `key_range` and `distribution`.
    pub fn changed(&self) -> Vec<(&'static str, String)> {
        let pairs = self.named().into_iter().zip(Self::default().named());
        let changed = pairs.filter(|(is, default)| is != default);
        changed.map(|(is, _)| is).collect()
    }

    fn named(&self) -> [(&'static str, String); 18] {
        // Taken apart, so that no new option is forgotten.
        let Options {
            tables: _,
            rows: _,
            key_range: _,
            distribution: _,
            range_size,
            point_selects,
            simple_ranges,
            sum_ranges,
            order_ranges,
            distinct_ranges,
            index_updates,
            non_index_updates,
            delete_inserts,
            range_selects,
            skip_trx,
            secondary,
            create_secondary,
            auto_inc,
            storage_engine,
            random_points,
            number_of_ranges,
            delta,
        } = self;
        [
            ("point_selects", point_selects.to_string()),
            ("range_selects", range_selects.to_string()),
            ("simple_ranges", simple_ranges.to_string()),
            ("sum_ranges", sum_ranges.to_string()),
            ("order_ranges", order_ranges.to_string()),
            ("distinct_ranges", distinct_ranges.to_string()),
            ("range_size", range_size.to_string()),
            ("index_updates", index_updates.to_string()),
            ("non_index_updates", non_index_updates.to_string()),
            ("delete_inserts", delete_inserts.to_string()),
            ("skip_trx", skip_trx.to_string()),
            ("random_points", random_points.to_string()),
            ("number_of_ranges", number_of_ranges.to_string()),
            ("delta", delta.to_string()),
            ("auto_inc", auto_inc.to_string()),
            ("create_secondary", create_secondary.to_string()),
            ("secondary", secondary.to_string()),
            ("storage_engine", storage_engine.clone()),
        ]
    }

    fn repeats(&self) -> [(&'static str, u32, u64); 10] {
        [
            ("point_selects", self.point_selects, 0),
            ("simple_ranges", self.simple_ranges, 0),
            ("sum_ranges", self.sum_ranges, 0),
            ("order_ranges", self.order_ranges, 0),
            ("distinct_ranges", self.distinct_ranges, 0),
            ("index_updates", self.index_updates, 0),
            ("non_index_updates", self.non_index_updates, 0),
            ("delete_inserts", self.delete_inserts, 0),
            ("random_points", self.random_points, 1),
            ("number_of_ranges", self.number_of_ranges, 1),
        ]
    }
}

fn within(option: &'static str, value: u64, min: u64, max: u64) -> Result<(), OptionsError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(OptionsError::OutOfRange {
        option,
        value,
        min,
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_number_is_named_with_its_bounds() {
        let options = Options {
            tables: 0,
            ..Options::default()
        };
        assert_eq!(
            options.validate().unwrap_err().to_string(),
            "tables is 0; it must be from 1 to 100000"
        );
        let options = Options {
            rows: MAX_ROWS + 1,
            ..Options::default()
        };
        assert!(options.validate().is_err());
        let options = Options {
            storage_engine: "x */ DROP".to_owned(),
            ..Options::default()
        };
        assert!(options.validate().is_err());
    }

    #[test]
    fn only_what_is_not_the_default_is_changed() {
        let options = Options {
            rows: 7,
            skip_trx: true,
            point_selects: 1,
            ..Options::default()
        };
        let changed = options.changed();
        let pairs: Vec<_> = changed.iter().map(|(n, v)| (*n, v.as_str())).collect();
        assert_eq!(pairs, [("point_selects", "1"), ("skip_trx", "true")]);
        assert!(Options::default().changed().is_empty());
    }

    #[test]
    fn options_survive_storage_and_refuse_unknown_names() {
        let text = r#"{"rows": 500, "distribution": "zipfian:exp=0.99"}"#;
        let options: Options = serde_json::from_str(text).unwrap();
        assert_eq!((options.rows, options.point_selects), (500, 10));
        let again = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<Options>(&again).unwrap(), options);
        assert!(serde_json::from_str::<Options>(r#"{"row": 5}"#).is_err());
    }
}
