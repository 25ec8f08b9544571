//! Reads a member beside the load to find out how stale it is. The primary is read, too, and so is
//! a member that was cut off and does not know that another one has taken over.

use std::time::Instant;

use engine::Sql;
use measure::ledger::{Read, Record};
use workload::ledger::read_sequence;
use workload::session::SessionError;

use super::Ledger;
use super::connection::ANSWER_LIMIT;
use super::schedule::{Schedule, Turns};
use crate::Database;

pub(super) struct Reader<'a> {
    ledger: &'a Ledger<'a>,
    schedule: Schedule<'a>,
    member: u32,
    connection: Option<Box<dyn Sql>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(ledger: &'a Ledger<'a>, schedule: Schedule<'a>, member: u32) -> Self {
        Self {
            ledger,
            schedule,
            member,
            connection: None,
        }
    }

    /// Reads for one user after another, in turns with the readers of the other members, until the
    /// measurement ends or nothing more can be recorded.
    pub(super) fn run(mut self) {
        let members = self.ledger.cluster().members();
        let index = usize::try_from(self.member).unwrap_or(usize::MAX);
        let (Some(begun), Some(member)) = (self.schedule.clock.begun(), members.get(index)) else {
            return;
        };
        let readers = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let rate = self.ledger.planned.replica_reads;
        let mut turns = Turns::new(begun, rate, self.member + 1, readers);
        for user in (1..=self.ledger.planned.users()).cycle() {
            if !self.schedule.wait(turns.next(Instant::now()), begun) {
                return;
            }
            let at_s = self.schedule.now_s();
            // No answer, no evidence.
            let Ok(sequence) = self.read(&member.database, user) else {
                continue;
            };
            let read = Record::Read(Read {
                at_s,
                member: member.number,
                user: user.into(),
                sequence,
            });
            if self.ledger.recorder.record(read).is_err() {
                return;
            }
        }
    }

    fn read(&mut self, database: &Database, user: u32) -> Result<i64, SessionError> {
        let mut sql = match self.connection.take() {
            Some(sql) => sql,
            None => database.connect(ANSWER_LIMIT)?,
        };
        let rows = sql.rows(&read_sequence(user), ANSWER_LIMIT)?;
        self.connection = Some(sql);
        let cell = rows.into_iter().flatten().flatten().next();
        Ok(cell.and_then(|cell| cell.parse().ok()).unwrap_or(0))
    }
}
