//! The bundled tests of 1.0, which are workloads of dyno's own, with their tables.

use std::time::Duration;

use ::load::{ANY_ERROR, LoadSpec};
use engine::data::{Listener, Mode, Wanted};
use lab::Database;
use sysbench::bundled::options;
use sysbench::options::{Dialect, OptionError, declarations, test_help};
use sysbench::report::Level;
use workload::built_in::BuiltIn;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::{Dialect as Sql, drop_table, table_name};
use workload::session::SessionError;
use workload::virtual_user::Workload;

use super::record::Record;
use super::reports::Reports;
use super::{DONE, Invocation, fatal};
use crate::failure::Failure;

/// How long a statement of a command may take.
const LIMIT: Duration = Duration::from_secs(3600);
const COMMANDS: [&str; 4] = ["prepare", "prewarm", "run", "cleanup"];

pub(super) fn run(it: &mut Invocation, workload: WorkloadName) -> Result<u8, OptionError> {
    let (test, dialect) = (workload.name(), it.line.dialect);
    // These are scripts to sysbench, and one without a command only has to be found.
    if it.line.command.is_none() {
        return Ok(DONE);
    }
    let command = it.line.command_of(test, &COMMANDS)?.to_owned();
    let declared = declarations(if dialect == Dialect::V05 { Dialect::V10 } else { dialect }, test);
    it.line.finish(Some(&declared[..]).filter(|declared| !declared.is_empty()))?;
    if command == "help" {
        it.log.report(&test_help(test, &declared));
        return Ok(DONE);
    }
    let options = options(&it.line, &it.general, it.seed)?;
    let database = it.servers()?.database()?;
    match (command.as_str(), &database) {
        ("run", database) => measure(it, workload, options, database.as_ref()),
        ("prepare", Some(database)) => prepare(it, workload, &options, database),
        ("cleanup", Some(database)) => clean_up(it, workload, &options, database).map_err(failed),
        (_, Some(database)) => {
            let read = database.read_tables(&options, &it.interrupted);
            read.map_err(fatal).map(|()| DONE)
        }
        // In a dry run.
        (_, None) => Ok(DONE),
    }
}

fn measure(
    it: &mut Invocation,
    name: WorkloadName,
    mut options: Options,
    database: Option<&Database>,
) -> Result<u8, OptionError> {
    if name.validate(&options).is_err() {
        // Some tests use only the first table.
        options.data.tables = 1;
    }
    let sql = database.map_or(&Sql::STANDARD, |database| database.engine().about().dialect);
    let workload = BuiltIn::new(name, &options, sql, it.seed, it.general.threads);
    let workload = workload.map_err(|error| fatal(Failure::usage(error)))?;
    let labels = &workload.catalog().labels;
    let mut reports = Reports::new(it, "sql", labels);
    if let Some(database) = database {
        let record = Record::create(it, database, name.name(), &options, labels);
        reports.record = record.map_err(fatal)?;
    }
    let servers = it.servers()?;
    let ignored = servers.targets.ignored_errors.iter();
    let ignored = ignored.map(|code| if code == "all" { ANY_ERROR } else { code.as_str() });
    let spec = LoadSpec {
        ignored_errors: ignored.map(str::to_owned).collect(),
        ..it.spec(it.workers())
    };
    it.measure(spec, reports, &|spec, stop, tell| servers.drive(spec, &workload, stop, tell))
}

fn prepare(
    it: &mut Invocation,
    workload: WorkloadName,
    options: &Options,
    database: &Database,
) -> Result<u8, OptionError> {
    let (users, data) = (it.general.threads, &options.data);
    let has_rows = !workload.begins_empty();
    let mut say = |text: String| it.log.message(Level::Notice, &text);
    for table in (1..=workload.tables(options, users)).map(table_name) {
        say(format!("Creating table '{table}'..."));
        if has_rows {
            say(format!("Inserting {} records into '{table}'", data.rows));
        }
        if has_rows && data.create_secondary {
            say(format!("Creating a secondary index on '{table}'..."));
        }
    }
    let wanted = Wanted {
        workload,
        script: None,
        options,
        seed: it.seed,
        users,
        mode: Mode::Missing,
        connections: users,
        stall_limit: ::load::STALL_LIMIT,
    };
    let listener = Listener {
        tell: &mut |_| {},
        interrupted: &it.interrupted,
    };
    let prepared = database.prepare(&wanted, listener).map_err(fatal)?;
    if prepared.found > 0 {
        let failure = Failure::server(format!("{} of the tables already exist", prepared.found));
        return Err(fatal(failure.remedy("remove them with the command cleanup")));
    }
    forget_marks(database).map_err(failed)?;
    Ok(DONE)
}

/// Leaves the tables as sysbench does: without dyno's marks.
fn forget_marks(database: &Database) -> Result<(), SessionError> {
    let mut sql = database.connect(LIMIT)?;
    sql.rows("DELETE FROM dyno_tables WHERE name LIKE 'sbtest%'", LIMIT)?;
    if sql.rows("SELECT name FROM dyno_tables", LIMIT)?.is_empty() {
        sql.rows("DROP TABLE dyno_tables", LIMIT)?;
    }
    Ok(())
}

fn clean_up(
    it: &mut Invocation,
    workload: WorkloadName,
    options: &Options,
    database: &Database,
) -> Result<u8, SessionError> {
    let mut sql = database.connect(LIMIT)?;
    for table in 1..=workload.tables(options, it.general.threads) {
        let text = format!("Dropping table '{}'...", table_name(table));
        it.log.message(Level::Notice, &text);
        sql.rows(&drop_table(table), LIMIT)?;
    }
    Ok(DONE)
}

fn failed(error: SessionError) -> OptionError {
    fatal(Failure::server(error))
}
