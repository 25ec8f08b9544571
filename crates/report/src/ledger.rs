//! What the ledger found about acknowledged commits.

use measure::fault::Loss;
use measure::ledger::LedgerSummary;
use measure::result::RunResult;
use measure::share;
use measure::summary::TrialSummary;

use crate::grid::{Columns, Grid};
use crate::keys::Names;
use crate::list::{joined, joined_any};
use crate::number;

type Count = fn(&LedgerSummary) -> u64;

/// What should not be, besides losses.
#[rustfmt::skip]
const ANOMALIES: [(Count, &str); 10] = [
    (|ledger| ledger.phantom, "Transfers present though they failed or were never made"),
    (|ledger| ledger.duplicated, "Transfers present more than once"),
    (|ledger| ledger.behind, "Transfers that the primary has and another member had not applied"),
    (|ledger| ledger.lost_appends, "Acknowledged appends to lists that are missing"),
    (|ledger| ledger.misordered_reads, "Reads of lists that their last contents contradict"),
    (|ledger| ledger.aborted_reads, "Reads of transfers that failed"),
    (|ledger| ledger.vanished_reads, "Reads of transfers that are missing now"),
    (|ledger| ledger.backward_reads, "Reads that found less than an earlier one of the same member"),
    (|ledger| ledger.diverged, "Members that differ from the primary"),
    (|ledger| ledger.unbalanced, "Members that have balances that do not add up"),
];

/// The verdict on all trials in a sentence; `None` without a ledger.
pub(crate) fn sentence(result: &RunResult) -> Option<String> {
    ledgers(result).next()?;
    let anomalies = ANOMALIES
        .iter()
        .map(|(of, what)| (total(result, *of), what));
    let anomalies = anomalies.filter(|(count, _)| *count > 0);
    let anomalies = anomalies.map(|(count, what)| format!("{what}: {}.", number::count(count)));
    let sentences = losses(result).into_iter().chain(anomalies);
    Some(joined(sentences.chain(unchecked(result)), " "))
}

fn ledgers(result: &RunResult) -> impl Iterator<Item = &LedgerSummary> {
    result.trials.iter().flat_map(|trial| &trial.ledgers)
}

fn total(result: &RunResult, of: Count) -> u64 {
    ledgers(result).map(of).sum()
}

/// Whether acknowledged commits were lost, as far as members were checked.
fn losses(result: &RunResult) -> Vec<String> {
    let checked: Vec<&LedgerSummary> = ledgers(result).filter(|l| !l.checked.is_empty()).collect();
    let acknowledged: u64 = checked.iter().map(|ledger| ledger.acknowledged).sum();
    let nothing = "No transfer was acknowledged, so the ledger proves nothing.";
    let found = match (total(result, |ledger| ledger.lost), acknowledged) {
        (0, 0) if checked.is_empty() => return Vec::new(),
        (0, 0) => return vec![nothing.to_owned()],
        (0, _) => format!(
            "No acknowledged commit was lost: {} transfers checked {}.",
            number::count(acknowledged),
            places(result, &checked)
        ),
        (lost, _) => format!(
            "LOST: {} of {} acknowledged transfers {} missing on the primary{}.",
            number::count(lost),
            number::count(acknowledged),
            if lost == 1 { "is" } else { "are" },
            of_trials(result, |ledger| ledger.lost > 0)
        ),
    };
    [found].into_iter().chain(exposure(result)).collect()
}

/// How many members and ledgers could not be checked, or only a part of the time.
fn unchecked(result: &RunResult) -> impl Iterator<Item = String> {
    let (checked, unchecked): (Vec<_>, Vec<_>) =
        ledgers(result).partition(|ledger| !ledger.checked.is_empty());
    let members: usize = checked.iter().map(|ledger| ledger.unchecked.len()).sum();
    let named = number::counted(members as u64, "member");
    let members = (members > 0).then(|| format!("{named} could not be checked."));
    let all = checked.len() + unchecked.len();
    let ledgers = (!unchecked.is_empty()).then(|| match all {
        1 => "The ledger could not be checked.".to_owned(),
        _ => format!("{} of {all} ledgers could not be checked.", unchecked.len()),
    });
    let stopped = self::ledgers(result).filter(|ledger| ledger.stopped_at_s.is_some());
    let stopped = match (stopped.count(), all) {
        (0, _) => None,
        (_, 1) => Some("The ledger stopped early; later commits are not checked.".to_owned()),
        (count, _) => Some(format!(
            "{count} of {all} ledgers stopped early; later commits are not checked."
        )),
    };
    members.into_iter().chain(ledgers).chain(stopped)
}

/// The share of faults that lost commits; if none did, how many still might.
fn exposure(result: &RunResult) -> Option<String> {
    let faults = result.trials.iter().flat_map(|trial| &trial.faults);
    let of_primary =
        faults.filter(|one| one.target.starts_with("primary") || one.promotion.is_some());
    let losses: Vec<Loss> = of_primary
        .filter_map(|fault| fault.recovery.as_ref()?.loss)
        .collect();
    let lost = losses.iter().filter(|loss| loss.transactions > 0).count();
    let exposed: u64 = losses.iter().map(|loss| loss.exposed_10_ms).sum();
    let (who, what) = match losses.len() {
        0 => return None,
        count if lost > 0 => {
            return Some(format!(
                "{} faults of the primary lost commits (95 % confidence).",
                lost_of(lost, count)
            ));
        }
        1 => ("The fault of the primary".to_owned(), "none"),
        count => (format!("None of {count} faults of the primary"), "one"),
    };
    Some(format!(
        "{who} lost {what}, so at most {} of such faults do (95 % confidence); {} were \
         acknowledged in the last 10 ms before.",
        number::percent(share::interval(0, losses.len()).high),
        number::count(exposed)
    ))
}

