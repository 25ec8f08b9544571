//! A user of the ledger, who makes one transaction after another on a connection of its own.

use std::time::Instant;

use engine::Sql;
use measure::ledger::{Appending, Fate, Record, Transfer};
use workload::ledger::{APPENDERS, Append, Movement, values};
use workload::session::SessionError;

use super::Ledger;
use super::connection::{ANSWER_LIMIT, Connected, home, run};
use super::recorder::Full;
use crate::drive::clock::Clock;

/// The rate of all appends, as a fraction of the rate of transfers. Few suffice.
const APPEND_SHARE: f64 = 0.2;
/// Length of the longest list that is recorded, so that it fits in a line of the history.
const MAX_VALUES: usize = 300;

pub(super) struct User<'a> {
    pub(super) ledger: &'a Ledger<'a>,
    clock: Clock<'a>,
    /// Counted from 1.
    pub(super) number: u32,
    sequence: u64,
    pub(super) kept: Option<Connected>,
    /// The index of the server that the user stays with; `None` if it follows the primary.
    pub(super) home: Option<usize>,
    /// When that server became unreachable for the user.
    pub(super) away_since: Option<Instant>,
}

impl<'a> User<'a> {
    pub(super) fn new(ledger: &'a Ledger<'a>, clock: Clock<'a>, number: u32) -> Self {
        Self {
            ledger,
            clock,
            number,
            sequence: 0,
            kept: None,
            home: home(ledger.cluster(), number),
            away_since: None,
        }
    }

    /// Makes transfers until the measurement ends or nothing more can be recorded.
    pub(super) fn make_transfers(mut self) {
        let (ledger, clock, number) = (self.ledger, self.clock, self.number);
        let (rate, users) = (ledger.planned.rate, ledger.planned.users());
        ledger.take_turns(clock, rate, number, users, || self.transfer());
    }

    /// Reads one list and appends to another one in each transaction, until the measurement ends or
    /// nothing more can be recorded.
    pub(super) fn make_appends(mut self) {
        let (ledger, clock, number) = (self.ledger, self.clock, self.number);
        let rate = ledger.planned.rate * APPEND_SHARE;
        ledger.take_turns(clock, rate, number, APPENDERS, || self.append());
    }

    fn transfer(&mut self) -> Result<(), Full> {
        let Some(mut connected) = self.connected() else {
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
            at_s: self.clock.now_s(),
            transfer,
        })?;
        let statements = movement.statements(self.number, self.sequence);
        let (fate, error) = self.commit(&mut *connected.sql, |sql| {
            statements
                .iter()
                .try_for_each(|statement| run(sql, statement))
        });
        recorder.record(Record::Ended {
            at_s: self.clock.now_s(),
            user: transfer.user,
            sequence: transfer.sequence,
            fate,
            error: error.as_ref().map(ToString::to_string),
        })?;
        self.keep(connected, error.as_ref());
        Ok(())
    }

    fn append(&mut self) -> Result<(), Full> {
        let Some(mut connected) = self.connected() else {
            return Ok(());
        };
        self.sequence += 1;
        let append = Append::draw(self.ledger.seed, self.number, self.sequence);
        let value = i64::try_from(append.value).unwrap_or(i64::MAX);
        let recorder = &self.ledger.recorder;
        recorder.record(Record::Appending {
            at_s: self.clock.now_s(),
            append: Appending {
                user: self.number.into(),
                read: append.read.into(),
                list: append.list.into(),
                value,
                found: None,
            },
        })?;
        let [read, write] = append.statements();
        let mut found = None;
        let (fate, error) = self.commit(&mut *connected.sql, |sql| {
            let rows = sql.rows(&read, ANSWER_LIMIT)?;
            let items = rows.into_iter().flatten().flatten().next();
            found = items.and_then(|items| values(&items));
            run(sql, &write)
        });
        recorder.record(Record::Appended {
            at_s: self.clock.now_s(),
            value,
            fate,
            found: found.filter(|found| found.len() <= MAX_VALUES),
        })?;
        self.keep(connected, error.as_ref());
        Ok(())
    }

    /// Executes a transaction. Only the reply to its commit acknowledges it. Before the commit is
    /// sent, every error rolls it back; after that, only errors that say so do.
    fn commit(
        &self,
        sql: &mut dyn Sql,
        work: impl FnOnce(&mut dyn Sql) -> Result<(), SessionError>,
    ) -> (Fate, Option<SessionError>) {
        let begun = run(sql, self.ledger.dialect().begin_to_write);
        if let Err(error) = begun.and_then(|()| work(sql)) {
            return (Fate::Failed, Some(error));
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
fn is_rolled_back(error: &SessionError) -> bool {
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
