//! Scripts in Lua: the user's own, and the one with which 0.4 and 0.5 came.

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};

use ::load::{ANY_ERROR, LoadEvent, LoadSpec, Stop};
use ::script::lua::{self, Declared, LuaScript, Mode, Settings, Source, Value};
use sysbench::options::{Dialect, Kind, OptionError, declarations, test_help};
use sysbench::report::Level;
use sysbench::scripts;
use workload::built_in::BuiltIn;
use workload::options::Options;
use workload::program::labels;

use super::load::pass_on;
use super::record::Record;
use super::reports::Reports;
use super::servers::Servers;
use super::{DONE, Invocation};
use crate::console;
use crate::failure::Failure;

/// Where the error of a script begins that has to run in [`Mode::Threads`].
const CANNOT_SUSPEND: &str = "cannot suspend: ";
/// Commands that are functions of the script.
const FUNCTIONS: [&str; 3] = ["help", "prepare", "cleanup"];

/// How often users have repeated each error.
static REPEATED: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
const MAX_ERRORS: usize = 100;

/// A command of a script.
struct Call {
    source: Source,
    settings: Settings,
    servers: Arc<Servers>,
    name: String,
    /// Whether all users call it, if it is a command of the script's own.
    is_parallel: Option<bool>,
    /// The names of the script's hooks.
    hooks: Vec<String>,
}

pub(super) fn run(it: &mut Invocation, source: Source) -> Result<u8, OptionError> {
    let declared = lua::declared(&source, &settings(it)).map_err(Failure::usage)?;
    let Some(name) = it.line.command.clone() else {
        // With a command, the states that run it print the same.
        console::write(&declared.printed);
        return Ok(DONE);
    };
    let help = finish(it, &source, &declared)?;
    let is_parallel = declared.commands.get(&name).copied();
    let is_function = FUNCTIONS.contains(&&*name) && declared.defines.contains(&name);
    let is_defined = is_function || is_parallel.is_some();
    if name == "help" && !is_defined {
        it.log.report(&help);
        return Ok(DONE);
    }
    let known = if is_defined { name.as_str() } else { "run" };
    it.line.command_of(&source.name, &[known])?;
    let servers = it.servers()?;
    let call = Call {
        settings: Settings {
            help,
            ignored_errors: servers.targets.ignored_errors.clone(),
            ..settings(it)
        },
        source,
        servers,
        name,
        is_parallel,
        hooks: declared.hooks,
    };
    let why = call.source.must_block();
    let ended = match call.run(it, why.as_deref()) {
        Err(error) if why.is_none() && error.message.contains(CANNOT_SUSPEND) => {
            call.run(it, Some("the script waits where it cannot be interrupted"))
        }
        ended => ended,
    };
    let errors = REPEATED.lock().unwrap_or_else(PoisonError::into_inner);
    for (text, count) in errors.iter().filter(|(_, count)| **count > 0) {
        console::write(&format!("(repeated {count} times) {text}"));
    }
    ended
}

/// Prints what a script prints, except an error that another user has had.
fn print_once(text: &str) {
    let mut errors = REPEATED.lock().unwrap_or_else(PoisonError::into_inner);
    match errors.get_mut(text) {
        Some(count) => *count += 1,
        None => console::write(text),
    }
    if text.starts_with("FATAL: ") && errors.len() < MAX_ERRORS {
        errors.entry(text.to_owned()).or_default();
    }
}

impl Call {
    fn script(&self, mode: Mode) -> Arc<LuaScript> {
        LuaScript::new(self.source.clone(), self.settings.clone(), mode)
    }

    /// Runs the command; with a reason `why`, in a thread for each user.
    fn run(&self, it: &mut Invocation, why: Option<&str>) -> Result<u8, OptionError> {
        if let Some(why) = why {
            let warning = format!("Each virtual user has a thread of its own: {why}");
            it.log.message(Level::Warning, &warning);
        }
        let blocks = why.is_some();
        let script = self.script(match blocks {
            true => Mode::Threads,
            false => Mode::Coroutines,
        });
        match self.is_parallel {
            None if self.name == "run" => self.measure(it, &script, blocks),
            Some(true) if it.general.threads > 1 => {
                it.log.report(it.line.dialect.initializing());
                let spec = LoadSpec::endless(it.general.threads, blocks);
                self.call(it, &spec, &script, &self.name)
            }
            _ => {
                let global = script.global().map_err(Failure::usage)?;
                self.call(it, &LoadSpec::endless(1, true), &global, &self.name)
            }
        }
    }

