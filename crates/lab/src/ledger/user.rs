//! A user of the ledger, who makes one transaction after another on a connection of its own.

use std::time::{Duration, Instant};

use engine::Sql;
use engine::replication::Role;
use measure::ledger::{Appending, Fate, Record, Transfer};
use workload::ledger::{APPENDERS, Append, Movement, values};
use workload::session::{FailureKind, SessionError};

use super::Ledger;
use super::recorder::Full;
use crate::drive::clock::Clock;
use crate::{Cluster, Member};

/// How long a user that stays with its server retries an unreachable one, like clients that cache
/// its address.
const STALE_LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer; the outcome of a transaction that takes longer is unknown.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// The rate of all appends, as a fraction of the rate of transfers. Few suffice.
const APPEND_SHARE: f64 = 0.2;
/// Length of the longest list that is recorded, so that it fits in a line of the history.
const MAX_VALUES: usize = 300;

pub(super) struct User<'a> {
    ledger: &'a Ledger<'a>,
    clock: Clock<'a>,
    /// Counted from 1.
    number: u32,
    sequence: u64,
    kept: Option<Connected>,
    /// The index of the server that the user stays with; `None` if it follows the primary.
    home: Option<usize>,
    /// When that server became unreachable for the user.
    away_since: Option<Instant>,
}

/// A connection to a member that claims to accept writes.
struct Connected {
    /// The member's index in its cluster.
    member: usize,
    sql: Box<dyn Sql>,
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

    /// Keeps a connection after a transaction unless it failed: after most errors, another member
    /// may be the primary.
    fn keep(&mut self, mut connected: Connected, error: Option<&SessionError>) {
        let is_usable = error.is_none_or(|error| {
            error.kind == FailureKind::Restart && run(&mut *connected.sql, "ROLLBACK").is_ok()
        });
        self.kept = is_usable.then_some(connected);
    }

    /// The user's connection; a new one if it was lost or the primary has moved. Without one, a user
    /// that stays with a server chooses another one for its next transaction.
    fn connected(&mut self) -> Option<Connected> {
        let cluster = self.ledger.cluster();
        let member = self.home.unwrap_or_else(|| cluster.primary_index());
        let kept = self.kept.take();
        if let Some(kept) = kept.filter(|kept| kept.member == member) {
            return Some(kept);
        }
        match self.connect(cluster.members().get(member)?) {
            Ok((Role::Primary, sql)) => {
                self.away_since = None;
                return Some(Connected { member, sql });
            }
            Err(_) if stays(self.number) => {
                let since = *self.away_since.get_or_insert_with(Instant::now);
                if since.elapsed() < STALE_LIMIT {
                    return None;
                }
            }
            Ok(_) | Err(_) => {}
        }
        self.away_since = None;
        self.home = self.home.map(|_| match cluster.has_many_primaries() {
            true => (member + 1) % cluster.members().len(),
            false => cluster.primary_index(),
        });
        None
    }

    fn connect(&self, member: &Member) -> Result<(Role, Box<dyn Sql>), SessionError> {
        let mut sql = member.database.connect(ANSWER_LIMIT)?;
        Ok((self.ledger.role(member, &mut *sql)?, sql))
    }
}

/// Whether a user stays with its server until that denies being the primary, or is unreachable
/// for long. Half of the users do: a server that was cut off can only lose what it receives.
fn stays(user: u32) -> bool {
    user.is_multiple_of(2)
}

/// The index of the server that a user starts with. In a cluster whose members are all primaries,
/// users are spread over all of them.
fn home(cluster: &Cluster, user: u32) -> Option<usize> {
    let members = cluster.members().len();
    match cluster.has_many_primaries() {
        true => usize::try_from(user).ok().map(|user| user % members),
        false => stays(user).then(|| cluster.primary_index()),
    }
}

fn run(sql: &mut dyn Sql, statement: &str) -> Result<(), SessionError> {
    sql.rows(statement, ANSWER_LIMIT).map(drop)
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

    /// A server that was cut off can only lose what somebody still sends to it, and conflicts need
    /// writes at different members.
    #[test]
    fn half_of_the_users_stay_with_their_server_and_many_primaries_share_them() {
        let dir = tempfile::tempdir().unwrap();
        let cluster = crate::for_tests::found(&dir, 3);
        cluster.set_primary(1);
        let homes = |cluster| [1, 2, 3, 4].map(|user| home(cluster, user));
        assert_eq!(homes(&cluster), [None, Some(1), None, Some(1)]);
        cluster.set_many_primaries(true);
        assert_eq!(homes(&cluster), [Some(1), Some(2), Some(0), Some(1)]);
    }
}
