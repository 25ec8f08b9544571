//! What virtual users do: workloads that are built in, or scripts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::Engine;
use engine::data::{Command, ScriptData};
use load::LoadSpec;
use plan::{digest, is_lua, listed, parse_bytes};
use script::lua::{self, Declared, Kind, LuaScript, Mode, Value};
use workload::built_in::BuiltIn;
use workload::catalog::{Catalog, Labels};
use workload::mix::Mix;
use workload::name::WorkloadName;
use workload::options::{Options, OptionsError};
use workload::pgbench::Pgbench;
use workload::pgbench::built_in::is_built_in;
use workload::program::Script;
use workload::schema::Dialect;

use crate::Failure;

/// The script that makes the tables of pgbench's own scripts.
const PGBENCH_TABLES: &str = include_str!("pgbench.lua");
const PGBENCH_ROWS: u64 = 100_011;
const MAX_MARK_CHARS: usize = 64;

/// What the virtual users of a trial do.
#[derive(Debug, Clone)]
pub enum Workload {
    Mix(Mix),
    Script(Box<Scripts>),
}

/// A script in Lua, or scripts of pgbench.
#[derive(Debug, Clone)]
pub struct Scripts {
    language: Language,
    catalog: Catalog,
    data: ScriptData,
    /// Why each user needs a thread, if that is so.
    blocks: Option<String>,
}

#[derive(Debug, Clone)]
enum Language {
    Lua(Arc<LuaScript>),
    /// With the definitions of variables, and the scale.
    Pgbench(Vec<plan::Script>, Vec<String>, u32),
}

impl Workload {
    /// The workload of a planned trial on an engine. A failure of a script has its place there, and
    /// the key of the option that it is about, if there is one.
    pub fn of(
        planned: &plan::Trial,
        options: &Options,
        engine: &dyn Engine,
    ) -> Result<Self, Failure> {
        let load = &planned.load;
        let scripts = match load.scripts.first() {
            None => return Ok(Self::Mix(load.workload.parse().map_err(Failure::usage)?)),
            Some(main) if is_lua(&main.path) => in_lua(planned, main, options, engine)?,
            Some(_) => of_pgbench(planned, options, engine)?,
        };
        Ok(Self::Script(Box::new(scripts)))
    }

    fn scripts(&self) -> Option<&Scripts> {
        match self {
            Self::Mix(_) => None,
            Self::Script(scripts) => Some(scripts),
        }
    }

    /// Its data if that is a script's own.
    pub(crate) fn data(&self) -> Option<&ScriptData> {
        self.scripts().map(|scripts| &scripts.data)
    }

    pub(crate) fn blocks(&self) -> Option<&str> {
        self.scripts()?.blocks.as_deref()
    }

    /// The workload whose tables are loaded, if there is no other data.
    pub(crate) fn first(&self) -> WorkloadName {
        match self {
            Self::Mix(mix) => mix.first(),
            Self::Script(_) => WorkloadName::OltpReadWrite,
        }
    }

    /// Whether its tables have no rows before the first transaction.
    pub fn begins_empty(&self) -> bool {
        self.first().begins_empty()
    }

    /// The number of its tables; 0 for those of a script.
    pub(crate) fn tables(&self, options: &Options, users: u32) -> u32 {
        match self {
            Self::Mix(mix) => mix.first().tables(options, users),
            Self::Script(_) => 0,
        }
    }

    pub(crate) fn validate(&self, options: &Options) -> Result<(), OptionsError> {
        match self {
            Self::Mix(mix) => mix.validate(options),
            Self::Script(_) => Ok(()),
        }
    }

    /// The labels of its statements.
    pub(crate) fn labels(&self, options: &Options) -> Labels {
        match self {
            Self::Mix(mix) => mix.labels(options),
            Self::Script(scripts) => scripts.catalog.labels.clone(),
        }
    }

    /// The number of statements that each connection prepares when it is opened.
    pub(crate) fn statement_count(&self, options: &Options) -> u64 {
        match self {
            Self::Mix(mix) => mix.statement_count(options),
            Self::Script(scripts) => scripts.catalog.statements.len() as u64,
        }
    }

    /// The workload of a load, ready to run.
    pub(crate) fn ready(
        &self,
        options: &Options,
        dialect: &Dialect,
        spec: &LoadSpec,
    ) -> Result<BuiltIn, OptionsError> {
        let scripts = match self {
            Self::Mix(mix) => {
                return BuiltIn::new(mix.clone(), options, dialect, spec.seed, spec.users);
            }
            Self::Script(scripts) => scripts,
        };
        let script: Arc<dyn Script> = match &scripts.language {
            Language::Lua(script) => script.anew(|settings| {
                settings.seed = spec.seed;
                settings
                    .ignored_errors
                    .extend_from_slice(&spec.ignored_errors);
            }),
            Language::Pgbench(scripts, definitions, scale) => {
                let seed = spec.seed;
                Arc::new(Pgbench::new(scripts, definitions, *scale, dialect, seed)?)
            }
        };
        Ok(BuiltIn::of_script(script))
    }

    /// A state for each instance in which the functions `init` and `done` of a script run.
    pub(crate) fn globals(&self, instances: usize) -> Result<Vec<LuaScript>, Failure> {
        let Some(Language::Lua(script)) = self.scripts().map(|scripts| &scripts.language) else {
            return Ok(Vec::new());
        };
        let globals = (0..instances).map(|_| script.global().map_err(Failure::internal));
        globals.collect()
    }
}

