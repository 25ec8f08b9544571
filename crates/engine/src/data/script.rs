//! Data that a script loads: its commands run as loads, and a mark says that they have.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::load::{Barrier, End, LoadError, LoadEvent, LoadSpec, Stop};
use client::StatementProtocol;
use client::connection::LOGIN_LIMIT;
use client::route::Route;
use plan::Failure;
use workload::built_in::BuiltIn;
use workload::program::Script;
use workload::session::{FailureKind, SessionError};

use super::state::{CREATE_MARKER, MARKER_TABLE};
use super::{Listener, Mode, Prepared, Progress};
use crate::database::{Database, Load};
use crate::remote::{Rows, first_cell};

/// For the maintenance of all tables.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3600);

/// Data that a script loads itself.
#[derive(Debug, Clone, Default)]
pub struct ScriptData {
    /// What its mark is called: at most 64 characters, without quotes and backslashes.
    pub name: String,
    /// Identifies the data among those of this name.
    pub digest: String,
    /// As far as they are known.
    pub rows: u64,
    /// `None` without data.
    pub prepare: Option<Command>,
    pub cleanup: Option<Command>,
}

/// A command of a script.
#[derive(Debug, Clone)]
pub struct Command {
    pub script: Arc<dyn Script>,
    /// Each runs it once.
    pub users: u32,
    /// Whether each user needs a thread, because the script blocks.
    pub blocks: bool,
}

pub(super) fn prepare(
    database: &dyn Database,
    data: &ScriptData,
    mode: Mode,
    mut listener: Listener<'_>,
) -> Result<Prepared, Failure> {
    let Some(prepare) = &data.prepare else {
        return Ok(Prepared::default());
    };
    let (name, digest) = (&data.name, &data.digest);
    ask(database, CREATE_MARKER)?;
    let mark = format!("SELECT spec FROM {MARKER_TABLE} WHERE name = '{name}'");
    match (mode, first_cell(ask(database, &mark)?)) {
        (Mode::Missing, Some(known)) if known == *digest => return Ok(prepared(0)),
        (Mode::Missing, Some(_)) => {
            let message = format!("the data of {name} is of another version, or of other options");
            let remedy = "use the same options, or --prepare always to rebuild the data";
            return Err(Failure::usage(message).remedy(remedy));
        }
        (Mode::Missing, None) => {}
        (Mode::Always, _) => {
            let unmark = format!("DELETE FROM {MARKER_TABLE} WHERE name = '{name}'");
            ask(database, &unmark)?;
            let what = format!("cleanup of {name}");
            let mut commands = data.cleanup.iter();
            commands.try_for_each(|command| run(database, &what, command, &mut listener))?;
        }
    }
    run(
        database,
        &format!("prepare of {name}"),
        prepare,
        &mut listener,
    )?;
    for statement in database.engine().about().settle {
        ask(database, statement)?;
    }
    let mark = format!("INSERT INTO {MARKER_TABLE} VALUES ('{name}', 'ready', '{digest}', 1, 0)");
    ask(database, &mark)?;
    Ok(prepared(1))
}

fn prepared(loaded: u32) -> Prepared {
    Prepared {
        found: 1 - loaded,
        loaded,
        rows: 0,
        is_of_script: true,
    }
}

/// Runs a command of a script; `what` names it for people.
pub fn run(
    database: &dyn Database,
    what: &str,
    command: &Command,
    listener: &mut Listener<'_>,
) -> Result<(), Failure> {
    let blocks = command.blocks || database.is_in_process();
    let spec = LoadSpec::endless(command.users, blocks);
    let workload = BuiltIn::of_script(Arc::clone(&command.script));
    let (barrier, route, stop) = (Barrier::new(1), Arc::new(Route::fixed()), Stop::default());
    let mut statements = 0;
    let driven = database.drive(Load {
        spec: &spec,
        workload: &workload,
        protocol: StatementProtocol::Prepared,
        stamp_replies: false,
        barrier: &barrier,
        route: &route,
        stop: &stop,
        pulse: None,
        tell: &mut |event| {
            if let LoadEvent::Second(second) = event {
                statements += second.slice.statement_count();
                let what = what.to_owned();
                (listener.tell)(Progress::Running { what, statements });
            }
            if listener.interrupted.load(Ordering::Relaxed) {
                stop.interrupt();
            }
        },
    });
    let failure = match driven.map(|load| load.end) {
        Ok(End::Completed) => return Ok(()),
        // An interrupt may make the script fail.
        _ if listener.interrupted.load(Ordering::Relaxed) => Failure::interrupted("interrupted"),
        Ok(End::Failed(error) | End::ServerLost { error, .. }) | Err(LoadError::Connect(error)) => {
            failed(database, &error)
        }
        Ok(End::Interrupted) => Failure::interrupted("interrupted"),
        Err(error) => Failure::internal(error),
    };
    Err(failure.context(what))
}

/// Executes a statement on a connection of its own, because a command may take longer than an idle
/// connection may.
fn ask(database: &dyn Database, statement: &str) -> Result<Rows, Failure> {
    let opened = database.connect(LOGIN_LIMIT);
    let rows = opened.and_then(|mut sql| sql.rows(statement, STATEMENT_LIMIT));
    rows.map_err(|error| failed(database, &error))
}

fn failed(database: &dyn Database, error: &SessionError) -> Failure {
    let failure = match error.kind {
        FailureKind::Script => Failure::usage(error),
        _ => Failure::server(error),
    };
    failure.perhaps(database.remedy(error))
}
