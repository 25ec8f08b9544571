//! What the ledger of a trial found.

use serde::{Deserialize, Serialize};

/// The verdict on the acknowledged commits of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerSummary {
    /// Transfers whose commit was acknowledged.
    pub acknowledged: u64,
    /// Transfers that the server refused or rolled back.
    pub failed: u64,
    /// Transfers of unknown fate: the connection was lost before the reply to their commit.
    pub unknown: u64,
    /// Of those, how many were found committed.
    pub unknown_committed: u64,
    /// Acknowledged transfers that are missing on at least one member.
    pub lost: u64,
    /// Transfers that are present, but failed or were never made.
    pub phantom: u64,
    /// Transfers that are present more than once.
    pub duplicated: u64,
    /// Reads of replicas that missed a transfer that had been acknowledged before they began.
    pub stale_reads: u64,
    /// Reads of replicas in all.
    pub replica_reads: u64,
    /// How far the stalest read was behind, in milliseconds.
    pub staleness_max_ms: Option<f64>,
    /// Members whose accounts or transfers differ from the primary's.
    pub diverged: u64,
    /// Members whose balances do not add up.
    pub unbalanced: u64,
    /// Members that were checked, by their numbers from 1.
    pub checked: Vec<u32>,
    /// Members that could not be checked, and why.
    pub unchecked: Vec<(u32, String)>,
    /// The first few transfers that were lost, phantom, or duplicated, in words.
    pub examples: Vec<String>,
}

impl LedgerSummary {
    /// Whether nothing is wrong with any acknowledged commit. Stale reads are no anomaly of
    /// asynchronous replicas.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.lost + self.phantom + self.duplicated + self.diverged + self.unbalanced == 0
    }
}
