//! A user of the ledger that reads one list and appends to another in each transaction.

use std::time::Instant;

use engine::Sql;
use measure::ledger::{Appending, Fate, Record};
use workload::ledger::{APPENDERS, Append, values};
use workload::session::SessionError;

use super::Ledger;
use super::connection::{ANSWER_LIMIT, Connection, run};
use super::recorder::Full;
use super::schedule::{Schedule, Turns};
use super::user::is_rolled_back;

/// The rate of all appenders, as a fraction of the rate of transfers. Few suffice.
const SHARE: f64 = 0.2;
/// Length of the longest list that is recorded, so that it fits in a line of the history.
const MAX_VALUES: usize = 300;

pub(super) struct Appender<'a> {
    ledger: &'a Ledger<'a>,
    schedule: Schedule<'a>,
    /// Counted from 1.
    number: u32,
    connection: Connection<'a>,
}

impl<'a> Appender<'a> {
    pub(super) fn new(ledger: &'a Ledger<'a>, schedule: Schedule<'a>, number: u32) -> Self {
        Self {
            ledger,
            schedule,
            number,
            connection: Connection::new(ledger, number),
        }
    }

    /// Appends until the measurement ends or nothing more can be recorded.
    pub(super) fn run(mut self) {
        let Some(begun) = self.schedule.clock.begun() else {
            return;
        };
        let rate = self.ledger.planned.rate * SHARE;
        let mut turns = Turns::new(begun, rate, self.number, APPENDERS);
        for sequence in 1.. {
            let is_due = self.schedule.wait(turns.next(Instant::now()), begun);
            if !is_due || self.append(sequence).is_err() {
                return;
            }
        }
    }

    fn append(&mut self, sequence: u64) -> Result<(), Full> {
        let Some(mut connected) = self.connection.connected() else {
            return Ok(());
        };
        let append = Append::draw(self.ledger.seed, self.number, sequence);
        let value = i64::try_from(append.value).unwrap_or(i64::MAX);
        let recorder = &self.ledger.recorder;
        recorder.record(Record::Appending {
            at_s: self.schedule.now_s(),
            append: Appending {
                user: self.number.into(),
                read: append.read.into(),
                list: append.list.into(),
                value,
                found: None,
            },
        })?;
        let mut found = None;
        let (fate, error) = match self.attempt(&mut *connected.sql, &append, &mut found) {
            Ok(()) => (Fate::Acknowledged, None),
            Err((fate, error)) => (fate, Some(error)),
        };
        recorder.record(Record::Appended {
            at_s: self.schedule.now_s(),
            value,
            fate,
            found: found.filter(|found| found.len() <= MAX_VALUES),
        })?;
        self.connection.keep(connected, error.as_ref());
        Ok(())
    }

    fn attempt(
        &self,
        sql: &mut dyn Sql,
        append: &Append,
        found: &mut Option<Vec<i64>>,
    ) -> Result<(), (Fate, SessionError)> {
        let failed = |error| (Fate::Failed, error);
        let [read, write] = append.statements();
        run(sql, self.ledger.dialect().begin_to_write).map_err(failed)?;
        let rows = sql.rows(&read, ANSWER_LIMIT).map_err(failed)?;
        let items = rows.into_iter().flatten().flatten().next();
        *found = items.and_then(|items| values(&items));
        run(sql, &write).map_err(failed)?;
        run(sql, "COMMIT").map_err(|error| match is_rolled_back(&error) {
            true => failed(error),
            false => (Fate::Unknown, error),
        })
    }
}
