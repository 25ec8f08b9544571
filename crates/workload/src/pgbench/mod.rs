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

use crate::catalog::{Catalog, class};
use crate::dialect::Dialect;
use crate::options::OptionsError;
use crate::program::{self, Program, Script};
use crate::random;

use expr::Variable;
use names::{Names, checked_number};
use parse::{Action, Command};
use sql::Statement;
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
    /// The variables when a user begins, by their numbers.
    variables: Vec<Variable>,
    /// Whether a backslash escapes the next character of every string.
    escapes: bool,
    seed: u64,
}

#[derive(Debug)]
struct Parsed {
    name: String,
    commands: Vec<Command>,
    /// Its weight and those of the scripts before it.
    weights: u64,
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
        // Of the dialects, that of MySQL.
        let escapes = !dialect.has_on_conflict;
        let mut names = Names::default();
        let (mut scripts, mut weights) = (Vec::new(), 0);
        for source in sources {
            let commands = parse::parse(&source, &mut names, escapes);
            weights += u64::from(source.weight);
            scripts.push(Parsed {
                name: source.name,
                commands: commands.map_err(OptionsError::Script)?,
                weights,
            });
        }
        if weights == 0 {
            let message = "total script weight must not be zero".to_owned();
            return Err(OptionsError::Script(message));
        }
        // Of no user.
        let default_seed = random::user(seed, u32::MAX).next_u64() as i64;
        let mut known = vec![
            format!("scale={scale}"),
            format!("random_seed={}", seed as i64),
            format!("default_seed={default_seed}"),
        ];
        known.extend_from_slice(definitions);
        let variables = variables(&known, &mut names).map_err(OptionsError::Script)?;
        Ok(Self {
            catalog: catalog(&mut scripts, dialect),
            shared: Arc::new(Shared {
                scripts,
                variables,
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

impl Shared {
    /// Draws a script by its weight.
    fn draw(&self, rng: &mut impl Rng) -> usize {
        let all = self.scripts.last().map_or(0, |script| script.weights);
        let drawn = random::below(rng, all);
        self.scripts.partition_point(|script| script.weights <= drawn)
    }

    /// The command of a script, if it is a statement.
    fn statement(&self, script: usize, command: usize) -> Option<&Statement> {
        match &self.scripts[script].commands.get(command)?.action {
            Action::Sql(statement) => Some(statement),
            _ => None,
        }
    }
}

/// The variables when a user begins; the last definition of a name wins.
fn variables(definitions: &[String], names: &mut Names) -> Result<Vec<Variable>, String> {
    let mut variables = Vec::new();
    for definition in definitions {
        let both = definition.split_once('=');
        let both = both.filter(|(_, value)| !value.is_empty());
        let invalid = || format!("invalid variable definition: \"{definition}\"");
        let (name, value) = both.ok_or_else(invalid)?;
        let number = checked_number(name, names)?;
        variables.resize(names.len(), Variable::Unset);
        variables[number] = Variable::of_text(value);
    }
    Ok(variables)
}

/// Numbers the statements that can be prepared.
fn catalog(scripts: &mut [Parsed], dialect: &Dialect) -> Catalog {
    let mut catalog = Catalog {
        labels: program::labels(),
        statements: Vec::new(),
    };
    for command in scripts.iter_mut().flat_map(|script| &mut script.commands) {
        if let Action::Sql(statement) = &mut command.action
            && let Some(sql) = statement.prepared(dialect)
        {
            statement.number = Some(catalog.statements.len() as u32);
            let words: Vec<_> = statement.text.split_whitespace().collect();
            let name: String = words.join(" ").chars().take(LABEL_CHARS).collect();
            let class = class(&name);
            let label = catalog.labels.intern(name, class);
            catalog.add(label, sql);
        }
    }
    catalog
}
