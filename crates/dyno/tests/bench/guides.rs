//! The commands of the README and of the guides run as they are printed.
//!
//! Blocks marked `console` hold commands after `$ `. Those of a page run one after the other, in one shell and one new
//! directory. A block marked `toml` whose first line is a comment with a file name is that file; statements of a block
//! marked `sql` run as the server's administrator. A test replaces the address `127.0.0.1:3306`, and lets virtual users
//! think, for no page is about how fast its servers are.
//! A command must succeed, unless the next one is `echo $?`: then its exit code must be the one that is shown.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::markdown::{Block, files_of, root, split};
use crate::common::{LAZY_DISK, cache};
use testkit::{MariaDb, Server};

/// The address of the user's own server.
const SERVER: &str = "127.0.0.1:3306";
const ASK_FOR_CODE: &str = "echo $?";
/// In the output, before that of each command.
const MARK: &str = "=== $ ";

/// The guide that creates an account, and the account's password.
const FIRST: &str = "docs/guides/first-benchmark.md";
const PASSWORD: &str = "change-me";

fn blocks(page: &str) -> Vec<Block> {
    split(&fs::read_to_string(root().join(page)).unwrap()).0
}

/// A command and the exit code that it must have.
fn commands(blocks: &[Block]) -> Vec<(String, u8)> {
    let mut found: Vec<(String, u8)> = Vec::new();
    for block in blocks.iter().filter(|block| block.language == "console") {
        let mut lines = block.lines.iter();
        while let Some(line) = lines.next() {
            match line.strip_prefix("$ ") {
                Some(ASK_FOR_CODE) => {
                    let code = lines.next().and_then(|line| line.parse().ok());
                    found.last_mut().unwrap().1 = code.expect("the exit code is shown");
                }
                Some(command) => found.push((command.to_owned(), 0)),
                None => {}
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// Writes the files that a page shows; one of the repository must be as shown.
fn files(blocks: &[Block], dir: &Path) {
    for block in blocks.iter().filter(|block| block.language == "toml") {
        let name = block.lines.first().and_then(|line| line.strip_prefix("# "));
        let Some(name) = name.filter(|name| name.ends_with(".toml")) else {
            continue;
        };
        let text = block.lines[1..].join("\n") + "\n";
        if name.contains('/') {
            let own = fs::read_to_string(root().join(name)).unwrap();
            assert!(own.ends_with(&text), "{name} is not as the guide shows it");
        } else {
            fs::write(dir.join(name), text).unwrap();
        }
    }
}

/// What makes the users of a command's load think. A search would take longer for it.
fn think(command: &str) -> &'static str {
    let mut words = command.split(' ');
    match (words.next(), words.next()) {
        (Some("dyno"), Some("bench")) if !command.contains("--find-max") => " --think 50ms",
        (Some("dyno"), Some("run")) => " --set load.think=50ms",
        _ => "",
    }
}

/// One that stops at the first command whose exit code is another.
fn script(commands: &[(String, u8)], port: u16) -> String {
    let mut script = String::new();
    for (command, code) in commands {
        let command = command.replace(SERVER, &format!("127.0.0.1:{port}")) + think(command);
        let shown = command.replace('\'', "'\\''");
        script.push_str(&format!(
            "echo '{MARK}{shown}'\n{command}\ncode=$?\n[ $code = {code} ] || {{ echo \"exit code $code\"; exit 99; }}\n"
        ));
    }
    script
}

/// A server of its own for a page that measures one, with the account of the first guide.
fn server(page: &str, commands: &[(String, u8)]) -> Option<Server> {
    let is_needed = commands.iter().any(|(command, _)| command.contains(SERVER));
    let server = is_needed.then(|| MariaDb::start(&["--local-infile=1", LAZY_DISK]))?;
    let of_page = blocks(page);
    let is_sql = |block: &&Block| block.language == "sql";
    let account = match of_page.iter().any(|block| is_sql(&block)) {
        true => of_page,
        false => blocks(FIRST),
    };
    for block in account.iter().filter(is_sql) {
        // The kit's servers have one of this name.
        server.sql(&format!("DROP DATABASE sbtest; {}", block.lines.join("\n")));
    }
    Some(server)
}

/// Runs the commands of a page; what went wrong, if anything.
fn follow(page: &str) -> Result<(), String> {
    let (dir, blocks) = (tempfile::tempdir().unwrap(), blocks(page));
    let commands = commands(&blocks);
    files(&blocks, dir.path());
    for name in ["studies", "scripts"] {
        symlink(root().join(name), dir.path().join(name)).unwrap();
    }
    let server = server(page, &commands);
    let script = script(&commands, server.as_ref().map_or(0, Server::port));
    let programs = Path::new(env!("CARGO_BIN_EXE_dyno")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(dir.path())
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("DYNO_CACHE_DIR", cache())
        .env("DYNO_PASSWORD", PASSWORD);
    if page == FIRST {
        shell.env_remove("DYNO_PASSWORD");
    }
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.success() && !said.contains("panicked") {
        true => Ok(()),
        false => Err(format!("{page}: {}\n{said}", output.status)),
    }
}

/// The README and the guides that have commands.
fn pages() -> Vec<String> {
    let mut pages = files_of("docs", "md");
    pages.push(root().join("README.md"));
    let names = pages
        .iter()
        .map(|page| page.strip_prefix(root()).unwrap().display().to_string());
    names
        .filter(|name| blocks(name).iter().any(|b| b.language == "console"))
        .collect()
}

/// All at once: most of their time is a load's, and nothing here depends on how fast it is.
#[test]
fn every_command_runs_as_printed() {
    let pages = pages();
    assert!(pages.len() > 5 && pages.iter().any(|page| page == FIRST));
    let faults = std::thread::scope(|scope| {
        let running: Vec<_> = pages
            .iter()
            .map(|page| scope.spawn(|| follow(page)))
            .collect();
        let ended = running.into_iter().map(|page| page.join().unwrap());
        ended.filter_map(Result::err).collect::<Vec<String>>()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn a_command_that_fails_is_found() {
    let page = "```console\n$ true\nsaid\n$ test 1 = 2\n$ echo $?\n1\n$ test 'a b' = 127.0.0.1:3306\n```\n";
    let commands = commands(&split(page).0);
    let codes: Vec<u8> = commands.iter().map(|(_, code)| *code).collect();
    assert_eq!(codes, [0, 1, 0]);
    let output = Command::new("bash")
        .args(["-c", &script(&commands, 1)])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(99), "{said}");
    assert!(
        said.ends_with("=== $ test 'a b' = 127.0.0.1:1\nexit code 1\n"),
        "{said}"
    );
}
