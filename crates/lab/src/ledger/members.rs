//! Reads the ledger on each member of an instance, once all members hold the same.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::Sql;
use engine::replication::Role;
use measure::ledger::{Contents, Row, Transfer};
use workload::ledger::{ACCOUNTS, read_accounts, read_digest, read_lists, read_transfers, values};

use super::Ledger;
use crate::{Database, Member, Rows};

/// How long replicas may take to apply what the primary has: without progress, and in total.
const STALL_LIMIT: Duration = Duration::from_secs(30);
const APPLY_LIMIT: Duration = Duration::from_secs(600);
/// How long a member may be unreachable or detached, and the cluster without a primary.
const RETURN_LIMIT: Duration = Duration::from_secs(10);
/// How often members are compared.
const COMPARE_INTERVAL: Duration = Duration::from_millis(100);
/// How long a member may take to open a connection or execute a statement.
const LOGIN_LIMIT: Duration = Duration::from_secs(2);
const STATEMENT_LIMIT: Duration = Duration::from_secs(30);
/// Why a readable member is not judged.
const NO_PRIMARY: &str = "no member accepts writes, so nobody knows what was committed";
/// Number of transfers per query.
const PAGE: usize = 10_000;

/// The contents of the members, the primary's first, and why other members could not be read.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) contents: Vec<Contents>,
    pub(super) unread: Vec<(u32, String)>,
}

impl Found {
    /// Records that nothing can be judged.
    pub(super) fn refuse(&mut self, why: &str) {
        let members = std::mem::take(&mut self.contents).into_iter();
        let refused = members.map(|member| (member.member, why.to_owned()));
        self.unread.extend(refused);
    }
}

/// A member's state at one moment.
enum Seen {
    /// A short form of its contents.
    Digest { is_primary: bool, digest: Rows },
    /// Not reachable, but may return; why.
    Away(String),
    /// Down, or no longer part of the cluster; why.
    Out(String),
}

impl Seen {
    fn accepts_writes(&self) -> bool {
        match self {
            Self::Digest { is_primary, .. } => *is_primary,
            Self::Away(_) | Self::Out(_) => false,
        }
    }

    fn digest(&self) -> Option<&Rows> {
        match self {
            Self::Digest { digest, .. } => Some(digest),
            Self::Away(_) | Self::Out(_) => None,
        }
    }
}

/// Waits until all members hold the same, and reads them: at most `limit` transfers of each.
pub(super) fn read(ledger: &Ledger<'_>, limit: usize, interrupted: &AtomicBool) -> Found {
    let began = Instant::now();
    let (mut before, mut changed_at) = (Vec::new(), began);
    loop {
        let mut seen = look(ledger);
        let reference = reference(ledger.cluster().primary_index(), &seen);
        if !have_same_digests(&before, &seen) {
            changed_at = Instant::now();
        }
        let is_interrupted = interrupted.load(Ordering::Relaxed);
        let has_stalled = changed_at.elapsed() > STALL_LIMIT || began.elapsed() > APPLY_LIMIT;
        let may_return = began.elapsed() <= RETURN_LIMIT;
        if is_interrupted {
            leave_out_unsettled(&mut seen, reference);
        }
        let is_late = is_interrupted || has_stalled;
        if is_late || is_settled(&seen, reference, may_return) {
            let found = read_all(ledger, &seen, reference, limit);
            // Contents that changed in the meantime may have been read partially.
            if is_late || have_same_digests(&seen, &look(ledger)) {
                return found;
            }
        }
        before = seen;
        sleep(COMPARE_INTERVAL);
    }
}

/// Leaves out members that have not applied what the reference has.
fn leave_out_unsettled(seen: &mut [Seen], reference: Option<usize>) {
    let wanted = digest_of(seen, reference).cloned();
    for one in seen {
        if one.digest().is_some() && one.digest() != wanted.as_ref() {
            let why = "dyno was interrupted before it had what the primary has";
            *one = Seen::Out(why.to_owned());
        }
    }
}

fn look(ledger: &Ledger<'_>) -> Vec<Seen> {
    let cluster = ledger.cluster();
    let members = cluster.members().iter();
    let mut seen: Vec<Seen> = members
        .map(|member| match is_down(member) {
            true => Seen::Out("it is down".to_owned()),
            false => ask(ledger, member).unwrap_or_else(Seen::Away),
        })
        .collect();
    if cluster.has_many_primaries() {
        return seen;
    }
    let primary = reference(cluster.primary_index(), &seen);
    for (index, one) in seen.iter_mut().enumerate() {
        if one.accepts_writes() && Some(index) != primary {
            let why = "it accepts writes, but another member is the primary";
            *one = Seen::Out(why.to_owned());
        }
    }
    seen
}

/// Whether the process of a member has ended.
fn is_down(member: &Member) -> bool {
    let node = member.try_lock();
    node.is_some_and(|mut node| node.exited().is_some())
}

fn ask(ledger: &Ledger<'_>, member: &Member) -> Result<Seen, String> {
    let mut sql = connect(&member.database)?;
    let state = ledger.role(member, &mut *sql);
    let state = state.map_err(|error| error.to_string())?;
    if state == Role::Detached {
        return Ok(Seen::Away("it does not replicate".to_owned()));
    }
    Ok(Seen::Digest {
        is_primary: state == Role::Primary,
        digest: rows(&mut *sql, &read_digest())?,
    })
}