/// `3 of 12 (5.5 % to 57.2 %)`: how many faults lost commits, with the exact interval of the share.
pub(crate) fn lost_of(lost: usize, count: usize) -> String {
    let range = share::interval(lost, count);
    let [low, high] = [range.low, range.high].map(number::percent);
    match (lost, count) {
        (_, 0) => number::ABSENT.to_owned(),
        (0, _) => format!("0 of {count} (at most {high})"),
        _ => format!("{lost} of {count} ({low} to {high})"),
    }
}

fn with_ledger(result: &RunResult) -> impl Iterator<Item = &TrialSummary> {
    let trials = result.trials.iter();
    trials.filter(|trial| !trial.ledgers.is_empty())
}

/// ` in 3 of 20 trials`; empty for a single trial.
fn of_trials(result: &RunResult, which: fn(&LedgerSummary) -> bool) -> String {
    let some = with_ledger(result).filter(|trial| trial.ledgers.iter().any(which));
    match with_ledger(result).count() {
        1 => String::new(),
        all => format!(" in {} of {all} trials", some.count()),
    }
}

/// `on 3 members`, or in how many trials.
fn places(result: &RunResult, checked: &[&LedgerSummary]) -> String {
    let members: usize = checked.iter().map(|ledger| ledger.checked.len()).sum();
    let is_checked = |trial: &&TrialSummary| trial.ledgers.iter().any(|l| !l.checked.is_empty());
    match (with_ledger(result).filter(is_checked).count(), members) {
        (1, 1) => "on 1 member".to_owned(),
        (1, _) => format!("on {members} members"),
        (trials, _) => format!("in {trials} trials"),
    }
}

/// The ledgers of a trial, with a row for each instance; and what they found.
pub(crate) fn of_trial(trial: &TrialSummary) -> [Grid; 2] {
    let numbered = (1_u32..).zip(&trial.ledgers);
    let named = numbered.map(|(number, ledger)| (number.to_string(), ledger));
    let named: Vec<_> = named.collect();
    [grid("instance", &named), details("instance", &named)]
}

pub(crate) fn of_study(result: &RunResult) -> [Grid; 2] {
    let names = Names::of(result);
    let named = result.trials.iter().flat_map(|trial| {
        let name = names.trial(trial);
        let is_one = trial.ledgers.len() == 1;
        let numbered = (1_u32..).zip(&trial.ledgers);
        numbered.map(move |(number, ledger)| match is_one {
            true => (name.clone(), ledger),
            false => (format!("{name}, instance {number}"), ledger),
        })
    });
    let named: Vec<_> = named.collect();
    [grid("trial", &named), details("trial", &named)]
}

fn grid(key: &str, named: &[(String, &LedgerSummary)]) -> Grid {
    type Row<'a> = &'a (String, &'a LedgerSummary);
    let has_reads = named.iter().any(|(_, ledger)| ledger.replica_reads > 0);
    let columns = Columns::<Row<'_>>::new()
        .key(key, |(name, _)| name)
        .with("acknowledged", |(_, ledger)| ledger.acknowledged)
        .with("failed", |(_, ledger)| ledger.failed)
        .with("unknown", |(_, ledger)| ledger.unknown)
        .with("of those committed", |(_, ledger)| {
            ledger.found(ledger.unknown_committed)
        })
        .with("lost", |(_, ledger)| ledger.found(ledger.lost))
        .with("behind", |(_, ledger)| ledger.found(ledger.behind))
        .with("phantom", |(_, ledger)| ledger.found(ledger.phantom))
        .with("duplicated", |(_, ledger)| ledger.found(ledger.duplicated))
        .with("diverged", |(_, ledger)| ledger.found(ledger.diverged))
        .with("unbalanced", |(_, ledger)| ledger.found(ledger.unbalanced))
        .when(has_reads, |columns| {
            columns
                .with("reads", |(_, ledger)| ledger.replica_reads)
                .with("stale", |(_, ledger)| ledger.stale_reads)
                .with("most stale, ms", |(_, ledger)| ledger.staleness_max_ms)
        })
        .with("checked", |(_, ledger)| {
            joined_any(ledger.checked.iter().map(u32::to_string), ", ")
        });
    let reads = match has_reads {
        true => "; reads are of all members",
        false => "",
    };
    let caption = format!(
        "Ledger: transfers by what the client was told, and what the members have of them. \
         Lost: missing on the primary; behind: the primary has it, and another member had not \
         applied it. Diverged and unbalanced count members{reads}."
    );
    columns.grid(caption, named)
}

/// Why members were not checked, and examples of anomalies.
fn details(key: &str, named: &[(String, &LedgerSummary)]) -> Grid {
    let rows = named.iter().flat_map(|(name, ledger)| {
        let unchecked = ledger.unchecked.iter();
        let unchecked =
            unchecked.map(|(server, why)| format!("server {server} not checked: {why}"));
        let all = unchecked.chain(ledger.examples.iter().cloned());
        all.map(move |one| (name, one))
    });
    let rows: Vec<(&String, String)> = rows.collect();
    let columns = Columns::<&(&String, String)>::new()
        .key(key, |(name, _)| *name)
        .words("details", |(_, one)| one);
    columns.grid(
        "Ledger: members that were not checked, and the first anomalies.",
        &rows,
    )
}
