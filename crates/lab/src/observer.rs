//! The laboratory's interface to the code that stores and shows results.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::data;
use measure::fault::FaultRecord;
use measure::find_max::FoundMax;
use measure::instance::NodeEvent;
use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::setup::StatementKind;
use measure::slice::Second;
use measure::summary::TrialSummary;

use crate::{Failure, Trial, locked};

/// Stores the results of trials as they arrive, and shows their progress.
pub trait Observer: Send {
    /// The directory for the configuration and error log of one of the trial's servers.
    fn server_dir(&mut self, instance: u32) -> Result<PathBuf, Failure>;

    /// The file for the history of an instance's ledger.
    fn ledger_file(&mut self, instance: u32) -> Result<PathBuf, Failure>;

    fn end(&mut self, summary: TrialSummary) -> Result<(), Failure>;

    // What follows is optional.

    /// A trial begins: store its results from now on. Trials that take turns begin before any of them
    /// ends.
    fn begin(&mut self, _trial: &Trial) -> Result<(), Failure> {
        Ok(())
    }

    /// Selects the trial that the following calls refer to, when several trials run concurrently.
    fn select(&mut self, _trial: &Trial) {}

    fn found(&mut self, _found: FoundMax) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether the trial is not needed, because earlier ones have decided what its study compares.
    fn is_decided(&mut self, _trial: &Trial) -> bool {
        false
    }

    fn progress(&mut self, _news: Progress<'_>) {}
}

/// Events of a trial. Observers store `Second`, `InstanceSecond`, `Monitored`, and `FaultSeries`; all
/// other events are for display only, because the summary has the same information.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A phase begins that takes a while.
    Stage(&'a str),
    Note(&'a str),
    Preparing(&'a data::Progress),
    Prepared(&'a data::Prepared),
    /// `open` connections are open; the trial needs `users`.
    Connecting {
        open: u32,
        users: u32,
    },
    /// Something happened to a node that the study did not ask for.
    Event(&'a NodeEvent),
    /// A fault has struck, failed, or been healed.
    Fault(&'a FaultRecord),
    /// The load has ended and waits for `running` transactions.
    Draining {
        running: usize,
    },
    /// A search for the highest rate has made a step, described in one line.
    Searching(&'a str),
    /// A second of the measurement has ended: the totals of all loads.
    Second(&'a Second, &'a [StatementKind]),
    /// The same for one of several instances.
    InstanceSecond(u32, &'a Second, &'a [StatementKind]),
    Monitored(&'a MonitorPoint),
    /// The transactions around a fault, at the end of the trial.
    FaultSeries(&'a FaultSeries),
}

impl dyn Observer + '_ {
    pub(crate) fn stage(&mut self, what: &str) {
        self.progress(Progress::Stage(what));
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.progress(Progress::Note(text));
    }
}

/// Who is told what happens in trials, and whether they are to stop.
pub struct Run<'a> {
    pub observer: &'a mut dyn Observer,
    /// Becomes true when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

impl Run<'_> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// The observer of one of several trials that run at once, each on a thread of its own.
pub(crate) struct OneOf<'a, 'o> {
    pub(crate) trial: &'a Trial,
    pub(crate) all: &'a Mutex<&'o mut dyn Observer>,
}

impl OneOf<'_, '_> {
    fn tell<T>(&self, tell: impl FnOnce(&mut dyn Observer) -> T) -> T {
        let mut all = locked(self.all);
        all.select(self.trial);
        tell(&mut **all)
    }
}

impl Observer for OneOf<'_, '_> {
    fn server_dir(&mut self, instance: u32) -> Result<PathBuf, Failure> {
        self.tell(|all| all.server_dir(instance))
    }

    fn ledger_file(&mut self, instance: u32) -> Result<PathBuf, Failure> {
        self.tell(|all| all.ledger_file(instance))
    }

    fn end(&mut self, summary: TrialSummary) -> Result<(), Failure> {
        self.tell(|all| all.end(summary))
    }

    fn progress(&mut self, news: Progress<'_>) {
        self.tell(|all| all.progress(news));
    }
}
