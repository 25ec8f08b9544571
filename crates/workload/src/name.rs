//! The table of the built-in workloads, by sysbench's names.

use std::fmt;
use std::str::FromStr;

use crate::bulk_insert;
use crate::catalog::Labels;
use crate::oltp;
use crate::oltp::transaction::{self, Steps};
use crate::options::{Options, OptionsError};
use crate::schema::TableSpec;

/// Declares the workloads: name, body, and what a transaction is, in one line.
macro_rules! workloads {
    ($($variant:ident = $name:literal, $body:expr, $summary:literal;)+) => {
        /// A built-in workload; [`WorkloadName::summary`] says what its transaction is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum WorkloadName {
            $($variant,)+
        }

        impl WorkloadName {
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// The name in a study or on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// What a transaction is, in one line.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$variant => $summary,)+
                }
            }

            pub(crate) fn body(self) -> Body {
                match self {
                    $(Self::$variant => $body,)+
                }
            }
        }
    };
}

workloads! {
    OltpReadWrite = "oltp_read_write", Body::Oltp(&transaction::READ_WRITE),
        "10 point selects, 4 ranges, 2 updates, a delete and an insert";
    OltpReadOnly = "oltp_read_only", Body::Oltp(&transaction::READ_ONLY),
        "10 point selects and 4 ranges";
    OltpWriteOnly = "oltp_write_only", Body::Oltp(&transaction::WRITE_ONLY),
        "2 updates, a delete and an insert";
    OltpPointSelect = "oltp_point_select", Body::Oltp(&transaction::POINT_SELECT),
        "one select by primary key";
    OltpUpdateIndex = "oltp_update_index", Body::Oltp(&transaction::UPDATE_INDEX),
        "one update of an indexed column";
    OltpUpdateNonIndex = "oltp_update_non_index", Body::Oltp(&transaction::UPDATE_NON_INDEX),
        "one update of a column without an index";
    OltpInsert = "oltp_insert", Body::Oltp(&transaction::INSERT),
        "one insert";
    OltpDelete = "oltp_delete", Body::Oltp(&transaction::DELETE),
        "one delete by primary key";
    SelectRandomPoints = "select_random_points", Body::Oltp(&transaction::RANDOM_POINTS),
        "one select of 10 values of a secondary index";
    SelectRandomRanges = "select_random_ranges", Body::Oltp(&transaction::RANDOM_RANGES),
        "one count over 10 ranges of a secondary index";
    BulkInsert = "bulk_insert", Body::BulkInsert,
        "one row of a multi-row insert, a table for each user";
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    Oltp(Steps),
    BulkInsert,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no workload '{name}'; did you mean '{nearest}'?")]
pub struct UnknownWorkload {
    pub name: String,
    /// The workload with the most similar name.
    pub nearest: WorkloadName,
}

impl WorkloadName {
    /// Checks the options, and that they make a transaction of this workload.
    pub fn validate(self, options: &Options) -> Result<(), OptionsError> {
        options.validate()?;
        let (workload, tables) = (self.name(), options.data.tables);
        match self.body() {
            Body::Oltp(steps) if oltp::has_one_table(steps) && tables > 1 => {
                Err(OptionsError::OneTable { workload, tables })
            }
            Body::Oltp(steps) if oltp::is_empty(steps, options) => {
                Err(OptionsError::NoStatements { workload })
            }
            Body::Oltp(_) | Body::BulkInsert => Ok(()),
        }
    }

    /// How many tables it uses: bulk inserts give each user its own.
    pub fn tables(self, options: &Options, users: u32) -> u32 {
        match self.body() {
            Body::Oltp(_) => options.data.tables,
            Body::BulkInsert => users,
        }
    }

    /// What its tables are loaded with.
    pub fn table_spec(self, options: &Options, seed: u64) -> TableSpec {
        let begins_empty = self.begins_empty();
        TableSpec {
            seed,
            rows: if begins_empty { 0 } else { options.data.rows },
            distribution: options.distribution,
            auto_inc: options.data.auto_inc,
            secondary: options.data.secondary,
            create_secondary: options.data.create_secondary,
            storage_engine: options.data.storage_engine.clone().unwrap_or_default(),
            bulk: begins_empty,
        }
    }

    /// Whether its tables have no rows before the first transaction.
    pub fn begins_empty(self) -> bool {
        matches!(self.body(), Body::BulkInsert)
    }

    /// The labels of its statements, in the order in which a transaction runs them.
    pub fn labels(self, options: &Options) -> Labels {
        match self.body() {
            Body::Oltp(steps) => oltp::labels(steps, options),
            Body::BulkInsert => bulk_insert::catalog().0.labels,
        }
    }

    pub fn statement_count(self, options: &Options) -> u64 {
        match self.body() {
            Body::Oltp(steps) => oltp::statement_count(steps, options),
            Body::BulkInsert => 0,
        }
    }
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WorkloadName {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|name| name.name() == text);
        found.ok_or_else(|| UnknownWorkload {
            name: text.to_owned(),
            nearest: nearest(text),
        })
    }
}

fn nearest(text: &str) -> WorkloadName {
    let likeness = |name: &WorkloadName| strsim::jaro_winkler(name.name(), text);
    // Reversed, because `max_by` returns the last of equal ones.
    let names = WorkloadName::ALL.into_iter().rev();
    let nearest = names.max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    nearest.unwrap_or(WorkloadName::OltpReadWrite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in WorkloadName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(WorkloadName::ALL[name as usize], name);
        }
    }

    #[test]
    fn the_defaults_are_valid_for_every_workload() {
        for workload in WorkloadName::ALL {
            assert_eq!(workload.validate(&Options::default()), Ok(()));
        }
    }

    #[test]
    fn a_transaction_without_statements_is_refused() {
        let mut options = Options::default();
        options.transaction.index_updates = 0;
        options.data.tables = 2;
        assert!(WorkloadName::OltpUpdateIndex.validate(&options).is_err());
        assert!(WorkloadName::OltpReadWrite.validate(&options).is_ok());
        let error = WorkloadName::SelectRandomPoints.validate(&options);
        let expected = "select_random_points works on one table; tables is 2";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest() {
        let error = "oltp_readwrite".parse::<WorkloadName>().unwrap_err();
        assert_eq!(error.nearest, WorkloadName::OltpReadWrite);
        let error = "random_ranges".parse::<WorkloadName>().unwrap_err();
        let expected = "there is no workload 'random_ranges'; did you mean 'select_random_ranges'?";
        assert_eq!(error.to_string(), expected);
    }
}
