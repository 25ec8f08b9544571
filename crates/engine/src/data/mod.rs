//! Loading data, and the marks on loaded tables.
//!
//! Every engine takes the same steps: inspect each table, reject those of other programs that do
//! not fit, mark a table as being loaded, load it in parts, index it, and mark it as loaded with its
//! row count and checksum. Once all tables are loaded, the server's maintenance settles them, and
//! they are marked as ready. After an interruption, a table whose mark says *loading* is rebuilt, and
//! one whose mark says *loaded* is settled.

pub mod ledger;
pub(crate) mod load;
pub(crate) mod loads;
pub(crate) mod lock;
pub(crate) mod parts;
mod script;
pub(crate) mod state;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plan::Failure;
use workload::name::WorkloadName;
use workload::options::Options;

use crate::database::Database;
pub use script::{Command, ScriptData, run};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Missing,
    Always,
}

#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub workload: WorkloadName,
    /// In place of tables of the workload.
    pub script: Option<&'a ScriptData>,
    /// Tables and rows.
    pub options: &'a Options,
    pub seed: u64,
    /// Number of virtual users: bulk inserts have a table for each.
    pub users: u32,
    pub mode: Mode,
    pub connections: u32,
    /// How long a server may make no progress before dyno checks it, and ends the work if the
    /// server does not answer. For servers reached over the network.
    pub stall_limit: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Note(String),
    Loading {
        /// Rows in the database so far.
        rows: u64,
        /// Rows in all tables to load.
        of: u64,
    },
    /// A command of a script runs.
    Running {
        what: String,
        statements: u64,
    },
    Indexing {
        tables: u32,
        of: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prepared {
    pub found: u32,
    pub loaded: u32,
    pub rows: u64,
    pub is_of_script: bool,
}

/// Receives progress of a preparation, and may interrupt it.
pub struct Listener<'a> {
    pub tell: &'a mut dyn FnMut(Progress),
    /// Becomes true when the user interrupts dyno.
    pub interrupted: &'a AtomicBool,
}

/// Runs a script's own preparation, or loads missing tables of a workload.
pub fn prepare(
    database: &dyn Database,
    wanted: &Wanted<'_>,
    listener: Listener<'_>,
) -> Result<Prepared, Failure> {
    match wanted.script {
        Some(data) => script::prepare(database, data, wanted.mode, listener),
        None => database.prepare(wanted, listener),
    }
}

/// The failure after an interrupt; the next preparation rebuilds unfinished tables.
pub(crate) fn canceled() -> Failure {
    Failure::interrupted("interrupted while loading; the next run finishes the data")
}

/// The statements that read every row of a table, and every entry of its index if it has one;
/// `by_rows` and `by_index` make the server read one way or the other.
pub(crate) fn reading(
    options: &Options,
    table: &str,
    by_rows: &str,
    by_index: &str,
) -> Vec<String> {
    let rows = format!("SELECT COUNT(*), SUM(LENGTH(pad)) FROM {table}{by_rows}");
    let index = format!("SELECT COUNT(*), MAX(k) FROM {table}{by_index} WHERE k >= 0");
    match options.data.create_secondary {
        true => vec![rows, index],
        false => vec![rows],
    }
}
