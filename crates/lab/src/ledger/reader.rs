//! Reads replicas beside the load, to find out how stale they are.

use std::collections::HashMap;
use std::time::Instant;

use engine::Sql;
use measure::ledger::{Read, Record};
use workload::ledger::read_sequence;
use workload::session::SessionError;

use super::Ledger;
use super::schedule::{Schedule, Turns};
use super::user::ANSWER_LIMIT;
use crate::Database;

pub(super) struct Reader<'a> {
    ledger: &'a Ledger<'a>,
    schedule: Schedule<'a>,
    /// By the member's number.
    connections: HashMap<u32, Box<dyn Sql>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(ledger: &'a Ledger<'a>, schedule: Schedule<'a>) -> Self {
        Self {
            ledger,
            schedule,
            connections: HashMap::new(),
        }
    }

    /// Reads one replica after the other, each for one user after the other, until the measurement
    /// ends or nothing more can be recorded.
    pub(super) fn run(mut self) {
        let Some(begun) = self.schedule.clock.begun() else {
            return;
        };
        let members = self.ledger.databases();
        let mut turns = Turns::new(begun, self.ledger.planned.replica_reads, 1, 1);
        let users = (1..=self.ledger.planned.users()).cycle();
        for (member, user) in members.iter().enumerate().cycle().zip(users) {
            let (index, (number, database)) = member;
            if index == self.ledger.primary_index() {
                continue;
            }
            if !self.schedule.wait(turns.next(Instant::now()), begun) {
                return;
            }
            let at_s = self.schedule.now_s();
            // A replica that does not answer shows nothing.
            let Ok(sequence) = self.read(*number, database, user) else {
                continue;
            };
            let read = Record::Read(Read {
                at_s,
                member: *number,
                user: user.into(),
                sequence,
            });
            if self.ledger.recorder.record(read).is_err() {
                return;
            }
        }
    }

    fn read(&mut self, member: u32, database: &Database, user: u32) -> Result<i64, SessionError> {
        let mut sql = match self.connections.remove(&member) {
            Some(sql) => sql,
            None => database.connect(ANSWER_LIMIT)?,
        };
        let rows = sql.rows(&read_sequence(user), ANSWER_LIMIT)?;
        self.connections.insert(member, sql);
        let cell = rows.into_iter().flatten().flatten().next();
        Ok(cell.and_then(|cell| cell.parse().ok()).unwrap_or(0))
    }
}
