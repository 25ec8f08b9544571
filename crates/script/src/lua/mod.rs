//! Lua scripts with the API of sysbench 1.0, run by LuaJIT.
//!
//! A [`LuaScript`] runs as a load, be it its events or a command, and prints reports by its hooks;
//! [`declared()`] tells what a script says of itself. The API itself is in Lua: `prelude.lua` (the
//! life of a user), `sql.lua`, `legacy.lua` and `report.lua`.

mod declared;
mod exchange;
mod random;
mod settings;
mod state;
mod users;

#[cfg(test)]
mod tests;

use std::fmt;
use std::iter::once;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use workload::catalog::Catalog;
use workload::options::OptionsError;
use workload::program::{self, Program, Script};

pub use declared::{Declared, Kind, OptionDeclaration, declared};
pub use settings::{Mode, Print, RESTARTS, Settings, Source, Value, modules};

use exchange::{Asked, Exchange, UserProgram};
use users::Link;

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

/// What a script has counted by `sb_counter_inc`: other, read, write, event, error, reconnect.
/// Behind them, how often it has asked for a database driver.
pub type Counters = [AtomicU64; 7];

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

/// Without the settings, which can hold a password.
impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source.name)
    }
}

/// A script with its settings, ready to run.
#[derive(Debug, Clone)]
pub struct LuaScript {
    common: Arc<Common>,
    mode: Mode,
    /// The state of all users, unless they have states of their own.
    global: Option<Link>,
    /// What each user calls once, instead of running events.
    command: Option<Arc<str>>,
}

impl LuaScript {
    /// The events of a script, as `run` runs them.
    pub fn new(source: Source, settings: Settings, mode: Mode) -> Arc<Self> {
        Arc::new(Self {
            common: Arc::new(Common::new(source, settings)),
            mode,
            global: None,
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

    /// Starts the script's global state: [`LuaScript::of_command`] is then `init`, `done` or a
    /// command that is not parallel, with one user. The state lives from the first to the last of
    /// them; a connection does not outlive the call that opened it.
    pub fn global(&self) -> Result<Self, ScriptError> {
        Ok(Self {
            global: Some(users::start_thread(&self.common, 0, true)?),
            ..self.clone()
        })
    }

    fn exchanges(&self, numbers: Range<u32>) -> Result<Vec<Exchange>, ScriptError> {
        let (common, is_command) = (&self.common, self.command.is_some());
        let on_thread = |number| -> Result<Exchange, ScriptError> {
            let link = users::start_thread(common, number, is_command)?;
            Ok(users::blocking(&link, &Arc::default()))
        };
        match (&self.global, self.mode) {
            (Some(link), _) => {
                let user = |_| users::blocking(link, &common.settings.interrupted);
                Ok(numbers.map(user).collect())
            }
            (None, Mode::Coroutines) => Ok(users::coroutines(common, numbers, is_command)?),
            (None, Mode::Threads) => numbers.map(on_thread).collect(),
        }
    }

    pub fn counters(&self) -> &Counters {
        &self.common.counters
    }

    /// Has a hook of the global state, between two commands, print a report of these numbers, such
    /// as `events` and `latency_pct`. Times are in seconds; counts are those of the interval. An
    /// error is the script's own.
    pub fn report(&self, hook: &str, stat: &[(&str, f64)]) -> Result<(), ScriptError> {
        let numbers = stat.iter().map(|(name, number)| format!("{name}={number}"));
        let report = once(hook.to_owned()).chain(numbers).collect();
        let link = self.global.as_ref();
        let exchange = link.map(|link| users::blocking(link, &self.common.settings.interrupted));
        exchange.map_or(Ok(()), |exchange| exchange::report(exchange, report))
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

    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError> {
        let exchanges = self.exchanges(users);
        let exchanges = exchanges.map_err(|error| OptionsError::Script(error.0))?;
        let program = |exchange| -> Box<dyn Program> {
            Box::new(UserProgram {
                script: self.clone(),
                exchange,
                asked: Asked::default(),
                executed: 0,
            })
        };
        Ok(exchanges.into_iter().map(program).collect())
    }
}
