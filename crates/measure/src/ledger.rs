//! The ledger: transfers between accounts beside a load, which show what became of each
//! acknowledged commit. [`history`] holds what the client knows about them; [`check`] compares that
//! with what the members of a cluster hold.

mod check;
mod elle;
mod history;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::warning::Warning;

pub use check::{Contents, Row, check, in_flight, losses};
pub use elle::edn;
pub use history::{
    Appending, Entry, Fate, History, HistoryError, MAX_LINE_BYTES, Opening, Read, Record,
};

/// An amount that one transaction moves between two accounts, identified by user and sequence.
/// Numbers are as wide as the database's columns, whose rows may hold any value.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Transfer {
    /// The user who made it, counted from 1.
    pub user: i64,
    /// Number of the transfer among those of its user, counted from 1.
    pub sequence: i64,
    pub from: i64,
    pub to: i64,
    pub amount: i64,
}

/// For example `transfer 17 of user 2 (5 from account 81 to 9)`.
impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            user,
            sequence,
            from,
            to,
            amount,
        } = self;
        write!(
            f,
            "transfer {sequence} of user {user} ({amount} from account {from} to {to})"
        )
    }
}

/// The verdict on the acknowledged commits of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerSummary {
    pub acknowledged: u64,
    /// Transfers that the server refused or rolled back.
    pub failed: u64,
    /// Transfers with an unknown outcome: the connection was lost before the reply to their commit.
    pub unknown: u64,
    /// Transfers among `unknown` that were found committed.
    pub unknown_committed: u64,
    /// Acknowledged transfers that are missing on the primary.
    pub lost: u64,
    /// Acknowledged transfers that the primary has and at least one other member has not applied
    /// yet.
    pub behind: u64,
    /// Transfers that are present although they failed or were never made.
    pub phantom: u64,
    /// Transfers that are present more than once.
    pub duplicated: u64,
    /// Reads of members that missed a transfer acknowledged before they began.
    pub stale_reads: u64,
    pub replica_reads: u64,
    /// Reads that found less than an earlier read of the same member.
    pub backward_reads: u64,
    pub aborted_reads: u64,
    /// Transfers that were read and did not fail, but are missing on the primary.
    pub vanished_reads: u64,
    pub staleness_max_ms: Option<f64>,
    /// Members whose accounts or transfers differ from the primary's.
    pub diverged: u64,
    /// Members whose balances do not add up.
    pub unbalanced: u64,
    /// Members that were checked, numbered from 1.
    pub checked: Vec<u32>,
    /// Members that could not be checked, and why.
    pub unchecked: Vec<(u32, String)>,
    /// Values appended to lists whose commit was acknowledged.
    pub appends: u64,
    /// Values among `appends` that are missing on the primary.
    pub lost_appends: u64,
    /// Reads of lists that are not a prefix of the primary's list.
    pub misordered_reads: u64,
    /// When recording stopped, in seconds on the trial's clock; `None` if everything was recorded.
    pub stopped_at_s: Option<f64>,
    /// Descriptions of the first lost, phantom, or duplicated transfers.
    pub examples: Vec<String>,
}

impl LedgerSummary {
    /// A count of anomalies; `None` if no members were checked.
    pub fn found(&self, count: u64) -> Option<u64> {
        (!self.checked.is_empty()).then_some(count)
    }

    /// Stale reads; `None` if no members were read.
    pub(crate) fn stale(&self) -> Option<u64> {
        (self.replica_reads > 0).then_some(self.stale_reads)
    }

    /// What prevents the ledger from proving something, or anything.
    pub fn warning(&self) -> Option<Warning> {
        let reason = match (self.checked.as_slice(), self.acknowledged) {
            ([], _) => {
                let unchecked = self.unchecked.iter();
                let reasons = unchecked.map(|(server, why)| format!("server {server}: {why}"));
                reasons.collect::<Vec<_>>().join("; ")
            }
            (_, 0) => "no transfer was acknowledged".to_owned(),
            _ => {
                let at_s = self.stopped_at_s?;
                return Some(Warning::LedgerStopped { at_s });
            }
        };
        Some(Warning::LedgerUnchecked { reason })
    }

    /// Whether nothing is wrong with any acknowledged commit. Stale reads are not an anomaly of
    /// asynchronous replicas.
    pub fn is_intact(&self) -> bool {
        let beside = self.aborted_reads + self.lost_appends;
        self.lost + self.phantom + self.duplicated + self.diverged + self.unbalanced + beside == 0
    }
}
