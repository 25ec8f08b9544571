//! What the ledger found about acknowledged commits.

use measure::fault::Loss;
use measure::ledger::{LedgerSummary, none_of};
use measure::result::RunResult;
use measure::summary::TrialSummary;

use crate::grid::{Grid, heads};
use crate::keys;
use crate::number;

/// The verdict on all trials in a sentence; `None` without a ledger.
pub(crate) fn sentence(result: &RunResult) -> Option<String> {
    let ledgers = || result.trials.iter().flat_map(|trial| &trial.ledgers);
    let total = |of: fn(&LedgerSummary) -> u64| ledgers().map(of).sum::<u64>();
    let checked: Vec<&LedgerSummary> = ledgers().filter(|l| !l.checked.is_empty()).collect();
    ledgers().next()?;
    let acknowledged: u64 = checked.iter().map(|ledger| ledger.acknowledged).sum();
    let lost = total(|ledger| ledger.lost);
    let mut sentences = Vec::new();
    if lost > 0 {
        sentences.push(format!(
            "LOST: {} of {} acknowledged transfers {} missing on the primary{}.",
            number::count(lost),
            number::count(acknowledged),
            if lost == 1 { "is" } else { "are" },
            of_trials(result, |ledger| ledger.lost > 0)
        ));
    } else if acknowledged > 0 {
        sentences.push(format!(
            "No acknowledged commit was lost: {} transfers checked {}.",
            number::count(acknowledged),
            places(result, &checked)
        ));
        sentences.extend(exposure(result));
    } else if !checked.is_empty() {
        sentences.push("No transfer was acknowledged, so the ledger proves nothing.".to_owned());
    }
    let others = [
        (
            total(|ledger| ledger.phantom),
            "present though they failed or were never made",
        ),
        (total(|ledger| ledger.duplicated), "present more than once"),
        (
            total(|ledger| ledger.behind),
            "that the primary has and another member had not applied",
        ),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        sentences.push(format!("Transfers {what}: {}.", number::count(count)));
    }
    let lost_appends = total(|ledger| ledger.lost_appends);
    if lost_appends > 0 {
        let lost = number::count(lost_appends);
        sentences.push(format!(
            "Acknowledged appends to lists that are missing: {lost}."
        ));
    }
    let reads = [
        (
            total(|ledger| ledger.misordered_reads),
            "of lists that their last contents contradict",
        ),
        (
            total(|ledger| ledger.aborted_reads),
            "of transfers that failed",
        ),
        (
            total(|ledger| ledger.vanished_reads),
            "of transfers that are missing now",
        ),
        (
            total(|ledger| ledger.backward_reads),
            "that found less than an earlier one of the same member",
        ),
    ];
    for (count, what) in reads.into_iter().filter(|(count, _)| *count > 0) {
        sentences.push(format!("Reads {what}: {}.", number::count(count)));
    }
    let members = [
        (total(|ledger| ledger.diverged), "differ from the primary"),
        (
            total(|ledger| ledger.unbalanced),
            "have balances that do not add up",
        ),
    ];
    for (count, what) in members.into_iter().filter(|(count, _)| *count > 0) {
        sentences.push(format!("Members that {what}: {}.", number::count(count)));
    }
    let absent: usize = checked.iter().map(|ledger| ledger.unchecked.len()).sum();
    if absent > 0 {
        let members = if absent == 1 { "member" } else { "members" };
        sentences.push(format!("{absent} {members} could not be checked."));
    }
    let unchecked = ledgers().count() - checked.len();
    if unchecked > 0 {
        sentences.push(match ledgers().count() {
            1 => "The ledger could not be checked.".to_owned(),
            all => format!("{unchecked} of {all} ledgers could not be checked."),
        });
    }
    Some(sentences.join(" "))
}

/// How little it proves that none of a few faults lost a commit.
fn exposure(result: &RunResult) -> Option<String> {
    let faults = result.trials.iter().flat_map(|trial| &trial.faults);
    let of_primary =
        faults.filter(|one| one.target.starts_with("primary") || one.promotion.is_some());
    let losses: Vec<Loss> = of_primary
        .filter_map(|fault| fault.recovery.as_ref()?.loss)
        .collect();
    let exposed: u64 = losses.iter().map(|loss| loss.exposed_10_ms).sum();
    let (who, lost) = match losses.len() {
        0 => return None,
        1 => ("The fault of the primary".to_owned(), "none"),
        count => (format!("None of {count} faults of the primary"), "one"),
    };
    Some(format!(
        "{who} lost {lost}, so at most {} of such faults do (95 % confidence); {} were \
         acknowledged in the last 10 ms before.",
        number::percent(none_of(losses.len())),
        number::count(exposed)
    ))
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

/// The same of all trials.
pub(crate) fn of_study(result: &RunResult) -> [Grid; 2] {
    let named = result.trials.iter().flat_map(|trial| {
        let name = keys::trial_name(trial, result);
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
    let has_reads = named.iter().any(|(_, ledger)| ledger.replica_reads > 0);
    let mut titles = vec![
        key,
        "acknowledged",
        "failed",
        "unknown",
        "of those committed",
        "lost",
        "behind",
        "phantom",
        "duplicated",
        "diverged",
        "unbalanced",
    ];
    if has_reads {
        titles.extend(["reads", "stale", "most stale, ms"]);
    }
    titles.push("checked");
    let rows = named
        .iter()
        .map(|(name, ledger)| row(name, ledger, has_reads));
    Grid {
        caption: format!(
            "Ledger: transfers by what the client was told, and what the members have of them. \
             Lost: missing on the primary; behind: the primary has it, and another member had not \
             applied it. Diverged and unbalanced count members{}.",
            if has_reads {
                "; reads are of all members"
            } else {
                ""
            }
        ),
        heads: heads(titles),
        keys: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// Why members were not checked, and examples of anomalies.
fn details(key: &str, named: &[(String, &LedgerSummary)]) -> Grid {
    let rows = named.iter().flat_map(|(name, ledger)| {
        let unchecked = ledger.unchecked.iter();
        let unchecked =
            unchecked.map(|(server, why)| format!("server {server} not checked: {why}"));
        let all = unchecked.chain(ledger.examples.iter().cloned());
        all.map(|one| vec![name.clone(), one])
    });
    Grid {
        caption: "Ledger: members that were not checked, and the first anomalies.".to_owned(),
        heads: heads([key, "details"]),
        keys: 1,
        words: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

fn row(name: &str, ledger: &LedgerSummary, has_reads: bool) -> Vec<String> {
    // What was not checked is not known.
    let found = |count| match ledger.checked.is_empty() {
        true => number::ABSENT.to_owned(),
        false => number::count(count),
    };
    let checked: Vec<String> = ledger.checked.iter().map(u32::to_string).collect();
    let mut row = vec![
        name.to_owned(),
        number::count(ledger.acknowledged),
        number::count(ledger.failed),
        number::count(ledger.unknown),
        found(ledger.unknown_committed),
        found(ledger.lost),
        found(ledger.behind),
        found(ledger.phantom),
        found(ledger.duplicated),
        found(ledger.diverged),
        found(ledger.unbalanced),
    ];
    if has_reads {
        row.extend([
            number::count(ledger.replica_reads),
            number::count(ledger.stale_reads),
            number::maybe(ledger.staleness_max_ms),
        ]);
    }
    row.push(match checked.is_empty() {
        true => number::ABSENT.to_owned(),
        false => checked.join(", "),
    });
    row
}