fn in_lua(
    planned: &plan::Trial,
    main: &plan::Script,
    options: &Options,
    engine: &dyn Engine,
) -> Result<Scripts, Failure> {
    let (load, seed) = (&planned.load, planned.data.seed);
    let dir = Path::new(&main.path).parent().unwrap_or(Path::new(""));
    let source = lua::Source {
        name: main.path.clone(),
        text: main.text.to_string(),
        search_dirs: vec![Path::new(".").join(dir)],
    };
    let number = |name: &str, number: f64| (name.to_owned(), Value::Number(number));
    let mut settings = lua::Settings {
        argv: vec!["sysbench".to_owned(), main.path.clone(), "run".to_owned()],
        command: Some("run".to_owned()),
        options: BTreeMap::from([
            number("threads", load.threads.into()),
            number("events", load.events.unwrap_or(0) as f64),
            number("time", load.time.as_secs_f64()),
            number("rate", load.rate.unwrap_or(0.0)),
        ]),
        seed,
        driver: engine.about().driver.to_owned(),
        distribution: options.distribution,
        ignored_errors: vec![lua::RESTARTS.to_owned()],
        version: "1.0.20",
        ..lua::Settings::default()
    };
    let declared = lua::declared(&source, &settings).map_err(Failure::usage)?;
    settings
        .options
        .extend(own_options(main, &declared, &load.options)?);
    let blocks = source.must_block();
    let mode = match blocks {
        Some(_) => Mode::Threads,
        None => Mode::Coroutines,
    };
    let script = LuaScript::new(source, settings, mode);
    let defines = |name: &str| declared.defines.iter().any(|defined| defined == name);
    if !defines("event") {
        let message = format!("{}: cannot find the event() function", main.path);
        return Err(Failure::usage(message));
    }
    let command = |name: &str| {
        let is_parallel = declared.commands.get(name);
        let script = script.anew(|settings| settings.command = Some(name.to_owned()));
        (is_parallel.is_some() || defines(name)).then(|| Command {
            script: script.of_command(name),
            users: if is_parallel == Some(&true) {
                load.threads
            } else {
                1
            },
            blocks: blocks.is_some(),
        })
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let mark = main
        .name()
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' });
    Ok(Scripts {
        catalog: script.catalog(),
        data: ScriptData {
            name: mark.take(MAX_MARK_CHARS).collect(),
            digest: digest(&format!("{} {:?} {}", load.digests(), load.options, seed)),
            rows: 0,
            prepare: command("prepare"),
            cleanup: command("cleanup"),
        },
        language: Language::Lua(script),
        blocks,
    })
}

fn of_pgbench(
    planned: &plan::Trial,
    options: &Options,
    engine: &dyn Engine,
) -> Result<Scripts, Failure> {
    let load = &planned.load;
    let main = plan::Script {
        text: PGBENCH_TABLES.into(),
        ..plan::Script::new("pgbench", 1)
    };
    let tables = in_lua(planned, &main, options, engine)?;
    let scale = match load.options.get("scale").map(|text| text.parse::<u32>()) {
        None => 1,
        Some(Ok(scale @ 1..)) => scale,
        Some(_) => {
            let error = Failure::usage("`scale` must be from 1 to 4294967295");
            return Err(error.key("load.options.scale"));
        }
    };
    let (dialect, seed) = (engine.about().dialect, planned.data.seed);
    let has_tables = load.scripts.iter().any(|one| is_built_in(&one.path));
    let definitions = load
        .variables
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let definitions: Vec<String> = definitions.collect();
    let script = Pgbench::new(&load.scripts, &definitions, scale, dialect, seed);
    Ok(Scripts {
        catalog: script.map_err(Failure::usage)?.catalog(),
        data: match has_tables {
            true => ScriptData {
                digest: format!("scale {scale}"),
                rows: u64::from(scale).saturating_mul(PGBENCH_ROWS),
                ..tables.data
            },
            false => ScriptData::default(),
        },
        language: Language::Pgbench(load.scripts.clone(), definitions, scale),
        ..tables
    })
}

/// The values of the options that a script declares.
fn own_options(
    script: &plan::Script,
    declared: &Declared,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Value>, Failure> {
    let Some(options) = &declared.options else {
        let text =
            |(name, text): (&String, &String)| (name.clone(), Value::Text(text.as_str().into()));
        return Ok(given.iter().map(text).collect());
    };
    let defaults = options.iter().map(|one| {
        let default = value(one.kind, &one.default).unwrap_or_default();
        (one.name.replace('-', "_"), default)
    });
    let mut values: BTreeMap<String, Value> = defaults.collect();
    for (name, text) in given {
        let refuse = |message| Failure::usage(message).key(format!("load.options.{name}"));
        let mut declared = options.iter();
        let Some(option) = declared.find(|one| one.name.replace('-', "_") == *name) else {
            let names = listed(values.keys().map(String::as_str));
            let message = format!("{} has no option `{name}`; it has {names}", script.path);
            return Err(refuse(message));
        };
        let message = || format!("`{text}` is not a value of `{name}`");
        let value = value(option.kind, text).ok_or_else(|| refuse(message()))?;
        values.insert(name.clone(), value);
    }
    Ok(values)
}

/// Reads an option; `None` if it is not of this kind.
fn value(kind: Kind, text: &str) -> Option<Value> {
    match (kind, text) {
        (Kind::Bool, "true" | "on" | "1") => Some(Value::Bool(true)),
        (Kind::Bool, "false" | "off" | "0") => Some(Value::Bool(false)),
        (Kind::Bool, _) => None,
        (Kind::Size, _) => parse_bytes(text).map(|bytes| Value::Number(bytes as f64)),
        (Kind::Int | Kind::Double, _) => text.parse().ok().map(Value::Number),
        (Kind::List, _) => {
            let items = text.split(',').filter(|item| !item.is_empty());
            Some(Value::List(items.map(str::to_owned).collect()))
        }
        (Kind::Null | Kind::String | Kind::File, _) => Some(Value::Text(text.into())),
    }
}
