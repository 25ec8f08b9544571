//! pgbench's scripts: statements, meta commands with expressions, weights, and what is built in.

pub mod built_in;

mod expr;
mod names;
mod parse;
mod sql;
#[cfg(test)]
mod tests;
mod user;

use std::ops::Range;
use std::sync::Arc;

use rand::Rng;

use crate::catalog::{Catalog, StatementClass};
use crate::dialect::Dialect;
use crate::options::OptionsError;
use crate::program::{self, Program, Script};
use crate::random;

use expr::{Value, Variable};
use names::{Name, Names};
use parse::{Action, Command};
use user::User;

/// Characters of a statement that its label shows.
const LABEL_CHARS: usize = 60;

/// A script as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What errors call it: the name of its file.
    pub name: String,
    pub text: String,
    /// How often it runs in proportion to the others; 0 for never.
    pub weight: u32,
}

/// Scripts of pgbench that are ready to run. The kind of a transaction is the number of its script.
#[derive(Debug)]
pub struct Pgbench {
    catalog: Catalog,
    shared: Arc<Shared>,
}

/// What all virtual users have in common.
#[derive(Debug)]
struct Shared {
    scripts: Vec<Parsed>,
    names: Names,
    /// The variable that is the user's number.
    client_id: usize,
    /// The variables that are set when a user begins, by their numbers. Later ones win.
    known: Vec<(usize, Variable)>,
    /// Whether a backslash escapes the next character of every string.
    escapes: bool,
    seed: u64,
}

#[derive(Debug)]
struct Parsed {
    source: Source,
    commands: Vec<Command>,
}

impl Pgbench {
    /// Reads scripts. `definitions` are variables as `name=value`; `scale` is the variable of that
    /// name. The same seed results in the same transactions of each user. An error has its place in
    /// the script, as pgbench shows it.
    pub fn new(
        sources: Vec<Source>,
        definitions: &[String],
        scale: u32,
        dialect: &Dialect,
        seed: u64,
    ) -> Result<Self, OptionsError> {
        if sources.iter().all(|source| source.weight == 0) {
            let message = "total script weight must not be zero".to_owned();
            return Err(OptionsError::Script(message));
        }
        // Of the dialects, that of MySQL.
        let escapes = !dialect.has_on_conflict;
        let mut names = Names::default();
        let scripts = sources.into_iter().map(|source| {
            let commands = parse::parse(&source, &mut names, escapes)?;
            Ok(Parsed { source, commands })
        });
        let scripts: Result<Vec<_>, String> = scripts.collect();
        let mut scripts = scripts.map_err(OptionsError::Script)?;
        let known = known(&mut names, definitions, scale, seed).map_err(OptionsError::Script)?;
        Ok(Self {
            catalog: catalog(&mut scripts, dialect),
            shared: Arc::new(Shared {
                scripts,
                client_id: Name::new("client_id", &mut names).number,
                known,
                names,
                escapes,
                seed,
            }),
        })
    }
}

impl Script for Pgbench {
    fn catalog(&self) -> Catalog {
        self.catalog.clone()
    }

    fn opens_connections(&self) -> bool {
        false
    }

    fn kinds(&self) -> usize {
        self.shared.scripts.len()
    }

    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError> {
        let program = |number| -> Box<dyn Program> { Box::new(User::new(&self.shared, number)) };
        Ok(users.map(program).collect())
    }
}

/// What [`Shared::known`] is.
fn known(
    names: &mut Names,
    definitions: &[String],
    scale: u32,
    seed: u64,
) -> Result<Vec<(usize, Variable)>, String> {
    // Of no user.
    let default_seed = random::user(seed, u32::MAX).next_u64() as i64;
    let mut known = Vec::new();
    for (name, value) in [
        ("scale", i64::from(scale)),
        ("random_seed", seed as i64),
        ("default_seed", default_seed),
    ] {
        let value = Variable::Known(Value::Int(value));
        known.push((Name::new(name, names).number, value));
    }
    for definition in definitions {
        let (name, value) = definition
            .split_once('=')
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .ok_or_else(|| format!("invalid variable definition: \"{definition}\""))?;
        names::check(name).map_err(|message| format!("option: {message}"))?;
        known.push((Name::new(name, names).number, Variable::of_text(value)));
    }
    Ok(known)
}

/// Numbers the statements that can be prepared.
fn catalog(scripts: &mut [Parsed], dialect: &Dialect) -> Catalog {
    let mut catalog = Catalog {
        labels: program::labels(),
        statements: Vec::new(),
    };
    for command in scripts.iter_mut().flat_map(|script| &mut script.commands) {
        if let Action::Sql {
            template,
            statement,
            result: None,
        } = &mut command.action
            && template.is_preparable()
        {
            *statement = Some(catalog.statements.len() as u32);
            let text = template.written();
            let words: Vec<_> = text.split_whitespace().collect();
            let name: String = words.join(" ").chars().take(LABEL_CHARS).collect();
            let class = words.first().map_or(StatementClass::Other, |word| class(word));
            let label = catalog.labels.intern(name, class);
            catalog.add(label, template.prepared(dialect));
        }
    }
    catalog
}

/// The class of a statement with this first keyword.
fn class(keyword: &str) -> StatementClass {
    match keyword.to_ascii_uppercase().as_str() {
        "SELECT" | "WITH" | "VALUES" | "TABLE" | "SHOW" => StatementClass::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "MERGE" => StatementClass::Write,
        _ => StatementClass::Other,
    }
}
