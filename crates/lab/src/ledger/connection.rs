//! Connects a user of the ledger to a member that accepts writes.

use std::time::{Duration, Instant};

use engine::Sql;
use engine::replication::Role;
use workload::session::{FailureKind, SessionError};

use super::user::User;
use crate::{Cluster, Member};

/// How long a user that stays with its server retries an unreachable one, like clients that cache
/// its address.
const STALE_LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer; the outcome of a transaction that takes longer is unknown.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// A connection to a member that claims to accept writes.
pub(super) struct Connected {
    /// The member's index in its cluster.
    member: usize,
    pub(super) sql: Box<dyn Sql>,
}

impl User<'_> {
    /// Keeps a connection after a transaction unless it failed: after most errors, another member
    /// may be the primary.
    pub(super) fn keep(&mut self, mut connected: Connected, error: Option<&SessionError>) {
        let is_usable = error.is_none_or(|error| {
            error.kind == FailureKind::Restart && run(&mut *connected.sql, "ROLLBACK").is_ok()
        });
        self.kept = is_usable.then_some(connected);
    }

    /// The user's connection; a new one if it was lost or the primary has moved. Without one, a user
    /// that stays with a server chooses another one for its next transaction.
    pub(super) fn connected(&mut self) -> Option<Connected> {
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
pub(super) fn home(cluster: &Cluster, user: u32) -> Option<usize> {
    let members = cluster.members().len();
    match cluster.has_many_primaries() {
        true => usize::try_from(user).ok().map(|user| user % members),
        false => stays(user).then(|| cluster.primary_index()),
    }
}

pub(super) fn run(sql: &mut dyn Sql, statement: &str) -> Result<(), SessionError> {
    sql.rows(statement, ANSWER_LIMIT).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

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
