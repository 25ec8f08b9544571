//! The kinds of statement, their names and classes.

use std::fmt;

/// The kinds of statement that dyno sends; results are kept for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Start of a transaction.
    Begin,
    /// `SELECT c … WHERE id = ?`
    PointSelect,
    /// `SELECT c … BETWEEN`
    SimpleRange,
    /// `SELECT SUM(k) … BETWEEN`
    SumRange,
    /// `… ORDER BY c`
    OrderRange,
    /// `SELECT DISTINCT …`
    DistinctRange,
    /// `UPDATE … SET k = k + 1`
    IndexUpdate,
    /// `UPDATE … SET c = ?`
    NonIndexUpdate,
    /// `DELETE … WHERE id = ?`
    Delete,
    /// `INSERT … VALUES (?, ?, ?, ?)`
    Insert,
    /// `SELECT … WHERE k IN (…)`
    RandomPoints,
    /// `SELECT COUNT(k) … WHERE k BETWEEN … OR …`
    RandomRanges,
    /// A multi-row INSERT that was filled to the packet's size.
    BulkInsert,
    /// End of a transaction.
    Commit,
}

/// Whether a statement reads, writes or does neither, as sysbench counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Reads rows.
    Read,
    /// Changes rows.
    Write,
    /// BEGIN, COMMIT.
    Other,
}

impl Kind {
    /// Every kind, in the order of the enum (`kind as usize` is its index).
    pub const ALL: [Kind; 14] = [
        Kind::Begin,
        Kind::PointSelect,
        Kind::SimpleRange,
        Kind::SumRange,
        Kind::OrderRange,
        Kind::DistinctRange,
        Kind::IndexUpdate,
        Kind::NonIndexUpdate,
        Kind::Delete,
        Kind::Insert,
        Kind::RandomPoints,
        Kind::RandomRanges,
        Kind::BulkInsert,
        Kind::Commit,
    ];

    /// The name that results carry.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Begin => "begin",
            Kind::PointSelect => "point_select",
            Kind::SimpleRange => "simple_range",
            Kind::SumRange => "sum_range",
            Kind::OrderRange => "order_range",
            Kind::DistinctRange => "distinct_range",
            Kind::IndexUpdate => "index_update",
            Kind::NonIndexUpdate => "non_index_update",
            Kind::Delete => "delete",
            Kind::Insert => "insert",
            Kind::RandomPoints => "random_points",
            Kind::RandomRanges => "random_ranges",
            Kind::BulkInsert => "bulk_insert",
            Kind::Commit => "commit",
        }
    }

    /// Whether it reads, writes or does neither.
    pub fn class(self) -> Class {
        match self {
            Kind::Begin | Kind::Commit => Class::Other,
            Kind::PointSelect
            | Kind::SimpleRange
            | Kind::SumRange
            | Kind::OrderRange
            | Kind::DistinctRange
            | Kind::RandomPoints
            | Kind::RandomRanges => Class::Read,
            Kind::IndexUpdate
            | Kind::NonIndexUpdate
            | Kind::Delete
            | Kind::Insert
            | Kind::BulkInsert => Class::Write,
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_enum_and_names_are_unique() {
        for (i, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("select"), None);
    }
}
