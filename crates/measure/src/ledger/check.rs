//! Compares the client's history with what the members of a cluster have.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Fate, History, LedgerSummary, Transfer};
use crate::fault::InFlight;

/// How many anomalies are described.
const MAX_EXAMPLES: usize = 10;

/// What a member has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    /// The member, from 1.
    pub member: u32,
    /// Its rows of transfers, in the order of their keys.
    pub rows: Vec<Row>,
    /// Its accounts and their balances, in the order of the accounts.
    pub balances: Vec<(i64, i64)>,
}

/// A transfer in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The row's primary key, which the server generated.
    pub key: i64,
    /// The transfer.
    pub transfer: Transfer,
}

impl Contents {
    /// Whether each account has what it began with, and what its transfers brought and took.
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

/// The verdict on a history. The first of the members is the primary, with which the others are
/// compared; `unchecked` are those that could not be read, and why.
///
/// A row whose accounts or amount are not the transfer's is none of it: the transfer is lost, and the
/// row a phantom.
#[must_use]
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
    summary.diverged = diverged(members);
    summary.checked.sort_unstable();
    judge_reads(&mut summary, history);
    summary
}

/// Whether the members have what the client knows of.
fn judge_history(summary: &mut LedgerSummary, history: &History, counts: &[(u32, Counts)]) {
    for entry in history.entries() {
        let transfer = &entry.transfer;
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
                if !missing.is_empty() {
                    summary.lost += 1;
                    let ended_s = entry.ended_s.unwrap_or(entry.begun_s);
                    let words = format!("{transfer}, acknowledged at {ended_s:.3} s, is missing");
                    add_example(summary, &words, &missing);
                }
            }
        }
    }
}

/// Whether the client knows of what the members have.
fn judge_rows(summary: &mut LedgerSummary, history: &History, counts: &[(u32, Counts)]) {
    let present: BTreeSet<_> = counts.iter().flat_map(|(_, count)| count.keys()).collect();
    for transfer in present {
        let entry = history.find(transfer.user, transfer.sequence);
        let made = entry.filter(|entry| entry.transfer == *transfer);
        let why = match made.map(|entry| entry.fate) {
            None => Some("was never made"),
            Some(Fate::Failed) => Some("failed"),
            Some(Fate::Acknowledged | Fate::Unknown) => None,
        };
        if let Some(why) = why {
            summary.phantom += 1;
            let present = members_where(counts, |(_, count)| count.contains_key(transfer));
            add_example(
                summary,
                &format!("{transfer} {why} and is present"),
                &present,
            );
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

/// Members that have other rows or balances than the first one.
fn diverged(members: &[Contents]) -> u64 {
    let Some((first, others)) = members.split_first() else {
        return 0;
    };
    let differs = |other: &&Contents| other.rows != first.rows || other.balances != first.balances;
    others.iter().filter(differs).count() as u64
}

/// A read is stale if its user had a transfer acknowledged before the read began that it did not see;
/// it is as far behind as the first of those is old.
fn judge_reads(summary: &mut LedgerSummary, history: &History) {
    let mut acknowledged: HashMap<i64, Vec<(f64, i64)>> = HashMap::new();
    for entry in history.entries() {
        if let (Fate::Acknowledged, Some(ended_s)) = (entry.fate, entry.ended_s) {
            let user = acknowledged.entry(entry.transfer.user).or_default();
            user.push((ended_s, entry.transfer.sequence));
        }
    }
    for read in &history.reads {
        summary.replica_reads += 1;
        // In order of both, because a user's transfers follow each other.
        let known = acknowledged.get(&read.user).map_or(&[][..], Vec::as_slice);
        let first_unseen = known.partition_point(|(_, sequence)| *sequence <= read.sequence);
        let Some((ended_s, _)) = known
            .get(first_unseen)
            .filter(|(at_s, _)| *at_s <= read.at_s)
        else {
            continue;
        };
        summary.stale_reads += 1;
        let behind_ms = (read.at_s - ended_s) * 1e3;
        let most = summary.staleness_max_ms.get_or_insert(behind_ms);
        *most = most.max(behind_ms);
    }
}

/// The transfers that had no reply when a fault took effect, by what the first of the members has of
/// them: those that were running, and those that ended with an error after the fault was asked for,
/// since it can only be known later that it took effect. Times are in seconds on the trial's clock.
#[must_use]
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
        match first.as_ref().map(|has| has.contains(&entry.transfer)) {
            Some(true) => found.committed += 1,
            Some(false) => found.not_committed += 1,
            None => found.unknown += 1,
        }
    }
    found
}
