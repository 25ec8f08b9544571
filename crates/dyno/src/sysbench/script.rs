//! Scripts in Lua: the user's own, and the one with which 0.4 and 0.5 came.

use std::sync::Arc;

use ::load::{ANY_ERROR, LoadSpec};
use ::script::lua::{self, Declared, LuaScript, Mode, ScriptError, Settings, Source, Value};
use sysbench::options::{Declaration, Dialect, Kind, OptionError, declarations, test_help};
use sysbench::report::Level;
use sysbench::scripts;
use workload::built_in::BuiltIn;
use workload::options::Options;
use workload::program::labels;

use super::record::Record;
use super::reports::Reports;
use super::servers::Servers;
use super::{DONE, Invocation, fatal};
use crate::console;
use crate::failure::Failure;

/// Where the error of a script begins that has to run in [`Mode::Threads`].
const CANNOT_SUSPEND: &str = "cannot suspend: ";
/// Commands that are functions of the script.
const FUNCTIONS: [&str; 3] = ["help", "prepare", "cleanup"];

/// A command of a script.
struct Call {
    source: Source,
    declared: Declared,
    name: String,
    settings: Settings,
    servers: Servers,
}

pub(super) fn run(it: &mut Invocation, source: Source) -> Result<u8, OptionError> {
    let declared = lua::declared(&source, &settings(it, String::new(), &[])).map_err(failed)?;
    let Some(name) = it.line.command.clone() else {
        // With a command, the states that run it print the same.
        console::write(&declared.printed);
        return Ok(DONE);
    };
    let help = finish(it, &source, &declared)?;
    let is_function = FUNCTIONS.contains(&&*name) && declared.defines.contains(&name);
    let is_defined = is_function || declared.commands.contains_key(&name);
    if name == "help" && !is_defined {
        it.log.report(&help);
        return Ok(DONE);
    }
    let known = if is_defined { name.as_str() } else { "run" };
    it.line.command_of(&source.name, &[known])?;
    let servers = it.servers()?;
    let call = Call {
        settings: settings(it, help, &servers.targets.ignored_errors),
        source,
        declared,
        name,
        servers,
    };
    let why = call.script(Mode::Coroutines).must_block();
    match call.run(it, why.as_deref()) {
        Err(error) if why.is_none() && error.message.contains(CANNOT_SUSPEND) => {
            call.run(it, Some("it waits where it cannot be interrupted"))
        }
        ended => ended,
    }
}

impl Call {
    fn script(&self, mode: Mode) -> Arc<LuaScript> {
        LuaScript::new(self.source.clone(), self.settings.clone(), mode)
    }

    /// Runs the command; with a reason `why`, in a thread for each user.
    fn run(&self, it: &mut Invocation, why: Option<&str>) -> Result<u8, OptionError> {
        let (mode, workers) = match why {
            Some(_) => (Mode::Threads, it.general.threads),
            None => (Mode::Coroutines, it.workers()),
        };
        if let Some(why) = why {
            let warning = format!("Each virtual user has a thread of its own: {why}");
            it.log.message(Level::Warning, &warning);
        }
        let script = self.script(mode);
        match self.declared.commands.get(&self.name) {
            None if self.name == "run" => self.measure(it, &script, workers),
            Some(true) if it.general.threads > 1 => {
                it.log.report(it.line.dialect.initializing());
                let spec = it.spec_of_command(it.general.threads, workers);
                self.drive(it, &spec, script.of_command(&self.name))
            }
            _ => self.call(it, &script.global().map_err(failed)?, &self.name),
        }
    }

    /// Calls a function or command in the global state.
    fn call(&self, it: &Invocation, global: &LuaScript, name: &str) -> Result<u8, OptionError> {
        self.drive(it, &it.spec_of_command(1, 1), global.of_command(name))
    }

    fn drive(
        &self,
        it: &Invocation,
        spec: &LoadSpec,
        script: Arc<LuaScript>,
    ) -> Result<u8, OptionError> {
        let workload = BuiltIn::of_script(script);
        it.call(spec, &|spec, stop, tell| self.servers.drive(spec, &workload, stop, tell))
    }

    fn measure(
        &self,
        it: &mut Invocation,
        script: &Arc<LuaScript>,
        workers: u32,
    ) -> Result<u8, OptionError> {
        let mut defined = self.declared.defines.iter();
        let has_global = defined.any(|name| name == "init" || name == "done");
        let global = has_global.then(|| script.global()).transpose().map_err(failed)?;
        let began = global.as_ref().map_or(Ok(DONE), |global| self.call(it, global, "init"))?;
        if began != DONE {
            return Ok(began);
        }
        let (labels, is_bundled) = (labels(), is_bundled(it, &self.source));
        let mut reports = Reports::new(it, if is_bundled { "sql" } else { "none" }, &labels);
        reports.script = Some((Arc::clone(script), script.reporter()));
        if let Ok(Some(database)) = self.servers.database() {
            let options = Options::default();
            let record = Record::create(it, &database, &self.source.name, &options, &labels);
            reports.record = record.map_err(fatal)?;
        }
        // The script says itself which errors it ignores.
        let spec = LoadSpec {
            ignored_errors: vec![ANY_ERROR.to_owned()],
            ..it.spec(workers)
        };
        let workload = BuiltIn::of_script(Arc::<LuaScript>::clone(script));
        let ended = it.measure(spec, reports, &|spec, stop, tell| {
            self.servers.drive(spec, &workload, stop, tell)
        });
        let done = global.map_or(Ok(DONE), |global| self.call(it, &global, "done"));
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
    let own = declared.options.as_deref().unwrap_or_default();
    let defaults: Vec<String> = own.iter().map(|option| typed(&option.default)).collect();
    let own = own.iter().zip(&defaults).map(|(option, default)| Declaration {
        name: &option.name,
        kind: option.kind,
        default,
        help: &option.description,
    });
    let (own, bundled) = (own.collect::<Vec<_>>(), declarations(Dialect::V05, "oltp"));
    let options = match declared.options {
        Some(_) => Some(own.as_slice()),
        None => Some(bundled.as_slice()).filter(|_| is_bundled(it, source)),
    };
    it.line.finish(options)?;
    Ok(test_help(&source.name, options.unwrap_or_default()))
}

/// A value as it would be typed.
fn typed(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(items) => items.join(","),
        Value::Missing => String::new(),
    }
}

fn settings(it: &Invocation, help: String, ignored_errors: &[String]) -> Settings {
    let values = &it.line.values;
    let option = |(name, kind): (&str, Kind)| {
        let value = match kind {
            Kind::Bool => Value::Bool(values.bool(name)),
            Kind::Int | Kind::Double => Value::Number(values.double(name)),
            Kind::Size => Value::Number(values.size(name) as f64),
            Kind::String => Value::Text(values.text(name).to_owned()),
            Kind::List => Value::List(values.list(name)),
            _ => Value::Missing,
        };
        (name.to_owned(), value)
    };
    let program = std::iter::once("sysbench".to_owned());
    Settings {
        argv: program.chain(it.line.argv.iter().cloned()).collect(),
        command: it.line.command.clone(),
        options: values.names().map(option).collect(),
        help,
        seed: it.seed,
        driver: values.text("db-driver").to_owned(),
        distribution: it.general.distribution,
        ignored_errors: ignored_errors.to_vec(),
        version: it.line.dialect.version(),
        interrupted: Arc::clone(&it.interrupted),
        print: Some(Arc::new(console::write)),
    }
}

fn failed(error: ScriptError) -> OptionError {
    fatal(Failure::usage(error))
}
