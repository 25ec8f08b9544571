//! Reads every table and index once, as a warm-up without transactions.

use crate::Database;
use crate::failure::Failure;
use crate::run::Run;
use crate::setup::rig::Rig;
use crate::trial::Trial;

/// Does nothing unless the study asks for it.
pub(crate) fn preload(trial: &Trial, rig: &Rig, run: &mut Run<'_>) -> Result<(), Failure> {
    if !trial.planned.load.preload || trial.workload.begins_empty() {
        return Ok(());
    }
    run.observer.stage("reading all tables once");
    let read = |database: &Database| database.read_tables(&trial.options, run.interrupted);
    let read = rig.databases().try_for_each(read);
    read.map_err(|error| {
        if run.is_interrupted() {
            let message = "interrupted while reading all tables";
            return Failure::interrupted(message);
        }
        // That the server has died explains more than a broken connection.
        rig.death(true).map_or(error, |(_, death)| death)
    })
}

#[cfg(test)]
mod tests;
