//! Compares the client's history with the contents of a cluster's members.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Fate, History, LedgerSummary, Transfer};
use crate::fault::{FaultRecord, InFlight, Loss};

const MAX_EXAMPLES: usize = 10;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// Number of the member, counted from 1.
    pub member: u32,
    /// Rows of transfers, in the order of their keys.
    pub rows: Vec<Row>,
    /// Accounts and their balances, in the order of the accounts.
    pub balances: Vec<(i64, i64)>,
    /// Lists with their values, in the order of the lists.
    pub lists: Vec<(i64, Vec<i64>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// The row's primary key, which the server generated.
    pub key: i64,
    pub transfer: Transfer,
}

impl Contents {
    /// Whether each account has its opening balance plus its transfers.
    fn is_balanced(&self, history: &History) -> bool {
        let opening = history.opening;
        let mut expected: BTreeMap<i64, i128> = (1..=opening.accounts)
            .map(|account| (account, i128::from(opening.balance)))
            .collect();
        for Row { transfer, .. } in &self.rows {
            let amount = i128::from(transfer.amount);
            *expected.entry(transfer.from).or_default() -= amount;
            *expected.entry(transfer.to).or_default() += amount;
        }
        let found = self.balances.iter();
        let found = found.map(|&(account, balance)| (account, i128::from(balance)));
        expected.into_iter().eq(found)
    }
}

/// The verdict on a history. The first member is the primary: what it lacks is lost, and the other
/// members are compared with it. Without members, nothing is judged. `unchecked` are the members
/// that could not be read, and why.
///
/// A row whose accounts or amount differ from the transfer's does not count as the transfer: the
/// transfer is lost, and the row is a phantom.
pub fn check(
    history: &History,
    members: &[Contents],
    unchecked: Vec<(u32, String)>,
) -> LedgerSummary {
    let counts: Vec<_> = members.iter().map(count).collect();
    let mut summary = LedgerSummary {
        checked: members.iter().map(|member| member.member).collect(),
        unchecked,
        ..LedgerSummary::default()
    };
    judge_history(&mut summary, history, &counts);
    judge_rows(&mut summary, history, &counts);
    let unbalanced = members.iter().filter(|member| !member.is_balanced(history));
    summary.unbalanced = unbalanced.count() as u64;
    summary.diverged = diverged(history, members);
    summary.checked.sort_unstable();
    judge_reads(&mut summary, history);
    if let Some(primary) = members.first() {
        judge_lists(&mut summary, history, primary);
    }
    if let Some((_, primary)) = counts.first() {
        summary.vanished_reads = vanished_reads(history, primary);
    }
    summary
}

/// Whether the members have the transfers that the client knows.
fn judge_history(summary: &mut LedgerSummary, history: &History, counts: &[(u32, Counts)]) {
    for entry in history.entries() {
        let transfer = &entry.what;
        let has = |(_, count): &(u32, Counts)| count.contains_key(transfer);
        match entry.fate {
            Fate::Failed => summary.failed += 1,
            Fate::Unknown => {
                summary.unknown += 1;
                summary.unknown_committed += u64::from(counts.iter().any(has));
            }
            Fate::Acknowledged => {
                summary.acknowledged += 1;
                let missing = members_where(counts, |member| !has(member));
                if counts.first().is_some_and(has) {
                    summary.behind += u64::from(!missing.is_empty());
                } else if !missing.is_empty() {
                    summary.lost += 1;
                    let ended_s = entry.ended_s.unwrap_or(entry.begun_s);
                    let words = format!("{transfer}, acknowledged at {ended_s:.3} s, is missing");
                    add_example(summary, &words, &missing);
                }
            }
        }
    }
}

/// Whether the client knows the transfers that the members have.
fn judge_rows(summary: &mut LedgerSummary, history: &History, counts: &[(u32, Counts)]) {
    let present: BTreeSet<_> = counts.iter().flat_map(|(_, count)| count.keys()).collect();
    for transfer in present {
        let entry = history.find(transfer.user, transfer.sequence);
        let made = entry.filter(|entry| entry.what == *transfer);
        let why = match made.map(|entry| entry.fate) {
            None => Some("was never made"),
            Some(Fate::Failed) => Some("failed"),
            Some(Fate::Acknowledged | Fate::Unknown) => None,
        };
        if let Some(why) = why {
            summary.phantom += 1;
            let present = members_where(counts, |(_, count)| count.contains_key(transfer));
            let words = format!("{transfer} {why} and is present");
            add_example(summary, &words, &present);
        }
        let is_repeated = |(_, count): &(u32, Counts)| count.get(transfer).is_some_and(|n| *n > 1);
        let repeated = members_where(counts, is_repeated);
        if !repeated.is_empty() {
            summary.duplicated += 1;
            let words = format!("{transfer} is present more than once");
            add_example(summary, &words, &repeated);
        }
    }
}

