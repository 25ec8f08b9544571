//! The steps of one trial.

use measure::ledger::LedgerSummary;
use measure::setup::Outcome;
use measure::summarize::Summarizer;
use measure::summary::TrialSummary;

use crate::drive::flush::flush;
use crate::drive::start::Start;
use crate::ledger::Ledger;
use crate::setup::data::preload;
use crate::{Failure, FinishedTrial, Lab, Rig, Run, Trial, drive, ledger};

/// Runs one trial, as scopes that are taken down in reverse order whatever fails inside:
///
/// 1. The observer begins to store it.
/// 2. Set up (`setup/mod.rs`): a site for each node, a volume and a copy of the template's data on
///    it, the nodes, and of these the clusters, each an instance to drive (`setup/build.rs`).
/// 3. Read all tables once if the study asks for it (`setup/data.rs`).
/// 4. Create the tables of the ledgers (`ledger/`).
/// 5. Drive (`drive/mod.rs`): on one clock behind one barrier, loads, monitors, probers, and ledgers
///    run, and faults are injected, until the loads have ended.
/// 6. In a comparison of writes, flush the servers (`drive/flush.rs`). Count the space of the data,
///    and look for foreign servers and logins.
/// 7. Verify the ledgers on every member.
/// 8. Summarize.
/// 9. Take down what was set up, or keep it for the next trial.
/// 10. Pass the summary to the observer.
pub fn run(lab: &mut Lab, trial: &Trial, run: &mut Run<'_>) -> Result<FinishedTrial, Failure> {
    run.observer.begin(trial)?;
    let rig = lab.set_up(trial, run)?;
    let ran = run_on(trial, &rig, run);
    lab.take_down(rig, run.observer);
    Ok(store(ran?, run))
}

/// Step 10. Measured results are returned even if they could not be stored.
pub(crate) fn store(ran: FinishedTrial, run: &mut Run<'_>) -> FinishedTrial {
    let stored = run.observer.end(ran.summary.clone());
    FinishedTrial {
        failure: ran.failure.or(stored.err()),
        ..ran
    }
}

/// Steps 3 to 8.
pub(crate) fn run_on(
    trial: &Trial,
    rig: &Rig,
    run: &mut Run<'_>,
) -> Result<FinishedTrial, Failure> {
    preload(trial, rig, run)?;
    let ledgers = ledger::open(trial, rig, run)?;
    drive_on(trial, rig, ledgers, None, run)
}

/// Steps 5 to 8; `start` is that of trials that take turns.
pub(crate) fn drive_on(
    trial: &Trial,
    rig: &Rig,
    ledgers: Vec<Ledger<'_>>,
    start: Option<&Start>,
    run: &mut Run<'_>,
) -> Result<FinishedTrial, Failure> {
    let driven = drive::drive(trial, rig, &ledgers, start, run);
    let mut ran = driven.inspect_err(|_| {
        let ledgers = ledgers.iter();
        ledgers.for_each(|ledger| ledger.clean_up(run.observer));
    })?;
    flush(trial, rig, &mut ran.summary, run);
    ran.summary.space = rig.space();
    let strangers = rig.strangers();
    let verify = |ledger: Ledger<'_>| ledger.verify(&mut ran.summary.faults, run);
    let (ledgers, unreadable): (Vec<_>, Vec<_>) = ledgers.into_iter().map(verify).unzip();
    add_ledgers(&mut ran, ledgers, unreadable.into_iter().flatten().next());
    ran.summary.warnings.extend(strangers);
    Ok(ran)
}

fn add_ledgers(ran: &mut FinishedTrial, ledgers: Vec<LedgerSummary>, unreadable: Option<String>) {
    let summary = &mut ran.summary;
    let warnings = ledgers.iter().filter_map(LedgerSummary::warning);
    summary.warnings.extend(warnings);
    summary.ledgers = ledgers;
    if let (None, Some(reason)) = (&ran.failure, unreadable) {
        ran.failure = Some(Failure::interrupted(&reason));
        summary.outcome = Outcome::Failed { reason };
    }
}

/// The summary of a trial whose load did not start.
pub(crate) fn failed(trial: &Trial, failure: &Failure) -> TrialSummary {
    let outcome = Outcome::Failed {
        reason: failure.message.clone(),
    };
    Summarizer::new(&[]).finish(TrialSummary {
        outcome,
        ..TrialSummary::new(trial.planned_setup())
    })
}
