//! The help of every command as one text, so that its wording is reviewed as a whole.

use std::path::Path;
use std::process::Command;

const COMMANDS: [&str; 13] = [
    "",
    "bench",
    "run",
    "plan",
    "doctor",
    "report",
    "compare",
    "rank",
    "history",
    "size",
    "clean",
    "completions",
    "man",
];

fn help(command: &str) -> String {
    let arguments = command.split_whitespace().chain(["--help"]);
    let output = Command::new(env!("CARGO_BIN_EXE_dyno"))
        .args(arguments)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_help_is_as_reviewed() {
    let sections = COMMANDS.map(|command| {
        let line = format!("dyno {command}").trim().to_owned();
        format!("$ {line} --help\n{}\n", help(command))
    });
    let text = sections.concat();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/help.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
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
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| !["", "help"].contains(name))
        .collect();
    assert_eq!(names, COMMANDS[1..]);
}

#[test]
fn the_page_of_the_command_line_has_every_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = |name| std::fs::read_to_string(path.join(name)).unwrap();
    let pages = page("command-line.md") + &page("engines.md");
    for command in &COMMANDS[1..] {
        let row = format!("| `dyno {command}");
        assert!(pages.contains(&row), "{command}");
    }
}
