//! `dyno sysbench …`: sysbench's command line, with its text and its exit codes.
//!
//! A test ([`find`]) needs no database ([`native`]), is a workload of dyno's own ([`bundled`]), or
//! a [`script`]. Each runs as a load ([`load`]) on its [`servers`]. The [`reports`] of its seconds
//! are sysbench's; with `--dyno-out`, it is also a result of dyno ([`record`]).

mod bundled;
mod find;
mod load;
mod native;
mod record;
mod reports;
mod script;
mod servers;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ::sysbench::options::{
    CommandLine, Dialect, General, INTERRUPTED, OptionError, Targets, declarations, parse,
    test_help,
};
use ::sysbench::report::{Level, Log};

use crate::console::{self, eprint};
use crate::signals;
use find::Test;
use servers::Servers;

/// What runs scripts, in the header.
const LUA: &str = "bundled LuaJIT 2.1";
const DONE: u8 = 0;

/// A command line with all that its commands need.
struct Invocation {
    line: CommandLine,
    general: General,
    seed: u64,
    log: Log<fn(&str)>,
    interrupted: Arc<AtomicBool>,
    /// `None` until a command uses a database.
    servers: Option<Arc<Servers>>,
}

/// Runs the words after the program's name; returns sysbench's exit code.
pub(crate) fn sysbench(words: &[String]) -> ExitCode {
    let ended = read(words).and_then(|mut it| run(&mut it));
    let code = ended.unwrap_or_else(|error| {
        match error.is_stderr {
            true => eprint(&error.message),
            false => console::write(&format!("{}\n", error.message)),
        }
        error.hint.iter().for_each(|hint| eprint(hint));
        error.exit
    });
    ExitCode::from(code)
}

/// Reads a command line, and prints what comes before anything else.
fn read(words: &[String]) -> Result<Invocation, OptionError> {
    let mut line = parse(words)?;
    line.notices.iter().for_each(|notice| eprint(notice));
    if line.dialect == Dialect::V04 {
        // All of its tests are known, and the distribution of keys is an option of one.
        let declared = declarations(line.dialect, line.test.as_deref().unwrap_or_default());
        line.finish(Some(&declared))?;
    }
    let general = General::of(&mut line);
    let verbosity = general.as_ref().map(|general| general.verbosity);
    let verbosity = verbosity.unwrap_or(Level::Notice as u32);
    let write = console::write as fn(&str);
    let mut log = Log { verbosity, write };
    for warning in &line.warnings {
        log.report(&format!("{warning}\n"));
    }
    log.report(&line.dialect.header(LUA));
    let general = general?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(Invocation {
        seed: general
            .seed
            .unwrap_or(now.map_or(1, |now| now.as_nanos() as u64)),
        line,
        general,
        log,
        interrupted: signals::interruption()?,
        servers: None,
    })
}

fn run(it: &mut Invocation) -> Result<u8, OptionError> {
    load::raise_file_limit();
    let ended = match find::test(&it.line)? {
        Test::Native(name) => native::run(it, name),
        Test::Workload(workload) => bundled::run(it, workload),
        Test::Script(source) => script::run(it, source),
    };
    ended.map_err(|mut error| {
        // An interruption can make any step fail.
        if it.interrupted.load(Ordering::Relaxed) {
            error.exit = INTERRUPTED;
        }
        if let Some(servers) = &it.servers {
            error.hint = error.hint.map(|hint| servers.targets.remedy(&hint));
        }
        error
    })
}

impl Invocation {
    /// Reads the options of a test that comes with sysbench, and returns the command; `None` for
    /// `help`, whose text has then been printed.
    fn command(
        &mut self,
        test: &str,
        implemented: &[&str],
        dialect: Dialect,
    ) -> Result<Option<String>, OptionError> {
        let command = self.line.command_of(test, implemented)?.to_owned();
        let declared = declarations(dialect, test);
        let options = Some(&declared[..]).filter(|all| !all.is_empty());
        self.line.finish(options)?;
        if command == "help" {
            self.log.report(&test_help(test, &declared));
            return Ok(None);
        }
        Ok(Some(command))
    }

    /// Opens the servers.
    fn servers(&mut self) -> Result<Arc<Servers>, OptionError> {
        let targets = Targets::of(&self.line, |name| std::env::var(name).ok())?;
        let servers = Arc::new(Servers::open(targets));
        Ok(Arc::clone(self.servers.insert(servers)))
    }
}
