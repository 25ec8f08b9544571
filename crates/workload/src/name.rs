//! The workloads by name: sysbench's names, for they are the field's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::options::Options;

/// A workload that dyno has built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WorkloadName {
    /// Point selects, ranges, updates, a delete and an insert in a transaction.
    OltpReadWrite,
    /// Point selects and ranges in a transaction.
    OltpReadOnly,
    /// Updates, a delete and an insert in a transaction.
    OltpWriteOnly,
    /// One select by id.
    OltpPointSelect,
    /// One update of an indexed column.
    OltpUpdateIndex,
    /// One update of a column without an index.
    OltpUpdateNonIndex,
    /// One insert.
    OltpInsert,
    /// One delete by id.
    OltpDelete,
    /// One select of random values of the secondary index.
    SelectRandomPoints,
    /// One count over random ranges of the secondary index.
    SelectRandomRanges,
    /// Rows gathered into large inserts, a table for each user.
    BulkInsert,
}

/// No workload of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no workload '{name}'; did you mean '{nearest}'?")]
pub struct UnknownWorkload {
    /// The name that was asked for.
    pub name: String,
    /// The workload whose name is nearest to it.
    pub nearest: WorkloadName,
}

impl WorkloadName {
    /// Every workload.
    pub const ALL: [WorkloadName; 11] = [
        WorkloadName::OltpReadWrite,
        WorkloadName::OltpReadOnly,
        WorkloadName::OltpWriteOnly,
        WorkloadName::OltpPointSelect,
        WorkloadName::OltpUpdateIndex,
        WorkloadName::OltpUpdateNonIndex,
        WorkloadName::OltpInsert,
        WorkloadName::OltpDelete,
        WorkloadName::SelectRandomPoints,
        WorkloadName::SelectRandomRanges,
        WorkloadName::BulkInsert,
    ];

    /// The name that a study or the command line gives.
    pub fn name(self) -> &'static str {
        match self {
            WorkloadName::OltpReadWrite => "oltp_read_write",
            WorkloadName::OltpReadOnly => "oltp_read_only",
            WorkloadName::OltpWriteOnly => "oltp_write_only",
            WorkloadName::OltpPointSelect => "oltp_point_select",
            WorkloadName::OltpUpdateIndex => "oltp_update_index",
            WorkloadName::OltpUpdateNonIndex => "oltp_update_non_index",
            WorkloadName::OltpInsert => "oltp_insert",
            WorkloadName::OltpDelete => "oltp_delete",
            WorkloadName::SelectRandomPoints => "select_random_points",
            WorkloadName::SelectRandomRanges => "select_random_ranges",
            WorkloadName::BulkInsert => "bulk_insert",
        }
    }

    /// What a transaction is, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            WorkloadName::OltpReadWrite => {
                "10 point selects, 4 ranges, 2 updates, a delete and an insert"
            }
            WorkloadName::OltpReadOnly => "10 point selects and 4 ranges",
            WorkloadName::OltpWriteOnly => "2 updates, a delete and an insert",
            WorkloadName::OltpPointSelect => "one select by primary key",
            WorkloadName::OltpUpdateIndex => "one update of an indexed column",
            WorkloadName::OltpUpdateNonIndex => "one update of a column without an index",
            WorkloadName::OltpInsert => "one insert",
            WorkloadName::OltpDelete => "one delete by primary key",
            WorkloadName::SelectRandomPoints => "one select of 10 values of a secondary index",
            WorkloadName::SelectRandomRanges => "one count over 10 ranges of a secondary index",
            WorkloadName::BulkInsert => "one row of a multi-row insert, a table for each user",
        }
    }

    /// Whether it changes rows.
    pub fn writes(self) -> bool {
        !matches!(
            self,
            WorkloadName::OltpReadOnly
                | WorkloadName::OltpPointSelect
                | WorkloadName::SelectRandomPoints
                | WorkloadName::SelectRandomRanges
        )
    }

    /// How many tables it uses: bulk inserts give each user its own.
    pub fn tables(self, options: &Options, users: u32) -> u32 {
        match self {
            WorkloadName::BulkInsert => users,
            _ => options.tables,
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

impl TryFrom<String> for WorkloadName {
    type Error = UnknownWorkload;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<WorkloadName> for String {
    fn from(name: WorkloadName) -> String {
        name.name().to_owned()
    }
}

fn nearest(text: &str) -> WorkloadName {
    let mut best = WorkloadName::OltpReadWrite;
    let mut best_likeness = 0.0;
    for name in WorkloadName::ALL {
        let likeness = strsim::jaro_winkler(name.name(), text);
        if likeness > best_likeness {
            (best, best_likeness) = (name, likeness);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in WorkloadName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        let json = serde_json::to_string(&WorkloadName::OltpDelete).unwrap();
        assert_eq!(json, "\"oltp_delete\"");
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest() {
        let error = "oltp_readwrite".parse::<WorkloadName>().unwrap_err();
        assert_eq!(error.nearest, WorkloadName::OltpReadWrite);
        let error = "random_ranges".parse::<WorkloadName>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no workload 'random_ranges'; did you mean 'select_random_ranges'?"
        );
    }
}
