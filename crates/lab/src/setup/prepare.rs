//! Loads the tables of a trial into a database.

use std::sync::atomic::AtomicBool;

use engine::data::{Listener, Mode};

use crate::Database;
use crate::failure::{Exit, Failure};
use crate::run::Run;
use crate::trial::Trial;

pub(crate) fn prepare_for(
    trial: &Trial,
    database: &Database,
    mode: Mode,
    run: &mut Run<'_>,
) -> Result<(), Failure> {
    let mut tell = |progress| run.observer.preparing(&progress);
    let prepared = prepare(trial, database, mode, &mut tell, run.interrupted)?;
    run.observer.prepared(&prepared);
    Ok(())
}

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
    prepared.map_err(|failure| match (failure.exit, database.file()) {
        (Exit::Server, Some(file)) => failure.context(file.display()),
        _ => failure,
    })
}
