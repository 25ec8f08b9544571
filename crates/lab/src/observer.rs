//! The laboratory's interface to the code that stores and shows results.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::fault::FaultRecord;
use measure::find_max::FoundMax;
use measure::instance::NodeEvent;
use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::setup::StatementKind;
use measure::slice::Second;
use measure::summary::TrialSummary;

use crate::{Failure, Trial};

/// Stores the results of trials as they arrive, and shows their progress. An
/// observer may leave out the methods that return nothing.
pub trait Observer {
    /// A trial begins: store its results from now on.
    fn begin(&mut self, trial: &Trial) -> Result<(), Failure>;

    /// The directory for the configuration and error log of one of the trial's servers.
    fn server_dir(&mut self, instance: u32) -> Result<PathBuf, Failure>;

    /// The file for the history of an instance's ledger.
    fn ledger_file(&mut self, instance: u32) -> Result<PathBuf, Failure>;

    /// A phase begins that takes a while.
    fn stage(&mut self, _what: &str) {}

    fn note(&mut self, _text: &str) {}

    fn preparing(&mut self, _progress: &engine::data::Progress) {}

    fn prepared(&mut self, _prepared: &engine::data::Prepared) {}

    /// `open` connections are open; the trial needs `users`.
    fn connecting(&mut self, _open: u32, _users: u32) {}

    /// A merged second of all loads has ended.
    fn second(&mut self, _second: &Second, _kinds: &[StatementKind]) {}

    /// A second of one instance's load has ended; called only if there are several instances.
    fn instance_second(&mut self, _instance: u32, _second: &Second, _kinds: &[StatementKind]) {}

    fn monitored(&mut self, _point: &MonitorPoint) {}

    /// Something happened to a node that the study did not ask for.
    fn event(&mut self, _event: &NodeEvent) {}

    /// A fault has struck, failed, or been healed.
    fn fault(&mut self, _fault: &FaultRecord) {}

    /// The transactions around a fault; called at the end of the trial.
    fn fault_series(&mut self, _series: &FaultSeries) {}

    /// The load has ended and waits for `running` transactions.
    fn draining(&mut self, _running: usize) {}

    fn end(&mut self, summary: TrialSummary) -> Result<(), Failure>;

    /// Progress of a search for the highest rate, as one line of text.
    fn searching(&mut self, _line: &str) {}

    fn found(&mut self, found: FoundMax) -> Result<(), Failure>;
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