/// How many times a member has each transfer.
type Counts = HashMap<Transfer, u32>;

fn count(member: &Contents) -> (u32, Counts) {
    let mut counts = Counts::new();
    for row in &member.rows {
        *counts.entry(row.transfer).or_default() += 1;
    }
    (member.member, counts)
}

fn members_where(counts: &[(u32, Counts)], which: impl Fn(&(u32, Counts)) -> bool) -> Vec<u32> {
    let members = counts.iter().filter(|member| which(member));
    members.map(|(member, _)| *member).collect()
}

fn add_example(summary: &mut LedgerSummary, words: &str, members: &[u32]) {
    if summary.examples.len() < MAX_EXAMPLES {
        let members: Vec<String> = members.iter().map(u32::to_string).collect();
        let members = members.join(", ");
        summary
            .examples
            .push(format!("{words} on member {members}"));
    }
}

/// Members whose rows or balances differ from the first member's, unless they are only behind it.
fn diverged(history: &History, members: &[Contents]) -> u64 {
    let Some((first, others)) = members.split_first() else {
        return 0;
    };
    let differs = |other: &&Contents| {
        let has_same = other.rows == first.rows && other.balances == first.balances;
        !has_same && !is_behind(history, first, other)
    };
    others.iter().filter(differs).count() as u64
}

/// Whether a member has applied what the first member has up to some point: it has no other rows,
/// and none that began after a missing one had been acknowledged.
fn is_behind(history: &History, first: &Contents, other: &Contents) -> bool {
    let known: HashSet<&Row> = first.rows.iter().collect();
    let has: HashSet<&Row> = other.rows.iter().collect();
    let entry = |row: &Row| history.find(row.transfer.user, row.transfer.sequence);
    let rows = first.rows.iter();
    let missing = rows.filter(|row| !has.contains(row));
    let acknowledged = missing.filter_map(|row| entry(row)?.ended_s);
    let missing_since_s = acknowledged.min_by(f64::total_cmp);
    let rows = other.rows.iter();
    let begun = rows.filter_map(|row| Some(entry(row)?.begun_s));
    let last_begun_s = begun.max_by(f64::total_cmp);
    has.len() < known.len()
        && has.is_subset(&known)
        && other.is_balanced(history)
        && last_begun_s.is_none_or(|last_s| missing_since_s.is_none_or(|since_s| last_s <= since_s))
}

/// A read is stale if it missed a transfer of its user that was acknowledged before the read began.
/// Its staleness is the age of the first such transfer.
fn judge_reads(summary: &mut LedgerSummary, history: &History) {
    let mut acknowledged: HashMap<i64, Vec<(f64, i64)>> = HashMap::new();
    for entry in history.entries() {
        if let (Fate::Acknowledged, Some(ended_s)) = (entry.fate, entry.ended_s) {
            let user = acknowledged.entry(entry.what.user).or_default();
            user.push((ended_s, entry.what.sequence));
        }
    }
    let mut highest: HashMap<(u32, i64), i64> = HashMap::new();
    for read in &history.reads {
        summary.replica_reads += 1;
        let before = highest.insert((read.member, read.user), read.sequence);
        summary.backward_reads += u64::from(before.is_some_and(|before| before > read.sequence));
        let found = history.find(read.user, read.sequence);
        let is_aborted = found.is_some_and(|entry| entry.fate == Fate::Failed);
        summary.aborted_reads += u64::from(is_aborted);
        // Both are in order, because a user makes one transfer after another.
        let known = acknowledged.get(&read.user).map_or(&[][..], Vec::as_slice);
        let first_unseen = known.partition_point(|(_, sequence)| *sequence <= read.sequence);
        let unseen = known.get(first_unseen);
        let Some((ended_s, _)) = unseen.filter(|(at_s, _)| *at_s <= read.at_s) else {
            continue;
        };
        summary.stale_reads += 1;
        let behind_ms = (read.at_s - ended_s) * 1e3;
        let most = summary.staleness_max_ms.get_or_insert(behind_ms);
        *most = most.max(behind_ms);
    }
}

/// Whether the primary has the values that were appended to lists, in the order in which they were
/// read.
fn judge_lists(summary: &mut LedgerSummary, history: &History, primary: &Contents) {
    let lists = primary.lists.iter();
    let lists: HashMap<i64, &Vec<i64>> = lists.map(|(list, values)| (*list, values)).collect();
    let present: HashSet<i64> = lists.values().copied().flatten().copied().collect();
    let acknowledged = history.appends.entries.iter();
    let acknowledged = acknowledged.filter(|one| one.fate == Fate::Acknowledged);
    for one in acknowledged.map(|entry| &entry.what) {
        summary.appends += 1;
        summary.lost_appends += u64::from(!present.contains(&one.value));
        // The primary's contents have no lists without values.
        let now = lists.get(&one.read).map_or(&[][..], |now| now.as_slice());
        let found = one.found.as_ref();
        summary.misordered_reads += u64::from(found.is_some_and(|found| !now.starts_with(found)));
    }
}

