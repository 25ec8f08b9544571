//! What a script is run with.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mlua::{BString, FromLua, IntoLua, Lua, Table};
use workload::distribution::Distribution;
use workload::session::{FailureKind, SessionError};

use super::Common;

/// The errors of a lost connection, as MySQL's client numbers them.
const LOST: [&str; 4] = ["2006", "2011", "2013", "2055"];

/// C functions that hold up nobody, or that are replaced.
const HARMLESS: &str = "usleep sleep nanosleep getpid time clock_gettime gettimeofday rand srand";

/// Stands for all errors after which a load repeats a transaction: deadlocks, lost connections, ….
pub const RESTARTS: &str = "restarts";

/// A script's text.
#[derive(Debug, Clone)]
pub struct Source {
    /// As it was typed.
    pub name: String,
    pub text: String,
    /// Where `require` looks after the usual places.
    pub search_dirs: Vec<PathBuf>,
}

impl Source {
    /// Why the script should run in [`Mode::Threads`], if its text or that of a module shows it.
    pub fn must_block(&self) -> Option<String> {
        let (mut texts, mut known) = (vec![self.text.clone()], Vec::new());
        while let Some(text) = texts.pop() {
            if let Some(why) = must_block(&text) {
                return Some(why);
            }
            for path in modules(&text, &self.search_dirs) {
                if !known.contains(&path) {
                    let text = fs::read(&path).unwrap_or_default();
                    texts.push(String::from_utf8_lossy(&text).into_owned());
                    known.push(path);
                }
            }
        }
        None
    }
}

/// The files of modules that a script or module loads from these directories.
pub fn modules(text: &str, dirs: &[PathBuf]) -> Vec<PathBuf> {
    let names = text.split("require").skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches([' ', '(']);
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c))?;
        rest.get(1..)?.split(quote).next()
    });
    let files = names.map(|name| format!("{}.lua", name.replace('.', "/")));
    let found = |file: String| {
        let mut paths = dirs.iter().map(|dir| dir.join(&file));
        paths.find(|path| path.is_file())
    };
    files.filter_map(found).collect()
}

/// Why a text shows that its script should run in [`Mode::Threads`].
fn must_block(text: &str) -> Option<String> {
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let called = text.split("ffi.C.").skip(1);
    let mut called = called.filter_map(|rest| rest.split(is_end).next());
    let is_foreign = |name: &&str| {
        let is_ours = name.to_ascii_lowercase().starts_with("sb_");
        !is_ours && HARMLESS.split(' ').all(|known| known != *name)
    };
    let mut used = ["os.execute", "io.popen", "coroutine"].into_iter();
    let used = used.find(|name| text.contains(name)).map(str::to_owned);
    let foreign = || called.find(is_foreign).map(|name| format!("ffi.C.{name}"));
    used.or_else(foreign)
        .map(|name| format!("the script uses {name}"))
}

/// How the users of a script wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each is a coroutine in the state of its worker.
    Coroutines,
    /// Each has a thread and a state: for scripts that block, or that wait in coroutines of their
    /// own or functions that C code calls, whose failure begins with `cannot suspend: `.
    Threads,
}

/// Takes text that a script prints.
pub type Print = Arc<dyn Fn(&str) + Send + Sync>;

/// What a script is run with. There is no `Debug`, because the words can hold a password.
#[derive(Clone, Default)]
pub struct Settings {
    /// All words of the command line, the program first.
    pub argv: Vec<String>,
    pub command: Option<String>,
    /// All options by name, with `_`: general ones, those of drivers, and the script's own.
    pub options: BTreeMap<String, Value>,
    /// What `print_test_options` prints.
    pub help: String,
    pub seed: u64,
    /// `mysql`, `pgsql` or `sqlite`.
    pub driver: String,
    /// What `sysbench.rand.default` draws from.
    pub distribution: Distribution,
    /// Numbers or SQLSTATEs of errors that restart an event, `all`, or [`RESTARTS`].
    pub ignored_errors: Vec<String>,
    /// The version of sysbench that scripts see, such as `1.0.20`.
    pub version: &'static str,
    /// Ends endless loops in the global state.
    pub interrupted: Arc<AtomicBool>,
    /// Takes what the script prints by `print` or `io.write`; without it, that is lost.
    pub print: Option<Print>,
}

impl Settings {
    /// Whether an event restarts after this error.
    pub(super) fn ignores(&self, error: &SessionError) -> bool {
        let is_listed = |code: &String| {
            let is_lost = is_lost(error) && LOST.contains(&code.as_str());
            let is_restart = code == RESTARTS && error.kind != FailureKind::Refused;
            code == "all" || is_lost || is_restart || error.has_code(code)
        };
        error.kind != FailureKind::Script && self.ignored_errors.iter().any(is_listed)
    }
}

fn is_lost(error: &SessionError) -> bool {
    matches!(error.kind, FailureKind::Lost | FailureKind::Away)
}

/// The number of an error, which for a lost connection is that of MySQL's client.
pub(super) fn number_of(error: &SessionError) -> u32 {
    error
        .number
        .unwrap_or(if is_lost(error) { 2013 } else { 0 })
}

/// The value of an option or parameter.
#[derive(Debug, Default, Clone, PartialEq)]
pub enum Value {
    Bool(bool),
    Number(f64),
    Text(BString),
    List(Vec<String>),
    #[default]
    Missing,
}

impl IntoLua for Value {
    fn into_lua(self, lua: &Lua) -> mlua::Result<mlua::Value> {
        match self {
            Self::Bool(value) => value.into_lua(lua),
            Self::Number(value) => value.into_lua(lua),
            Self::Text(value) => value.into_lua(lua),
            Self::List(values) => values.into_lua(lua),
            Self::Missing => Ok(mlua::Nil),
        }
    }
}

impl FromLua for Value {
    fn from_lua(value: mlua::Value, lua: &Lua) -> mlua::Result<Self> {
        Ok(match value {
            mlua::Value::Nil => Self::Missing,
            mlua::Value::Boolean(value) => Self::Bool(value),
            // That is how most numbers come.
            mlua::Value::Integer(value) => Self::Number(value as f64),
            mlua::Value::Number(value) => Self::Number(value),
            text => Self::Text(BString::from_lua(text, lua)?),
        })
    }
}

/// The settings as Lua sees them.
pub(super) fn table(lua: &Lua, common: &Common) -> mlua::Result<Table> {
    let (source, settings) = (&common.source, &common.settings);
    let patterns = source.search_dirs.iter().map(|dir| {
        let dir = dir.display();
        format!(";{dir}/?.lua;{dir}/?/init.lua")
    });
    let argv = settings.argv.iter().map(String::as_str);
    let table = lua.create_table()?;
    table.set("name", source.name.as_str())?;
    table.set("text", source.text.as_str())?;
    table.set("search_path", patterns.collect::<String>())?;
    table.set("help", settings.help.as_str())?;
    table.set("driver", settings.driver.as_str())?;
    table.set("version", settings.version)?;
    table.set("command", settings.command.as_deref())?;
    table.set("argv", lua.create_table_from((0i64..).zip(argv))?)?;
    table.set("options", settings.options.clone())?;
    Ok(table)
}
