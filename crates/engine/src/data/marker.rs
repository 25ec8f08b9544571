//! The mark that dyno keeps about each table, in the table `dyno_tables` beside it.

use serde::{Deserialize, Serialize};
use workload::name::WorkloadName;
use workload::options::Options;
use workload::rows::Checksum;
use workload::schema::table_name;

use super::Wanted;

/// The table of marks.
pub(crate) const MARKER_TABLE: &str = "dyno_tables";

/// Makes the table of marks; the same text works on every engine.
pub(crate) const CREATE_MARKER: &str = "CREATE TABLE IF NOT EXISTS dyno_tables (\
     name VARCHAR(64) NOT NULL PRIMARY KEY, \
     state VARCHAR(16) NOT NULL, \
     spec VARCHAR(1000) NOT NULL, \
     row_count BIGINT NOT NULL, \
     checksum BIGINT NOT NULL)";

/// Reads the row counts and checksums.
pub(crate) const READ_CHECKSUMS: &str = "SELECT row_count, checksum FROM dyno_tables";

/// What a table was loaded with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) seed: u64,
    /// 0 for a table of bulk inserts, which begins empty.
    pub(crate) rows: u64,
    distribution: String,
    auto_inc: bool,
    secondary: bool,
    create_secondary: bool,
    storage_engine: String,
    bulk: bool,
}

/// What is marked about a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) spec: Spec,
    pub(crate) ready: bool,
}

// Floats are only in the distribution, which is kept as text.
impl Eq for Spec {}
impl Eq for Mark {}

impl Spec {
    /// What `wanted` asks of each table.
    pub(crate) fn wanted(wanted: &Wanted<'_>) -> Self {
        let bulk = wanted.workload == WorkloadName::BulkInsert;
        Self::of(wanted.options, wanted.seed, bulk)
    }

    pub(crate) fn of(options: &Options, seed: u64, bulk: bool) -> Self {
        Self {
            seed,
            rows: if bulk { 0 } else { options.rows },
            distribution: options.distribution.to_string(),
            auto_inc: options.auto_inc,
            secondary: options.secondary,
            create_secondary: options.create_secondary,
            storage_engine: options.storage_engine.clone(),
            bulk,
        }
    }

    pub(crate) fn is_bulk(&self) -> bool {
        self.bulk
    }

    /// Whether a load that wants `other` can use it: everything but how the rows
    /// were drawn.
    pub(crate) fn same_shape(&self, other: &Self) -> bool {
        Self {
            seed: other.seed,
            distribution: other.distribution.clone(),
            ..self.clone()
        } == *other
    }

    pub(crate) fn shown(&self) -> String {
        let mut text = format!("{} rows", self.rows);
        for (said, set) in [
            (", without AUTO_INCREMENT", !self.auto_inc),
            (", with a secondary key for the primary", self.secondary),
            (", without the index on k", !self.create_secondary),
            (", for bulk inserts", self.bulk),
        ] {
            if set {
                text.push_str(said);
            }
        }
        if self.storage_engine != "innodb" {
            text.push_str(", engine ");
            text.push_str(&self.storage_engine);
        }
        text
    }

    /// Marks a table as being loaded.
    pub(crate) fn mark_loading(&self, table: u32) -> String {
        self.mark(table, "loading", Checksum::default())
    }

    /// Marks a table as whole.
    pub(crate) fn mark_ready(&self, table: u32, checksum: Checksum) -> String {
        self.mark(table, "ready", checksum)
    }

    fn mark(&self, table: u32, state: &str, checksum: Checksum) -> String {
        // The text of a spec is made here and holds no quote but JSON's.
        let spec = serde_json::to_string(self)
            .unwrap_or_default()
            .replace('\'', "''");
        let (name, count, xor) = (table_name(table), checksum.count, checksum.xor);
        format!(
            "REPLACE INTO {MARKER_TABLE} VALUES ('{name}', '{state}', '{spec}', {count}, {xor})"
        )
    }
}

impl Mark {
    /// Reads the columns `state` and `spec`. A mark that cannot be read counts as
    /// an interrupted load.
    pub(crate) fn parse(state: &str, spec: &str, wanted: &Spec) -> Self {
        match serde_json::from_str(spec) {
            Ok(spec) => Self {
                spec,
                ready: state == "ready",
            },
            Err(_) => Self {
                spec: wanted.clone(),
                ready: false,
            },
        }
    }
}
