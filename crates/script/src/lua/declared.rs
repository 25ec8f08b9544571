//! What a script declares of itself: its options, commands and functions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{FromLua, Function, Lua, Table};

use super::state::State;
use super::{Common, Print, ScriptError, Settings, Source, Value};

/// How an option's value is read, in the order of sysbench's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Int,
    Size,
    Double,
    String,
    List,
    File,
}

impl Kind {
    fn numbered(number: usize) -> Option<Self> {
        use Kind::*;
        let kinds = [Null, Bool, Int, Size, Double, String, List, File];
        kinds.get(number).copied()
    }
}

/// An option of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionDeclaration {
    pub name: String,
    pub description: String,
    pub kind: Kind,
    pub default: Value,
}

impl FromLua for OptionDeclaration {
    fn from_lua(value: mlua::Value, lua: &Lua) -> mlua::Result<Self> {
        let option = Table::from_lua(value, lua)?;
        Ok(Self {
            name: option.get(1)?,
            description: option.get(2)?,
            kind: Kind::numbered(option.get(3)?).unwrap_or(Kind::String),
            default: option.get(4)?,
        })
    }
}

/// What a script declares of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// In the order of their names; `None` for a script that takes any option.
    pub options: Option<Vec<OptionDeclaration>>,
    /// Whether the command runs in all threads, by its name.
    pub commands: BTreeMap<String, bool>,
    /// The names of its global functions.
    pub defines: Vec<String>,
    /// What it printed while it was loaded.
    pub printed: String,
}

/// What takes the text that a script prints, and where it puts it.
pub(super) fn capture() -> (Print, Arc<Mutex<String>>) {
    let printed = Arc::<Mutex<String>>::default();
    let text = Arc::clone(&printed);
    let print = move |more: &str| {
        let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(more);
    };
    (Arc::new(print), printed)
}

/// What was printed since the last time.
pub(super) fn take(printed: &Mutex<String>) -> String {
    std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Loads the script in a state of its own. An error is that of its top level or of a declaration.
pub fn declared(source: &Source, settings: &Settings) -> Result<Declared, ScriptError> {
    let common = Common::new(source.clone(), settings.clone());
    let (print, printed) = capture();
    let state = State::new(&Arc::new(common), Some(&print), None)?;
    let declare: Function = state.core.get("declared")?;
    let (options, commands, defines) = declare.call(state.load()?)?;
    Ok(Declared {
        options,
        commands,
        defines,
        printed: take(&printed),
    })
}