/// Transfers that were read and did not fail, but are missing on the primary.
fn vanished_reads(history: &History, primary: &Counts) -> u64 {
    let read = history.reads.iter();
    let read = read.filter_map(|read| history.find(read.user, read.sequence));
    let read: BTreeSet<Transfer> = read
        .filter(|entry| entry.fate != Fate::Failed)
        .map(|entry| entry.what)
        .collect();
    read.iter().filter(|one| !primary.contains_key(one)).count() as u64
}

/// Losses of the ledger due to each fault of an instance; `None` for a fault without an effect. A
/// loss belongs to the fault that was in progress when the transfer was acknowledged, or else to
/// the next one. Without a primary, nothing is known.
pub fn losses(
    history: &History,
    members: &[Contents],
    faults: &[&FaultRecord],
) -> Vec<Option<Loss>> {
    let Some(primary) = members.first() else {
        return vec![None; faults.len()];
    };
    let has: HashSet<Transfer> = primary.rows.iter().map(|row| row.transfer).collect();
    let acknowledged = history.entries().iter();
    let acknowledged = acknowledged.filter(|entry| entry.fate == Fate::Acknowledged);
    let times: Vec<(f64, bool)> = acknowledged
        .filter_map(|entry| Some((entry.ended_s?, !has.contains(&entry.what))))
        .collect();
    let mut lost_s = vec![Vec::new(); faults.len()];
    for (at_s, _) in times.iter().filter(|(_, is_lost)| *is_lost) {
        let blamed = blamed(faults, *at_s).and_then(|index| lost_s.get_mut(index));
        blamed.into_iter().for_each(|lost_s| lost_s.push(*at_s));
    }
    let loss = |(fault, lost_s): (&&FaultRecord, &Vec<f64>)| {
        let effect_s = fault.effect_s?;
        let exposed = |within_s: f64| {
            let last = effect_s - within_s..=effect_s;
            times.iter().filter(|(at_s, _)| last.contains(at_s)).count() as u64
        };
        let oldest_s = lost_s.iter().copied().fold(effect_s, f64::min);
        let newest_s = lost_s.iter().copied().fold(effect_s, f64::max);
        Some(Loss {
            transactions: lost_s.len() as u64,
            seconds: newest_s - oldest_s,
            exposed_1_ms: exposed(0.001),
            exposed_10_ms: exposed(0.01),
            exposed_100_ms: exposed(0.1),
        })
    };
    faults.iter().zip(&lost_s).map(loss).collect()
}

/// The fault that is blamed for losing a transfer that was acknowledged at this time.
fn blamed(faults: &[&FaultRecord], at_s: f64) -> Option<usize> {
    let struck = || {
        let faults = faults.iter().enumerate();
        faults.filter_map(|(index, fault)| Some((index, fault.effect_s?, fault.healed_s)))
    };
    let is_under_way = |effect_s: f64, healed_s: Option<f64>| {
        effect_s < at_s && healed_s.is_none_or(|healed_s| at_s < healed_s)
    };
    let mut under_way =
        struck().filter(|(_, effect_s, healed_s)| is_under_way(*effect_s, *healed_s));
    let next = struck().filter(|(_, effect_s, _)| *effect_s >= at_s);
    let next = next.min_by(|one, other| one.1.total_cmp(&other.1));
    let latest = under_way.next_back().or(next);
    let found = latest.or_else(|| struck().next_back());
    found.map(|(index, ..)| index)
}

/// The transfers that had no reply when a fault took effect, by their state on the first member:
/// those that were running, and those that ended with an error after the fault was requested,
/// because its effect is only known later. Times are in seconds on the trial's clock.
pub fn in_flight(history: &History, members: &[Contents], asked_s: f64, effect_s: f64) -> InFlight {
    let first = members.first().map(|member| {
        let transfers = member.rows.iter().map(|row| row.transfer);
        transfers.collect::<HashSet<Transfer>>()
    });
    let mut found = InFlight::default();
    for entry in history.entries() {
        let has_ended = entry.ended_s.is_some_and(|ended_s| match entry.fate {
            Fate::Acknowledged => ended_s <= effect_s,
            Fate::Failed | Fate::Unknown => ended_s <= asked_s,
        });
        if entry.begun_s > effect_s || has_ended {
            continue;
        }
        match first.as_ref().map(|has| has.contains(&entry.what)) {
            Some(true) => found.committed += 1,
            Some(false) => found.not_committed += 1,
            None => found.unknown += 1,
        }
    }
    found
}
