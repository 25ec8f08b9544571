//! Loads the tables of a trial into a database.

use std::sync::atomic::AtomicBool;

use engine::data::{Listener, Mode};

use crate::Database;
use crate::failure::{Cause, Failure};
use crate::observer::Observer;
use crate::trial::Trial;

pub(crate) fn prepare_for(
    observer: &mut dyn Observer,
    trial: &Trial,
    database: &Database,
    mode: Mode,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut tell = |progress| observer.preparing(&progress);
    let prepared = prepare(trial, database, mode, &mut tell, interrupted)?;
    observer.prepared(&prepared);
    Ok(())
}

/// Loads the tables of a trial into a database.
pub fn prepare(
    trial: &Trial,
    database: &Database,
    mode: Mode,
    tell: &mut dyn FnMut(engine::data::Progress),
    interrupted: &AtomicBool,
) -> Result<engine::data::Prepared, Failure> {
    let wanted = trial.wanted(mode);
    let listener = Listener { tell, interrupted };
    let prepared = database.prepare(&wanted, listener);
    prepared.map_err(|error| {
        let place = match (error.cause(), database.file()) {
            (Cause::Server, Some(file)) => format!("{}: ", file.display()),
            _ => String::new(),
        };
        let failure = Failure::from(error);
        Failure {
            message: format!("{place}{}", failure.message),
            ..failure
        }
    })
}
