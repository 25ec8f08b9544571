//! Help in the layout of sysbench.

use super::dialect::Dialect;
use super::table::groups;
use super::values::{Declaration, Kind};

const COMMANDS: &str = "Commands of most tests: prepare run cleanup help";
const TESTS: &str = "Compiled-in tests:
  fileio - reads, writes and syncs of files
  cpu - search for prime numbers
  memory - reads or writes of memory
  threads - threads that compete for mutexes
  mutex - mutexes that are hardly ever contended

'help' as the command lists the options of a test.";

/// What `--help` prints.
pub fn usage(dialect: Dialect) -> String {
    let syntax = match dialect.is_old() {
        true => "[options]... --test=NAME command",
        false => "[options]... [testname] [command]",
    };
    let options: String = groups(dialect)
        .map(|(title, options)| section(title, &options))
        .collect();
    format!("Usage:\n  sysbench {syntax}\n\n{COMMANDS}\n\n{options}{TESTS}")
}

/// What the command `help` of a test prints; `name` is as it was typed.
pub fn test_help(name: &str, options: &[Declaration<'_>]) -> String {
    section(&format!("{name} options"), options)
}

fn section(title: &str, options: &[Declaration<'_>]) -> String {
    let syntax: Vec<String> = options.iter().map(syntax).collect();
    let width = syntax.iter().map(String::len).max().unwrap_or(0);
    let lines = options.iter().zip(&syntax).map(|(option, syntax)| {
        let default = match option.default {
            "" => String::new(),
            default => format!(" [{default}]"),
        };
        format!("  {syntax:<width$} {}{default}\n", option.help)
    });
    format!("{title}:\n{}\n", lines.collect::<String>())
}

fn syntax(option: &Declaration<'_>) -> String {
    let value = match option.kind {
        Kind::Bool => "[=on|off]",
        Kind::Int | Kind::Double => "=N",
        Kind::Size => "=SIZE",
        Kind::String => "=STRING",
        Kind::List => "=[LIST,...]",
        Kind::File => "=FILENAME",
    };
    format!("--{}{value}", option.name)
}
