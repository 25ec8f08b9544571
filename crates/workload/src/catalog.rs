//! The statements of a workload: their kinds and their texts.

pub use crate::kind::{Class, Kind};
use crate::name::WorkloadName;
use crate::options::Options;
use crate::schema::Dialect;
use crate::sql;
use crate::step;

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

impl Catalog {
    /// Every statement that `workload` sends, for each of its tables. Bulk
    /// inserts are not in it: their text grows, so they are never prepared.
    pub fn new(workload: WorkloadName, options: &Options, dialect: Dialect) -> Catalog {
        let writes = writes(workload, options);
        let mut statements = Vec::new();
        for kind in step::kinds(workload, options) {
            for table in 1..=Layout::copies(kind, options) {
                statements.push(Statement {
                    kind,
                    sql: sql::text(kind, table, options, dialect, writes),
                });
            }
        }
        Catalog { statements }
    }
}

/// Whether a transaction changes rows with these options.
fn writes(workload: WorkloadName, options: &Options) -> bool {
    step::kinds(workload, options)
        .iter()
        .any(|kind| kind.class() == Class::Write)
}

/// Where each kind's statements start in the catalog, so that a statement's
/// number is an addition and not a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    first: [u32; Kind::ALL.len()],
}

impl Layout {
    /// The places of the statements of `Catalog::new` with the same arguments.
    pub(crate) fn new(workload: WorkloadName, options: &Options) -> Layout {
        let mut first = [0; Kind::ALL.len()];
        let mut next = 0;
        for kind in step::kinds(workload, options) {
            first[kind as usize] = next;
            next += Self::copies(kind, options);
        }
        Layout { first }
    }

    /// The number of `kind`'s statement for a table, counted from 1.
    pub(crate) fn number(&self, kind: Kind, table: u32) -> u32 {
        self.first[kind as usize] + table - 1
    }

    /// How many tables the kind has a statement for.
    fn copies(kind: Kind, options: &Options) -> u32 {
        match kind {
            Kind::Begin | Kind::Commit | Kind::RandomPoints | Kind::RandomRanges => 1,
            Kind::BulkInsert => 0,
            _ => options.tables,
        }
    }
}
