//! Reads a member beside the load to find out how stale it is. The primary is read, too, and so is
//! a member that was cut off and does not know that another one has taken over.

use engine::Sql;
use measure::ledger::{Read, Record};
use workload::ledger::read_sequence;
use workload::session::SessionError;

use super::Ledger;
use super::user::ANSWER_LIMIT;
use crate::Database;
use crate::drive::clock::Clock;

/// Reads the member with this index for one user after another, in turns with the readers of the
/// other members, until the measurement ends or nothing more can be recorded.
pub(super) fn read(ledger: &Ledger<'_>, clock: Clock<'_>, index: usize) {
    let members = ledger.cluster().members();
    let member = &members[index];
    let (turn, readers) = (index as u32 + 1, members.len() as u32);
    let (mut connection, mut user) = (None, 0);
    ledger.take_turns(clock, ledger.planned.replica_reads, turn, readers, || {
        let at_s = clock.now_s();
        user = user % ledger.planned.users() + 1;
        // No answer, no evidence.
        let Ok(sequence) = sequence(&mut connection, &member.database, user) else {
            return Ok(());
        };
        ledger.recorder.record(Record::Read(Read {
            at_s,
            member: member.number,
            user: user.into(),
            sequence,
        }))
    });
}

/// The last transfer of a user. A connection that fails is closed.
fn sequence(
    connection: &mut Option<Box<dyn Sql>>,
    database: &Database,
    user: u32,
) -> Result<i64, SessionError> {
    let mut sql = match connection.take() {
        Some(sql) => sql,
        None => database.connect(ANSWER_LIMIT)?,
    };
    let rows = sql.rows(&read_sequence(user), ANSWER_LIMIT)?;
    *connection = Some(sql);
    let cell = rows.into_iter().flatten().flatten().next();
    Ok(cell.and_then(|cell| cell.parse().ok()).unwrap_or(0))
}
