//! Who is told what happens in the laboratory, and keeps it.

use std::path::PathBuf;

use measure::find_max::FoundMax;
use measure::metric::MonitorPoint;
use measure::setup::StatementKind;
use measure::slice::Second;
use measure::summary::TrialSummary;

use crate::failure::Failure;
use crate::trial::Trial;

/// Keeps the results of trials as they come, and shows how they go.
pub trait Keeper {
    /// A trial begins; its results are to be kept from now on.
    ///
    /// # Errors
    /// When they cannot be kept.
    fn begin(&mut self, trial: &Trial) -> Result<(), Failure>;

    /// The directory for what a server of the trial leaves: its option file and
    /// its error log.
    ///
    /// # Errors
    /// When it cannot be made.
    fn server_dir(&mut self, instance: u32) -> Result<PathBuf, Failure>;

    /// Something is under way that takes a while.
    fn stage(&mut self, what: &str);

    /// Something that the user should know.
    fn note(&mut self, text: &str);

    /// Data is being loaded.
    fn preparing(&mut self, news: &engine::data::Progress);

    /// The data is there.
    fn prepared(&mut self, prepared: &engine::data::Prepared);

    /// So many of the load's connections are open.
    fn connecting(&mut self, open: u32, users: u32);

    /// A second of the whole load is over.
    fn second(&mut self, second: &Second, kinds: &[StatementKind]);

    /// A second of one of several servers' loads is over.
    fn instance_second(&mut self, instance: u32, second: &Second, kinds: &[StatementKind]);

    /// What the monitors saw.
    fn monitored(&mut self, point: &MonitorPoint);

    /// The load has ended, and waits for running transactions.
    fn draining(&mut self, running: usize);

    /// The trial is over.
    ///
    /// # Errors
    /// When something of it could not be kept.
    fn end(&mut self, summary: TrialSummary) -> Result<(), Failure>;

    /// How a search for the highest rate goes, in a line.
    fn searching(&mut self, line: &str);

    /// A search is over.
    ///
    /// # Errors
    /// When what it found could not be kept.
    fn found(&mut self, found: FoundMax) -> Result<(), Failure>;
}
