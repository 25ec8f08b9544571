//! Reads every table and index once, as a warm-up without transactions.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::Database;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::rig::Rig;
use crate::trial::Trial;

/// Does nothing unless the study asks for it.
pub(crate) fn preload(
    trial: &Trial,
    rig: &Rig,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    if !trial.planned.load.preload || trial.workload.begins_empty() {
        return Ok(());
    }
    observer.stage("reading all tables once");
    let read = |database: &Database| database.read_tables(&trial.options, interrupted);
    let read = rig.databases().try_for_each(read);
    read.map_err(|error| {
        if interrupted.load(Ordering::Relaxed) {
            let message = "interrupted while reading all tables";
            return Failure::interrupted(message);
        }
        // That the server has died explains more than a broken connection.
        rig.death(true).map_or(error, |(_, death)| death)
    })
}

#[cfg(test)]
mod tests;
