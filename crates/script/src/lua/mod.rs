//! Lua scripts with the API of sysbench 1.0, run by LuaJIT.
//!
//! A [`LuaScript`] runs as a load, [`declared`] tells what a script says of itself, [`GlobalState`]
//! calls its `init`, `done` and commands, and [`Reporter`] its hooks for reports. The API itself is
//! in Lua: `prelude.lua` (the life of a user), `sql.lua`, `legacy.lua` and `report.lua`.

mod coroutine;
mod declared;
mod exchange;
mod random;
mod reporter;
mod settings;
mod state;
mod threaded;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use workload::catalog::Catalog;
use workload::options::OptionsError;
use workload::program::{self, Program, Script};

pub use declared::{Declared, Kind, OptionDeclaration, declared};
pub use reporter::{Reporter, Stat};
pub use settings::{Mode, Print, RESTARTS, Settings, Source, Value};

use threaded::{Link, ThreadProgram};

/// C functions that hold up nobody, or that are replaced.
const HARMLESS: &str = " usleep sleep nanosleep getpid time clock_gettime gettimeofday rand srand ";

/// A script that failed: its own message, with the place where it has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(pub String);

impl From<mlua::Error> for ScriptError {
    fn from(error: mlua::Error) -> Self {
        let message = match error {
            mlua::Error::RuntimeError(message) => message,
            other => other.to_string(),
        };
        // The traceback is of calls by the program, unless it is one of the script's own.
        let message = message.split("\nstack traceback:").next();
        Self(message.unwrap_or_default().to_owned())
    }
}

impl From<ScriptError> for OptionsError {
    fn from(error: ScriptError) -> Self {
        Self::Script(error.0)
    }
}

/// What a script has counted itself.
#[derive(Debug, Default)]
pub struct Counters {
    /// By `sb_counter_inc`: other, read, write, event, error, reconnect.
    pub counts: [AtomicU64; 6],
    /// Whether it has asked for a database driver.
    pub has_driver: AtomicBool,
}

/// What all states of a script share.
struct Common {
    source: Source,
    settings: Settings,
    counters: Counters,
    /// How many unique numbers were drawn.
    drawn: AtomicU32,
}

impl Common {
    fn new(source: Source, settings: Settings) -> Self {
        Self {
            source,
            settings,
            counters: Counters::default(),
            drawn: AtomicU32::new(0),
        }
    }
}

/// Where users run.
#[derive(Debug, Clone)]
enum Place {
    Mode(Mode),
    Global(Arc<Mutex<Link>>),
}

/// A script with its settings, ready to run.
#[derive(Clone)]
pub struct LuaScript {
    common: Arc<Common>,
    place: Place,
    /// What each user calls once, instead of running events.
    command: Option<Arc<str>>,
}

/// The state in which `init`, `done` and commands that are not parallel run. It lives from the
/// first to the last of them; a connection does not outlive the call that opened it.
#[derive(Debug)]
pub struct GlobalState(LuaScript);

impl LuaScript {
    /// The events of a script, as `run` runs them.
    pub fn new(source: Source, settings: Settings, mode: Mode) -> Arc<Self> {
        Arc::new(Self {
            common: Arc::new(Common::new(source, settings)),
            place: Place::Mode(mode),
            command: None,
        })
    }

    /// The same script with other settings, which has counted nothing yet.
    pub fn anew(&self, change: impl FnOnce(&mut Settings)) -> Arc<Self> {
        let mut settings = self.common.settings.clone();
        change(&mut settings);
        Arc::new(Self {
            common: Arc::new(Common::new(self.common.source.clone(), settings)),
            ..self.clone()
        })
    }

    /// A parallel command of the script: each user calls it once.
    pub fn of_command(&self, name: &str) -> Arc<Self> {
        Arc::new(Self {
            command: Some(name.into()),
            ..self.clone()
        })
    }

    /// Starts the script's global state.
    pub fn global(&self) -> Result<GlobalState, ScriptError> {
        Ok(GlobalState(Self {
            place: Place::Global(threaded::start(&self.common, 0, true)?),
            ..self.clone()
        }))
    }

    /// Why the script should run in [`Mode::Threads`], if its text shows that it blocks.
    pub fn must_block(&self) -> Option<String> {
        let text = &self.common.source.text;
        let mut calls = ["os.execute", "io.popen"].into_iter();
        if let Some(call) = calls.find(|call| text.contains(call)) {
            return Some(format!("it calls {call}"));
        }
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let names = text.split("ffi.C.").skip(1).filter_map(|rest| rest.split(is_end).next());
        let is_ours = |name: &str| {
            name.to_ascii_lowercase().starts_with("sb_") || HARMLESS.contains(&format!(" {name} "))
        };
        let mut foreign = names.filter(|name| !is_ours(name));
        foreign.next().map(|name| format!("it calls the C function {name}"))
    }

    pub fn counters(&self) -> &Counters {
        &self.common.counters
    }

    /// The script's own reports, if it has hooks for them. The reporter stays on its thread.
    pub fn reporter(&self) -> Option<Reporter> {
        // A script that cannot be loaded fails elsewhere.
        let reporter = Reporter::new(&self.common).ok()?;
        let mut hooks = ["report_intermediate", "report_cumulative"].into_iter();
        hooks.any(|hook| reporter.has(hook)).then_some(reporter)
    }
}

impl GlobalState {
    /// A script of one user, who calls the function or command once, if there is one.
    pub fn call(&self, name: &str) -> Arc<LuaScript> {
        self.0.of_command(name)
    }
}

impl fmt::Debug for LuaScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LuaScript")
            .field("name", &self.common.source.name)
            .field("place", &self.place)
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl Script for LuaScript {
    /// Without statements: a script's are known only when it runs.
    fn catalog(&self) -> Catalog {
        Catalog {
            labels: program::labels(),
            statements: Vec::new(),
        }
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError> {
        let (common, command) = (&self.common, self.command.as_ref());
        if let Place::Mode(Mode::Coroutines) = self.place {
            return Ok(coroutine::programs(common, command, users)?);
        }
        let program = |user| -> Result<Box<dyn Program>, OptionsError> {
            let link = match &self.place {
                Place::Global(link) => Arc::clone(link),
                Place::Mode(_) => threaded::start(common, user, command.is_some())?,
            };
            Ok(Box::new(ThreadProgram::new(link, command.cloned())))
        };
        users.map(program).collect()
    }
}
