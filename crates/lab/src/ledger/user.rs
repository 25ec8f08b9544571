//! A user of the ledger, who makes one transfer after the other on a connection of its own.

use std::time::{Duration, Instant};

use engine::Sql;
use engine::replication::MemberState;
use measure::ledger::{Fate, Record, Transfer};
use workload::ledger::Movement;
use workload::session::{FailureKind, SessionError};

use super::Ledger;
use super::recorder::Full;
use super::schedule::{Schedule, Turns};
use crate::Database;

/// For how long a user that stays with its server tries one that it cannot reach, as clients do
/// whose address is cached.
const STALE_LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer; longer ones leave the transfer's fate unknown.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(2);

pub(super) struct User<'a> {
    ledger: &'a Ledger<'a>,
    schedule: Schedule<'a>,
    /// From 1.
    number: u32,
    sequence: u64,
    connection: Option<Connected>,
    /// The index of the server that it stays with; `None` if it follows the primary.
    home: Option<usize>,
    /// Since when it has not reached that server.
    away_since: Option<Instant>,
}

/// A connection to a member that said that it accepts writes.
struct Connected {
    /// Its index in its cluster.
    member: usize,
    sql: Box<dyn Sql>,
}

impl<'a> User<'a> {
    pub(super) fn new(ledger: &'a Ledger<'a>, schedule: Schedule<'a>, number: u32) -> Self {
        Self {
            ledger,
            schedule,
            number,
            sequence: 0,
            connection: None,
            home: home(ledger, number),
            away_since: None,
        }
    }

    /// Makes transfers until the measurement ends, or nothing more can be recorded.
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

    /// Makes a transfer if a member accepts writes.
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
        // After any other error another member may be the primary.
        let is_usable = error.is_none_or(|error| {
            error.kind == FailureKind::Restart && run(&mut *connected.sql, "ROLLBACK").is_ok()
        });
        self.connection = is_usable.then_some(connected);
        Ok(())
    }

    /// A transfer is acknowledged only by the reply to its commit. Before the commit is sent, every
    /// error rolls it back; after that, only errors that say so do.
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

    /// The connection to its server; a new one if it was lost, or the primary has moved.
    fn connected(&mut self) -> Option<Connected> {
        let member = self.home.unwrap_or_else(|| self.ledger.primary_index());
        let kept = self.connection.take();
        if let Some(kept) = kept.filter(|kept| kept.member == member) {
            return Some(kept);
        }
        let (_, database) = *self.ledger.databases().get(member)?;
        match self.connect(database) {
            Ok((MemberState::Primary, sql)) => {
                self.away_since = None;
                Some(Connected { member, sql })
            }
            Ok(_) => self.move_on(member),
            Err(_) => {
                let since = *self.away_since.get_or_insert_with(Instant::now);
                if self.is_patient() && since.elapsed() < STALE_LIMIT {
                    return None;
                }
                self.move_on(member)
            }
        }
    }

    fn connect(&self, database: &Database) -> Result<(MemberState, Box<dyn Sql>), SessionError> {
        let mut sql = database.connect(ANSWER_LIMIT)?;
        Ok((self.ledger.role(database, &mut *sql)?, sql))
    }

    /// Whether it stays with a server that it cannot reach.
    fn is_patient(&self) -> bool {
        stays(self.number)
    }

    /// Chooses another server for the next transfer, if it stays with one.
    fn move_on<T>(&mut self, from: usize) -> Option<T> {
        self.away_since = None;
        self.home = self.home.map(|_| match self.ledger.has_many_primaries() {
            true => (from + 1) % self.ledger.databases().len().max(1),
            false => self.ledger.primary_index(),
        });
        None
    }
}

/// Whether a user stays with its server until that says that it is not the primary, or is out of
/// reach for long: half of them, because a server that was cut off loses only what it is sent.
fn stays(user: u32) -> bool {
    user.is_multiple_of(2)
}

/// The index of the server that a user stays with at first. Where all are primaries, each user has
/// one.
fn home(ledger: &Ledger<'_>, user: u32) -> Option<usize> {
    let members = ledger.databases().len().max(1);
    match ledger.has_many_primaries() {
        true => usize::try_from(user).ok().map(|user| user % members),
        false => stays(user).then(|| ledger.primary_index()),
    }
}

/// Whether the reply to a commit says that it was rolled back: SQLSTATEs of class 40, except that of
/// a statement whose completion is unknown. A group that cannot tell whether it broadcast a
/// transaction says that it rolled it back, too, and may commit it.
fn is_rolled_back(error: &SessionError) -> bool {
    const COMPLETION_UNKNOWN: &[u8; 5] = b"40003";
    const ROLLED_BACK_DURING_COMMIT: u32 = 3101;
    let says_so = |state: [u8; 5]| state.starts_with(b"40") && state != *COMPLETION_UNKNOWN;
    error.is_from_server()
        && error.sqlstate.is_some_and(says_so)
        && error.number != Some(ROLLED_BACK_DURING_COMMIT)
}

fn run(sql: &mut dyn Sql, statement: &str) -> Result<(), SessionError> {
    sql.rows(statement, ANSWER_LIMIT).map(drop)
}

#[cfg(test)]
mod tests {
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
        // Unknown: the group may have it, the server ended, or did not answer.
        assert!(!is_rolled_back(&error(Some(b"40000"), Some(3101))));
        assert!(!is_rolled_back(&error(Some(b"40003"), None)));
        assert!(!is_rolled_back(&error(Some(b"57P01"), None)));
        assert!(!is_rolled_back(&error(Some(b"HY000"), Some(1180))));
        assert!(!is_rolled_back(&error(None, None)));
    }
}
