//! pgbench's scripts: statements, meta commands with expressions, weights, and what is built in.

pub mod built_in;

mod expr;
pub(crate) mod names;
mod parse;
mod sql;
#[cfg(test)]
mod tests;
mod user;

use std::ops::Range;
use std::sync::Arc;

use rand_distr::weighted::WeightedIndex;

use crate::catalog::{Catalog, class};
use crate::dialect::Dialect;
use crate::options::OptionsError;
use crate::program::{self, Program, Script};

use expr::Variable;
use names::{Names, number};
use parse::{Action, Command};
use user::User;

/// Characters of a statement that its label shows.
const LABEL_CHARS: usize = 60;

/// Scripts of pgbench that are ready to run. The kind of a transaction is the number of its script.
#[derive(Debug)]
pub struct Pgbench(Arc<Shared>);

/// What all virtual users have in common.
#[derive(Debug)]
struct Shared {
    catalog: Catalog,
    scripts: Vec<Vec<Command>>,
    weights: WeightedIndex<u32>,
    names: Names,
    /// The variables when a user begins, by their numbers.
    variables: Vec<Variable>,
    /// Whether a backslash escapes the next character of every string.
    escapes: bool,
    seed: u64,
}

impl Pgbench {
    /// Reads scripts, of which those that are built in have no text. `definitions` are variables as
    /// `name=value`; `scale` is the variable of that name. The same seed results in the same
    /// transactions of each user. An error has its place in the script.
    pub fn new(
        scripts: &[plan::Script],
        definitions: &[String],
        scale: u32,
        dialect: &Dialect,
        seed: u64,
    ) -> Result<Self, OptionsError> {
        let weights = WeightedIndex::new(scripts.iter().map(|script| script.weight));
        let no_weight = |_| "total script weight must not be zero".to_owned();
        // The dialect that has REPLACE instead.
        let escapes = !dialect.has_on_conflict;
        let mut names = Names::default();
        let read = |script: &plan::Script| {
            let built_in = built_in::text(&script.path, dialect);
            let text = built_in.unwrap_or_else(|| script.text.to_string());
            parse::parse(&script.path, &text, &mut names, escapes)
        };
        let scripts: Result<Vec<_>, _> = scripts.iter().map(read).collect();
        let mut scripts = scripts.map_err(OptionsError::Script)?;
        let seeded = |name: &str| format!("{name}={}", seed as i64);
        let mut known = vec![format!("scale={scale}")];
        known.extend(["random_seed", "default_seed"].map(seeded));
        known.extend_from_slice(definitions);
        Ok(Self(Arc::new(Shared {
            catalog: catalog(&mut scripts, dialect),
            scripts,
            weights: weights.map_err(no_weight).map_err(OptionsError::Script)?,
            variables: variables(&known, &mut names).map_err(OptionsError::Script)?,
            names,
            escapes,
            seed,
        })))
    }
}

impl Script for Pgbench {
    fn catalog(&self) -> Catalog {
        self.0.catalog.clone()
    }

    fn kinds(&self) -> usize {
        self.0.scripts.len()
    }

    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError> {
        let program = |number| -> Box<dyn Program> { Box::new(User::new(&self.0, number)) };
        Ok(users.map(program).collect())
    }
}

/// The variables when a user begins; the last definition of a name wins.
fn variables(definitions: &[String], names: &mut Names) -> Result<Vec<Variable>, String> {
    let mut variables = Vec::new();
    for definition in definitions {
        let invalid = || format!("invalid variable definition: \"{definition}\"");
        let (name, value) = definition.split_once('=').ok_or_else(invalid)?;
        let number = number(name, names)?;
        variables.resize(names.len(), Variable::Unset);
        variables[number] = Variable::of_text(value);
    }
    Ok(variables)
}

/// Numbers the statements that can be prepared.
fn catalog(scripts: &mut [Vec<Command>], dialect: &Dialect) -> Catalog {
    let mut catalog = Catalog {
        labels: program::labels(),
        statements: Vec::new(),
    };
    for command in scripts.iter_mut().flatten() {
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
