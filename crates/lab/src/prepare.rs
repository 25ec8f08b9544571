//! Has the rows of a trial in its databases.

use std::sync::atomic::AtomicBool;

use data::{Listener, Mode, PrepareError};

use crate::database::{Database, mysql_failure};
use crate::failure::{Cause, Failure};
use crate::keeper::Keeper;
use crate::trial::Trial;

pub(crate) fn prepare_for(
    keeper: &mut dyn Keeper,
    trial: &Trial,
    database: &Database,
    mode: Mode,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut tell = |news| keeper.preparing(&news);
    let prepared = prepare(trial, database, mode, &mut tell, interrupted)?;
    keeper.prepared(&prepared);
    Ok(())
}

/// Has the rows of a trial in a database.
///
/// # Errors
/// When what is there does not fit, or the rows cannot be loaded.
pub fn prepare(
    trial: &Trial,
    database: &Database,
    mode: Mode,
    tell: &mut dyn FnMut(data::Progress),
    interrupted: &AtomicBool,
) -> Result<data::Prepared, Failure> {
    let wanted = trial.wanted(mode);
    let listener = Listener { tell, interrupted };
    let prepared = match database {
        Database::Mysql { target, .. } => data::prepare_mysql(target, &wanted, listener),
        Database::Sqlite(target) => data::prepare_sqlite(target, &wanted, listener),
    };
    prepared.map_err(|error| prepare_failure(database, error))
}

fn prepare_failure(database: &Database, error: PrepareError) -> Failure {
    match error {
        PrepareError::Unfit { problem, remedy } => {
            Failure::new(Cause::Usage, problem).remedy(Some(remedy))
        }
        PrepareError::Busy { ref holder, .. } => {
            let remedy = format!("wait for it, end it (KILL {holder}), or use another database");
            Failure::new(Cause::Server, error).remedy(Some(remedy))
        }
        PrepareError::Mysql(error) => mysql_failure(error),
        PrepareError::Sqlite(error) => {
            let remedy = database.remedy(&error);
            let place = database
                .file()
                .map_or(String::new(), |file| format!("{}: ", file.display()));
            Failure::new(Cause::Server, format!("{place}{error}")).remedy(remedy)
        }
        PrepareError::Damaged(_) => Failure::new(Cause::Server, error),
        PrepareError::Interrupted => Failure::new(Cause::Interrupted, error),
        PrepareError::Io(_) => Failure::new(Cause::Internal, error),
        PrepareError::Distribution(_) => Failure::new(Cause::Usage, error),
    }
}