/// The index of the member that the others are compared with: the primary, if possible the `known`
/// one.
fn reference(known: usize, seen: &[Seen]) -> Option<usize> {
    if seen.get(known).is_some_and(Seen::accepts_writes) {
        return Some(known);
    }
    seen.iter().position(Seen::accepts_writes)
}

fn digest_of(seen: &[Seen], member: Option<usize>) -> Option<&Rows> {
    seen.get(member?)?.digest()
}

fn is_settled(seen: &[Seen], reference: Option<usize>, may_return: bool) -> bool {
    let Some(primary) = digest_of(seen, reference) else {
        // A member that is down does not become the primary.
        return !may_return || seen.iter().all(|one| matches!(one, Seen::Out(_)));
    };
    seen.iter().all(|one| match one {
        Seen::Digest { digest, .. } => digest == primary,
        Seen::Away(_) => !may_return,
        Seen::Out(_) => true,
    })
}

fn have_same_digests(before: &[Seen], after: &[Seen]) -> bool {
    let digests = before.iter().map(Seen::digest);
    digests.eq(after.iter().map(Seen::digest))
}

fn read_all(ledger: &Ledger<'_>, seen: &[Seen], reference: Option<usize>, limit: usize) -> Found {
    let mut found = Found::default();
    for (index, (member, seen)) in ledger.cluster().members().iter().zip(seen).enumerate() {
        let contents = match seen {
            Seen::Away(why) | Seen::Out(why) => Err(why.clone()),
            Seen::Digest { .. } if reference.is_none() => Err(NO_PRIMARY.to_owned()),
            Seen::Digest { .. } => contents(member.number, &member.database, limit),
        };
        match contents {
            Ok(contents) if Some(index) == reference => found.contents.insert(0, contents),
            Ok(contents) => found.contents.push(contents),
            Err(why) => found.unread.push((member.number, why)),
        }
    }
    found
}

fn contents(member: u32, database: &Database, limit: usize) -> Result<Contents, String> {
    let mut sql = connect(database)?;
    // One more than expected, to notice surplus accounts.
    let accounts = usize::try_from(ACCOUNTS).unwrap_or(usize::MAX) + 1;
    let accounts = numbers::<2>(&rows(&mut *sql, &read_accounts(accounts))?)?;
    let mut contents = Contents {
        member,
        rows: Vec::new(),
        balances: accounts
            .into_iter()
            .map(|[id, balance]| (id, balance))
            .collect(),
        lists: lists(&rows(&mut *sql, &read_lists())?)?,
    };
    let mut last = i64::MIN;
    loop {
        let page = numbers::<6>(&rows(&mut *sql, &read_transfers(last, PAGE))?)?;
        for &[key, user, sequence, from, to, amount] in &page {
            last = key;
            let transfer = Transfer {
                user,
                sequence,
                from,
                to,
                amount,
            };
            contents.rows.push(Row { key, transfer });
        }
        if page.len() < PAGE {
            return Ok(contents);
        }
        if contents.rows.len() > limit {
            return Err(format!("it has more than {limit} transfers"));
        }
    }
}

fn lists(rows: &Rows) -> Result<Vec<(i64, Vec<i64>)>, String> {
    let list = |row: &Vec<Option<String>>| match row.as_slice() {
        [Some(list), Some(items)] => Some((list.parse().ok()?, values(items)?)),
        _ => None,
    };
    let all: Option<Vec<_>> = rows.iter().map(list).collect();
    all.ok_or_else(|| "its table of lists has rows that are no lists".to_owned())
}

fn connect(database: &Database) -> Result<Box<dyn Sql>, String> {
    database
        .connect(LOGIN_LIMIT)
        .map_err(|error| error.to_string())
}

fn rows(sql: &mut dyn Sql, statement: &str) -> Result<Rows, String> {
    let rows = sql.rows(statement, STATEMENT_LIMIT);
    rows.map_err(|error| error.to_string())
}

fn numbers<const N: usize>(rows: &Rows) -> Result<Vec<[i64; N]>, String> {
    let number = |cell: &Option<String>| cell.as_deref()?.parse().ok();
    let row = |row: &Vec<Option<String>>| {
        let numbers: Option<Vec<i64>> = row.iter().map(number).collect();
        numbers.and_then(|numbers| numbers.try_into().ok())
    };
    let all: Option<Vec<[i64; N]>> = rows.iter().map(row).collect();
    all.ok_or_else(|| "its tables of the ledger have rows that are not numbers".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_interrupt_only_members_with_the_same_are_judged() {
        let member = |digest: &str| Seen::Digest {
            is_primary: false,
            digest: vec![vec![Some(digest.to_owned())]],
        };
        let mut seen = [member("7"), member("5"), member("7")];
        leave_out_unsettled(&mut seen, Some(0));
        let is_read = seen.each_ref().map(|one| one.digest().is_some());
        assert_eq!(is_read, [true, false, true]);
    }

    #[test]
    fn without_a_primary_replicas_with_the_same_wait_for_one_and_settle_nothing() {
        let replica = || Seen::Digest {
            is_primary: false,
            digest: vec![vec![Some("7".to_owned())]],
        };
        let seen = [replica(), replica()];
        assert_eq!(reference(0, &seen), None, "a replica proves nothing");
        assert!(!is_settled(&seen, None, true));
        assert!(is_settled(&seen, None, false));
        assert!(is_settled(&seen, Some(0), true));
        assert!(is_settled(
            &[Seen::Out("it is down".to_owned())],
            None,
            true
        ));
    }
}
