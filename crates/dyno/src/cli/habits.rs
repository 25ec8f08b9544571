//! Options and commands of other tools, and what they mean for dyno.
//!
//! `habits/table.txt` lists them. An equivalent option is accepted as a hidden alias; any other
//! causes an error that says what to write. `docs/coming-from-sysbench.md` shows the same table.

mod address;
#[cfg(test)]
mod page;

use std::str::FromStr;
use std::sync::LazyLock;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use workload::name::WorkloadName;

use crate::failure::Failure;

const TABLE: &str = include_str!("habits/table.txt");

/// The meaning of an option or command of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Equivalent to the option of `dyno bench` with this long name, which has it as an alias.
    Same(&'static str),
    /// A part of the URL of a server, which has this scheme.
    Address(&'static str),
    /// No equivalent option; what to write instead.
    Instead(&'static str),
}

#[derive(Debug)]
struct Habit {
    tool: &'static str,
    /// As typed: `--table-size`, `-c`, `prepare`.
    typed: &'static str,
    /// The other tool's default; empty for none.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for the page, which a test writes and compares")
    )]
    default: &'static str,
    meaning: Meaning,
}

static HABITS: LazyLock<Vec<Habit>> = LazyLock::new(|| {
    let mut tool = "";
    let habits = TABLE
        .lines()
        .filter_map(|line| match line.strip_prefix('[') {
            Some(name) => {
                tool = name.trim_end_matches(']');
                None
            }
            None => Habit::parse(tool, line),
        });
    habits.collect()
});

impl Habit {
    /// Reads a line of the table; `None` for a comment.
    fn parse(tool: &'static str, line: &'static str) -> Option<Self> {
        let line = (!line.starts_with('#')).then_some(line)?;
        let mut cells = line.splitn(3, '|').map(str::trim);
        let (typed, default, meaning) = (cells.next()?, cells.next()?, cells.next()?);
        let meaning = match meaning.split_once(' ') {
            Some(("=", option)) => Meaning::Same(option),
            Some(("@", scheme)) => Meaning::Address(scheme),
            _ => Meaning::Instead(meaning),
        };
        Some(Self {
            tool,
            typed,
            default,
            meaning,
        })
    }
}

/// Adds aliases for equivalent options to `dyno bench`.
pub(super) fn with_aliases(bench: clap::Command) -> clap::Command {
    let mut bench = bench;
    for habit in HABITS.iter() {
        let Meaning::Same(option) = habit.meaning else {
            continue;
        };
        let has_name = |arg: &&clap::Arg| arg.get_long() == Some(option);
        let id = bench.get_arguments().find(has_name);
        let Some(id) = id.map(|arg| arg.get_id().clone()) else {
            continue;
        };
        bench = match habit.typed.strip_prefix("--") {
            Some(name) if name == option => bench,
            Some(name) => bench.mut_arg(id, |arg| arg.alias(name)),
            None => match habit.typed.chars().nth(1) {
                Some(short) => bench.mut_arg(id, |arg| arg.short_alias(short)),
                None => bench,
            },
        };
    }
    bench
}

/// Replaces underscores in the name of an option: sysbench's scripts accept `--table_size` for
/// `--table-size`.
pub(super) fn with_dashes(argument: String) -> String {
    let end = argument.find('=').unwrap_or(argument.len());
    let (name, value) = argument.split_at(end);
    match name.starts_with("--") && name.contains('_') {
        true => name.replace('_', "-") + value,
        false => argument,
    }
}

/// An error that says what to write instead of an option or command of another tool.
pub(super) fn hint(error: &clap::Error, arguments: &[String]) -> Option<Failure> {
    let kind = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::ValueValidation if is_of_url(error) => ContextKind::InvalidValue,
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else {
        return None;
    };
    let remedy = match (workload(word), study_key(word, arguments)) {
        (_, Some(key)) => format!("change a key of the study with --set {key}=VALUE"),
        (Some(workload), _) => format!(
            "give the workload as an option of dyno bench, which loads missing data itself: \
             dyno bench {} --workload {workload}",
            address::typed(arguments)
        ),
        (None, None) => hints(word, arguments)?,
    };
    let message = format!("unexpected argument `{word}`");
    Some(Failure::usage(message).remedy(remedy))
}

/// Whether an error is about an argument that is the URL of a server.
fn is_of_url(error: &clap::Error) -> bool {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.as_str(),
        _ => "",
    };
    argument.trim_start_matches(['<', '[']).starts_with("URL")
}

/// The key that an option of `dyno bench` stands for, typed after a command that takes a study.
fn study_key(word: &str, arguments: &[String]) -> Option<String> {
    let takes_study = arguments
        .get(1)
        .is_some_and(|name| name == "run" || name == "plan");
    let flag = word.strip_prefix("--").filter(|_| takes_study)?;
    let mut keys = plan::key::KEYS.iter();
    let key = keys.find(|key| key.flag_name().is_some_and(|name| name == flag))?;
    Some(key.name.to_owned())
}

/// The workload that sysbench's script of this name or path runs.
pub(super) fn workload(word: &str) -> Option<WorkloadName> {
    let name = word.rsplit('/').next()?;
    WorkloadName::from_str(name.strip_suffix(".lua").unwrap_or(name)).ok()
}

pub(super) fn is_of_another_tool(word: &str) -> bool {
    workload(word).is_some() || HABITS.iter().any(|habit| habit.typed == word)
}

/// What to write instead of a word, for each tool that knows it.
fn hints(word: &str, arguments: &[String]) -> Option<String> {
    let known = HABITS.iter().filter(|habit| habit.typed == word);
    let hints = known.map(|habit| {
        let hint = match habit.meaning {
            Meaning::Instead(hint) => hint.to_owned(),
            Meaning::Address(_) => format!(
                "give the URL of the server: dyno bench {} (and the password in DYNO_PASSWORD or \
                 --option-file)",
                address::typed(arguments)
            ),
            Meaning::Same(option) => format!("use --{option} of dyno bench"),
        };
        format!("coming from {}: {hint}", habit.tool)
    });
    let hints: Vec<String> = hints.collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

#[cfg(test)]
mod tests;
