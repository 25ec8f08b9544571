//! The bundled tests of 1.0, which are workloads of dyno's own, with their tables.

use std::time::Duration;

use ::load::LoadSpec;
use engine::data::{Listener, Mode, Wanted};
use lab::Database;
use sysbench::bundled::options;
use sysbench::options::{Dialect, OptionError};
use sysbench::report::Level;
use workload::built_in::BuiltIn;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::{Dialect as Sql, drop_table, table_name};
use workload::virtual_user::Workload;

use super::record::Record;
use super::reports::Reports;
use super::servers::Servers;
use super::{DONE, Invocation};
use crate::failure::Failure;

/// How long a statement of a command may take.
const LIMIT: Duration = Duration::from_secs(3600);
const COMMANDS: [&str; 4] = ["prepare", "prewarm", "run", "cleanup"];

pub(super) fn run(it: &mut Invocation, workload: WorkloadName) -> Result<u8, OptionError> {
    // These are scripts to sysbench, and one without a command only has to be found.
    if it.line.command.is_none() {
        return Ok(DONE);
    }
    let dialect = match it.line.dialect {
        Dialect::V05 => Dialect::V10,
        own => own,
    };
    let Some(command) = it.command(workload.name(), &COMMANDS, dialect)? else {
        return Ok(DONE);
    };
    let options = options(&it.line, &it.general, it.seed)?;
    let servers = it.servers()?;
    if command == "run" {
        return measure(it, workload, options, &servers);
    }
    if let Some(database) = servers.reached()? {
        match command.as_str() {
            "prepare" => prepare(it, workload, &options, database)?,
            "cleanup" => clean_up(it, workload, &options, database)?,
            _ => database.read_tables(&options, &it.interrupted)?,
        }
    }
    Ok(DONE)
}

fn measure(
    it: &mut Invocation,
    name: WorkloadName,
    mut options: Options,
    servers: &Servers,
) -> Result<u8, OptionError> {
    let database = servers.reached()?;
    if name.validate(&options).is_err() {
        // Some tests use only the first table.
        options.data.tables = 1;
    }
    let sql = database.map_or(&Sql::STANDARD, |database| database.engine().about().dialect);
    let workload = BuiltIn::new(name, &options, sql, it.seed, it.general.threads);
    let workload = workload.map_err(Failure::usage)?;
    let labels = &workload.catalog().labels;
    let spec = LoadSpec {
        ignored_errors: servers.targets.ignored_errors.clone(),
        ..it.spec(false)
    };
    let mut reports = Reports::new(it, "sql", labels);
    let tables = name.tables(&options, spec.users);
    reports.record = Record::create(it, servers, &spec, name.name(), (tables, &options), labels)?;
    it.measure(spec, reports, &|spec, stop, tell| {
        servers.drive(spec, &workload, stop, tell)
    })
}

fn prepare(
    it: &mut Invocation,
    workload: WorkloadName,
    options: &Options,
    database: &Database,
) -> Result<(), Failure> {
    let (users, data) = (it.general.threads, &options.data);
    let has_rows = !workload.begins_empty();
    let mut say = |text: String| it.log.message(Level::Notice, &text);
    let mut sql = database.connect(LIMIT).map_err(Failure::server)?;
    for table in (1..=workload.tables(options, users)).map(table_name) {
        say(format!("Creating table '{table}'..."));
        let look = format!("SELECT 1 FROM {table} LIMIT 0");
        if sql.rows(&look, LIMIT).is_ok() {
            let failure = Failure::server(format!("the table {table} already exists"));
            return Err(failure.remedy("remove it with the command cleanup"));
        }
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
    database.prepare(&wanted, listener)?;
    // Leaves the tables as sysbench does: without dyno's marks.
    let mut sql = database.connect(LIMIT).map_err(Failure::server)?;
    let mut ask = |text: &str| sql.rows(text, LIMIT).map_err(Failure::server);
    ask("DELETE FROM dyno_tables WHERE name LIKE 'sbtest%'")?;
    if ask("SELECT name FROM dyno_tables")?.is_empty() {
        ask("DROP TABLE dyno_tables")?;
    }
    Ok(())
}

fn clean_up(
    it: &mut Invocation,
    workload: WorkloadName,
    options: &Options,
    database: &Database,
) -> Result<(), Failure> {
    let mut sql = database.connect(LIMIT).map_err(Failure::server)?;
    for table in 1..=workload.tables(options, it.general.threads) {
        let text = format!("Dropping table '{}'...", table_name(table));
        it.log.message(Level::Notice, &text);
        sql.rows(&drop_table(table), LIMIT)
            .map_err(Failure::server)?;
    }
    Ok(())
}
