//! A user of the ledger that makes one transfer after another on a connection of its own.

use std::time::Instant;

use engine::Sql;
use measure::ledger::{Fate, Record, Transfer};
use workload::ledger::Movement;
use workload::session::SessionError;

use super::Ledger;
use super::connection::{Connection, run};
use super::recorder::Full;
use super::schedule::{Schedule, Turns};

pub(super) struct User<'a> {
    ledger: &'a Ledger<'a>,
    schedule: Schedule<'a>,
    /// Counted from 1.
    number: u32,
    sequence: u64,
    connection: Connection<'a>,
}

impl<'a> User<'a> {
    pub(super) fn new(ledger: &'a Ledger<'a>, schedule: Schedule<'a>, number: u32) -> Self {
        Self {
            ledger,
            schedule,
            number,
            sequence: 0,
            connection: Connection::new(ledger, number),
        }
    }

    /// Makes transfers until the measurement ends or nothing more can be recorded.
    pub(super) fn run(mut self) {
        let Some(begun) = self.schedule.clock.begun() else {
            return;
        };
        let (rate, users) = (self.ledger.planned.rate, self.ledger.planned.users());
        let mut turns = Turns::new(begun, rate, self.number, users);
        while self.schedule.wait(turns.next(Instant::now()), begun) {
            if self.transfer().is_err() {
                return;
            }
        }
    }

    fn transfer(&mut self) -> Result<(), Full> {
        let Some(mut connected) = self.connection.connected() else {
            return Ok(());
        };
        self.sequence += 1;
        let movement = Movement::draw(self.ledger.seed, self.number, self.sequence);
        let transfer = Transfer {
            user: self.number.into(),
            sequence: i64::try_from(self.sequence).unwrap_or(i64::MAX),
            from: movement.from.into(),
            to: movement.to.into(),
            amount: movement.amount.into(),
        };
        let recorder = &self.ledger.recorder;
        recorder.record(Record::Begun {
            at_s: self.schedule.now_s(),
            transfer,
        })?;
        let (fate, error) = self.attempt(&mut *connected.sql, &movement);
        recorder.record(Record::Ended {
            at_s: self.schedule.now_s(),
            user: transfer.user,
            sequence: transfer.sequence,
            fate,
            error: error.as_ref().map(ToString::to_string),
        })?;
        self.connection.keep(connected, error.as_ref());
        Ok(())
    }

    /// Only the reply to its commit acknowledges a transfer. Before the commit is sent, every error
    /// rolls it back; after that, only errors that say so do.
    fn attempt(&self, sql: &mut dyn Sql, movement: &Movement) -> (Fate, Option<SessionError>) {
        let dialect = self.ledger.dialect();
        let statements = movement.statements(self.number, self.sequence);
        let begin = std::iter::once(dialect.begin_to_write);
        for statement in begin.chain(statements.iter().map(String::as_str)) {
            if let Err(error) = run(sql, statement) {
                return (Fate::Failed, Some(error));
            }
        }
        match run(sql, "COMMIT") {
            Ok(()) => (Fate::Acknowledged, None),
            Err(error) if is_rolled_back(&error) => (Fate::Failed, Some(error)),
            Err(error) => (Fate::Unknown, Some(error)),
        }
    }
}

/// Whether the reply to a commit says that it was rolled back: SQLSTATEs of class 40, except that
/// of a statement whose completion is unknown. A replication group that cannot tell whether it
/// broadcast a transaction also reports a rollback, and may commit it.
pub(super) fn is_rolled_back(error: &SessionError) -> bool {
    const COMPLETION_UNKNOWN: &[u8; 5] = b"40003";
    const ROLLED_BACK_DURING_COMMIT: u32 = 3101;
    let says_so = |state: [u8; 5]| state.starts_with(b"40") && state != *COMPLETION_UNKNOWN;
    error.is_from_server()
        && error.sqlstate.is_some_and(says_so)
        && error.number != Some(ROLLED_BACK_DURING_COMMIT)
}

#[cfg(test)]
mod tests {
    use workload::session::FailureKind;

    use super::*;

    #[test]
    fn only_an_answer_of_the_server_says_that_a_commit_was_rolled_back() {
        let error = |sqlstate: Option<&[u8; 5]>, number| SessionError {
            kind: FailureKind::Lost,
            sqlstate: sqlstate.copied(),
            number,
            message: String::new(),
            statement: None,
        };
        assert!(is_rolled_back(&error(Some(b"40001"), Some(1213))));
        assert!(is_rolled_back(&error(Some(b"40P01"), None)));
        // Unknown: the group may have it, or the server ended or did not answer.
        assert!(!is_rolled_back(&error(Some(b"40000"), Some(3101))));
        assert!(!is_rolled_back(&error(Some(b"40003"), None)));
        assert!(!is_rolled_back(&error(Some(b"57P01"), None)));
        assert!(!is_rolled_back(&error(Some(b"HY000"), Some(1180))));
        assert!(!is_rolled_back(&error(None, None)));
    }
}
