//! What a script declares of itself: its options, commands, functions and hooks.

use std::collections::BTreeMap;
use std::sync::Arc;

use mlua::{FromLua, Lua, LuaString, ObjectLike, Table};

use super::state::State;
use super::{Common, ScriptError, Settings, Source};

/// How an option's value is read.
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
    /// By sysbench's numbers.
    const ALL: [Self; 8] = {
        use Kind::*;
        [Null, Bool, Int, Size, Double, String, List, File]
    };
}

/// An option of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionDeclaration {
    pub name: String,
    pub description: String,
    pub kind: Kind,
    /// As it would be typed; empty if there is none.
    pub default: String,
}

impl FromLua for OptionDeclaration {
    fn from_lua(value: mlua::Value, lua: &Lua) -> mlua::Result<Self> {
        let option = Table::from_lua(value, lua)?;
        let kind = Kind::ALL.get(option.get::<usize>("kind")?);
        Ok(Self {
            name: option.get("name")?,
            description: option.get("description")?,
            kind: kind.copied().unwrap_or(Kind::String),
            default: option.get("default")?,
        })
    }
}

/// What a script declares of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// In the order of their names; `None` for a script that takes any option.
    pub options: Option<Vec<OptionDeclaration>>,
    /// Whether the command runs in all threads, by its name.
    pub commands: BTreeMap<String, bool>,
    /// The names of its global functions.
    pub defines: Vec<String>,
    /// The names of its hooks.
    pub hooks: Vec<String>,
    /// What it printed while it was loaded.
    pub printed: String,
}

/// Loads the script in a state of its own. An error is that of its top level or of a declaration.
pub fn declared(source: &Source, settings: &Settings) -> Result<Declared, ScriptError> {
    let common = Common::new(source.clone(), settings.clone());
    let state = State::new(&Arc::new(common), 0, None)?;
    let declared = state.core.call_function("declared", ())?;
    let (options, commands, defines, hooks, printed): (_, _, _, _, LuaString) = declared;
    Ok(Declared {
        options,
        commands,
        defines,
        hooks,
        printed: printed.to_string_lossy(),
    })
}
