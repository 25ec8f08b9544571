//! The help of every command as one text, so that its wording is reviewed as a whole.

use std::path::Path;

use crate::common::Program;
use crate::common::markdown::root;

const COMMANDS: &str = "bench run plan doctor report compare rank history size sysbench agent agents clean completions man";

fn help(command: &str) -> String {
    let program = Program::new().args(command).arg("--help");
    program.succeeds().stdout
}

#[test]
fn the_help_is_as_reviewed() {
    let mut text = format!("$ dyno --help\n{}\n", help(""));
    for command in COMMANDS.split(' ') {
        text += &format!("$ dyno {command} --help\n{}\n", help(command));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == golden,
        "the help has changed: UPDATE_GOLDEN=1 cargo test -p dyno --test cli help, and review {}",
        path.display()
    );
}

#[test]
fn no_command_is_missing() {
    let all = help("");
    let (_, commands) = all.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    // Those that wrap begin with more spaces.
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
    let names = names.map(|(name, _)| name);
    let names: Vec<&str> = names.filter(|name| !["", "help"].contains(name)).collect();
    assert_eq!(names.join(" "), COMMANDS);
}

#[test]
fn the_page_of_the_command_line_has_every_command() {
    let page = |name| std::fs::read_to_string(root().join("docs").join(name)).unwrap();
    let pages = page("command-line.md") + &page("engines.md");
    for command in COMMANDS.split(' ') {
        let row = format!("| `dyno {command}");
        assert!(pages.contains(&row), "{command}");
    }
}
