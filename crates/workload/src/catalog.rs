//! The statements of a workload: their kinds and their texts.

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

/// One statement that can be prepared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its kind.
    pub kind: Kind,
    /// Its text with `?` for each parameter.
    pub sql: String,
}

/// All statements of a workload; a statement's number is its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The statements in the order of their numbers.
    pub statements: Vec<Statement>,
}
