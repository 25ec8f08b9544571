//! The page for users of other tools, generated from the table.

use super::{HABITS, Habit, Meaning};

const INTRO: &str = include_str!("page_intro.md");
const PGBENCH: &str = include_str!("page_pgbench.md");
const K6: &str = include_str!("page_k6.md");

fn page() -> String {
    format!(
        "{INTRO}\n{}\n{PGBENCH}\n{}\n{K6}\n{}",
        table("sysbench"),
        table("pgbench"),
        table("k6")
    )
}

fn table(tool: &str) -> String {
    let mut text =
        format!("| {tool} | its default | dyno bench | its default |\n|---|---|---|---|\n");
    for habit in HABITS.iter().filter(|habit| habit.tool == tool) {
        text.push_str(&row(habit));
    }
    text
}

fn row(habit: &Habit) -> String {
    let code = |text: &str| match text {
        "" => String::new(),
        text => format!("`{text}`"),
    };
    let (instead, default) = match habit.meaning {
        Meaning::Same(option) => (format!("`--{option}`"), default(option)),
        Meaning::Address(_) => ("a part of the URL".to_owned(), String::new()),
        Meaning::Instead(what) => (what.to_owned(), String::new()),
    };
    format!(
        "| `{}` | {} | {instead} | {default} |\n",
        habit.typed,
        code(habit.default)
    )
}

/// The default that the option declares, or that its help text states in `[default: …]`.
fn default(option: &str) -> String {
    let command = crate::cli::command();
    let bench = command.find_subcommand("bench").unwrap();
    let arg = bench
        .get_arguments()
        .find(|arg| arg.get_long() == Some(option))
        .unwrap();
    if let [value] = arg.get_default_values() {
        return format!("`{}`", value.to_string_lossy());
    }
    let help = arg.get_help().unwrap().to_string();
    let stated = help
        .split_once("[default: ")
        .and_then(|(_, rest)| rest.split_once(']'));
    stated.map_or(String::new(), |(default, _)| default.replace('\n', " "))
}

#[test]
fn the_page_is_the_table() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/coming-from-sysbench.md"
    );
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == page,
        "docs/coming-from-sysbench.md is out of date: UPDATE_DOCS=1 cargo test -p dyno --bin dyno page"
    );
}

/// The defaults that the page states in prose are those of the program.
#[test]
fn the_words_about_defaults_are_true() {
    let ours = ["tables", "rows", "threads", "time", "warmup"].map(default);
    let said = ["`1`", "`10000`", "`1`", "`60s`", "`10s`"];
    assert_eq!(ours, said.map(str::to_owned));
    let intro = INTRO.replace('\n', " ");
    for words in ["60 seconds", "10 seconds of warm-up"] {
        assert!(intro.contains(words), "{words}");
    }
}

/// Every default of sysbench in the table is the one that sysbench's help states.
#[test]
fn sysbenchs_defaults_are_its_own() {
    let help = |words: &[&str]| {
        let output = std::process::Command::new("sysbench").args(words).output();
        let output = output.expect("sysbench is installed: scripts/install-servers.sh sysbench");
        String::from_utf8(output.stdout).unwrap()
    };
    let told = help(&["--help"]) + &help(&["oltp_read_write", "help"]);
    let mut compared = 0;
    for line in told.lines().map(str::trim) {
        let Some(rest) = line.strip_prefix("--") else {
            continue;
        };
        let end = rest.find(['=', '[', ' ']).unwrap_or(rest.len());
        let typed = format!("--{}", rest[..end].replace('_', "-"));
        let stated = line
            .rsplit_once('[')
            .and_then(|(_, default)| default.strip_suffix(']'));
        let known = |habit: &&Habit| habit.tool == "sysbench" && habit.typed == typed;
        if let (Some(habit), Some(stated)) = (HABITS.iter().find(known), stated) {
            assert_eq!(habit.default, stated, "{typed}");
            compared += 1;
        }
    }
    assert!(
        compared > 40,
        "only {compared} options were found in sysbench's help"
    );
}
