//! Help in the layout of sysbench.

use super::dialect::Dialect;
use super::table::common;
use super::values::{KINDS, OptionDeclaration};

/// What `--help` prints.
pub fn usage(dialect: Dialect) -> String {
    let syntax = match dialect.is_old() {
        true => "--test=NAME command",
        false => "[testname] [command]",
    };
    let options: String = common(dialect)
        .map(|(title, options)| section(title, options))
        .collect();
    format!(
        "Usage:\n  sysbench [options]... {syntax}\n\n\
         Commands of most tests: prepare run cleanup help\n\n\
         {options}Compiled-in tests: cpu fileio memory mutex threads\n\n\
         'help' as the command lists the options of a test."
    )
}

/// What the command `help` of a test prints; `name` is as it was typed.
pub fn test_help(name: &str, options: &[OptionDeclaration]) -> String {
    section(&format!("{name} options"), options)
}

fn section(title: &str, options: &[OptionDeclaration]) -> String {
    let syntax: Vec<String> = options.iter().map(syntax).collect();
    let width = syntax.iter().map(String::len).max().unwrap_or(0);
    let lines = options.iter().zip(&syntax).map(|(option, syntax)| {
        let default = match option.default.as_str() {
            "" => String::new(),
            default => format!(" [{default}]"),
        };
        format!("  {syntax:<width$} {}{default}\n", option.description)
    });
    format!("{title}:\n{}\n", lines.collect::<String>())
}

fn syntax(option: &OptionDeclaration) -> String {
    let kind = KINDS.iter().find(|(_, kind, _)| *kind == option.kind);
    format!("--{}{}", option.name, kind.map_or("", |(.., value)| *value))
}