    /// Has each user of a load call a function or command.
    fn call(
        &self,
        it: &Invocation,
        spec: &LoadSpec,
        script: &LuaScript,
        name: &str,
    ) -> Result<u8, OptionError> {
        let (workload, stop) = (BuiltIn::of_script(script.of_command(name)), Stop::default());
        let tell = &mut |_: LoadEvent| pass_on(&it.interrupted, &stop);
        let ended = self.servers.drive(spec, &workload, &stop, tell);
        it.ended(ended).map(|(code, _)| code)
    }

    fn measure(
        &self,
        it: &mut Invocation,
        script: &Arc<LuaScript>,
        blocks: bool,
    ) -> Result<u8, OptionError> {
        let global = script.global().map_err(Failure::usage)?;
        let once = LoadSpec::endless(1, true);
        let began = self.call(it, &once, &global, "init")?;
        if began != DONE {
            return Ok(began);
        }
        // The script says itself which errors it ignores.
        let spec = LoadSpec {
            ignored_errors: vec![ANY_ERROR.to_owned()],
            ..it.spec(blocks)
        };
        let (name, labels) = (&self.source.name, labels());
        let test = match is_bundled(it, &self.source) {
            true => "sql",
            false => "none",
        };
        let mut reports = Reports::new(it, test, &labels);
        reports.script = Some(global.clone());
        reports.hooks.clone_from(&self.hooks);
        let no_tables = (0, &Options::default());
        reports.record = Record::create(it, &self.servers, &spec, name, no_tables, &labels)?;
        let workload = BuiltIn::of_script(Arc::<LuaScript>::clone(script));
        let ended = it.measure(spec, reports, &|spec, stop, tell| {
            self.servers.drive(spec, &workload, stop, tell)
        });
        let done = self.call(it, &once, &global, "done");
        ended.and_then(|code| done.map(|_| code))
    }
}

/// Whether it is no file of the user's.
fn is_bundled(it: &Invocation, source: &Source) -> bool {
    scripts::text(it.line.dialect, &source.name).is_some_and(|text| text == source.text)
}

/// Takes the script's own options; returns their help.
fn finish(
    it: &mut Invocation,
    source: &Source,
    declared: &Declared,
) -> Result<String, OptionError> {
    let bundled = declarations(Dialect::V05, "oltp");
    let options = declared.options.as_deref();
    let options = options.or_else(|| is_bundled(it, source).then_some(&bundled[..]));
    it.line.finish(options)?;
    Ok(test_help(&source.name, options.unwrap_or_default()))
}

/// The settings without what follows from the script's options.
fn settings(it: &Invocation) -> Settings {
    let (values, argv) = (&it.line.values, it.line.argv.iter().cloned());
    let option = |(name, kind): (&str, Kind)| {
        let value = match kind {
            Kind::Bool => Value::Bool(values.bool(name)),
            Kind::Int | Kind::Double => Value::Number(values.double(name)),
            Kind::Size => Value::Number(values.size(name) as f64),
            Kind::String => Value::Text(values.text(name).into()),
            Kind::List => Value::List(values.list(name)),
            _ => Value::Missing,
        };
        (name.to_owned(), value)
    };
    Settings {
        argv: iter::once("sysbench".to_owned()).chain(argv).collect(),
        command: it.line.command.clone(),
        options: values.names().map(option).collect(),
        seed: it.seed,
        driver: values.text("db-driver").to_owned(),
        distribution: it.general.distribution,
        version: it.line.dialect.version(),
        interrupted: Arc::clone(&it.interrupted),
        print: Some(Arc::new(print_once)),
        ..Settings::default()
    }
}
