//! The ledger of an instance: transfers beside its load, and afterward the proof of what became of
//! each acknowledged commit, on every member.

mod appender;
mod connection;
mod members;
mod reader;
mod recorder;
mod schedule;
mod user;
mod verify;

use engine::Sql;
use engine::replication::Role;
use workload::schema::Dialect;
use workload::session::SessionError;

use crate::cluster::{Cluster, Member};
use crate::instance::Instance;

use recorder::Recorder;
pub(crate) use schedule::Schedule;
pub(crate) use verify::{Verified, open, spawn};

pub(crate) struct Ledger<'a> {
    /// The instance's number, counted from 1.
    number: u32,
    instance: &'a Instance,
    planned: &'a plan::Ledger,
    seed: u64,
    recorder: Recorder,
}

impl<'a> Ledger<'a> {
    fn cluster(&self) -> &'a Cluster {
        &self.instance.cluster
    }

    fn dialect(&self) -> &'static Dialect {
        self.instance.database.engine().about().dialect
    }

    /// Asks a member for its role.
    fn role(&self, member: &Member, sql: &mut dyn Sql) -> Result<Role, SessionError> {
        let ask = |query: &str| sql.rows(query, connection::ANSWER_LIMIT);
        Ok(self.cluster().view(member, ask)?.state)
    }
}

#[cfg(test)]
mod tests;
