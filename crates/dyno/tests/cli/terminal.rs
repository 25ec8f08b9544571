//! What a terminal is shown: nothing that steers it, no wider than it is, in characters that it
//! knows, and no more than a screen.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use crate::common::{Finished, Program, keep, pretend};
use crate::results::made::made;
use measure::result::RunResult;

const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}gone\rover";
const SHORT: &str = "--tables 1 --rows 100 --threads 1 --warmup 0 --events 20";

/// Whatever it says, it can be seen, and does nothing.
#[track_caller]
fn is_harmless(done: &Finished) {
    for text in [&done.stdout, &done.stderr] {
        let steers = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!text.contains(steers), "{:?}", done.to_string());
    }
}

/// A server that greets with this version, then answers the login and every command.
fn impostor(version: &str, login: &[u8]) -> String {
    let (version, login) = (version.to_owned(), login.to_owned());
    // A client that goes away ends its own conversation only.
    pretend("mysql", move |stream| drop(talk(stream, &version, &login)))
}

fn talk(mut stream: TcpStream, version: &str, login: &[u8]) -> std::io::Result<()> {
    let mut greeting = [b"\x0a", version.as_bytes(), b"\0\x07\0\0\0abcdefgh\0"].concat();
    // Everything but TLS.
    greeting.extend_from_slice(&[0xff, 0xf7, 45, 2, 0, 0xff, 0xff, 21]);
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    send(&mut stream, 0, &greeting)?;
    receive(&mut stream)?;
    send(&mut stream, 2, login)?;
    loop {
        receive(&mut stream)?;
        send(&mut stream, 1, &refusal())?;
    }
}

fn send(stream: &mut TcpStream, number: u8, payload: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    stream.write_all(&[&length[..3], &[number], payload].concat())
}

fn receive(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    stream.read_exact(&mut vec![0; length as usize])
}

fn refusal() -> Vec<u8> {
    let text = format!("{HOSTILE}\nerror: forged");
    [b"\xff\x15\x04#28000", text.as_bytes()].concat()
}

#[test]
fn a_servers_version_and_errors_do_not_steer_the_terminal() {
    let version = format!("11.4{HOSTILE}-MariaDB");
    for login in [vec![0, 0, 0, 2, 0, 0, 0], refusal()] {
        let url = &impostor(&version, &login);
        for words in ["bench", "doctor"] {
            let done = Program::new().arg(words).arg(url).run();
            is_harmless(&done);
            let said = format!("{}{}", done.stderr, done.stdout);
            assert!(said.contains("\\u{1b}"), "{done}");
            let forged = said.lines().any(|line| line.starts_with("error: forged"));
            assert!(!forged, "{done}");
        }
    }
}

/// Three repeats of a study of one server.
fn servers(title: &str, tps: f64) -> RunResult {
    const ONE: &[(&str, &str)] = &[("topology.instances", "1")];
    let tps = |repeat| tps + f64::from(repeat);
    let trials = [1, 2, 3].map(|repeat| (ONE, repeat, tps(repeat), 16_000.0 / tps(0)));
    made(title, &trials)
}

#[test]
fn a_foreign_result_or_study_does_not_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["one", "two"].map(|name| folder.path().join(name).display().to_string());
    for (path, tps) in paths.iter().zip([1000.0, 900.0]) {
        let mut result = servers("Servers", tps);
        result.title = HOSTILE.to_owned();
        result.environment.hostname = Some(format!("{tps}{HOSTILE}"));
        for trial in &mut result.trials {
            trial.setup.planned.label = HOSTILE.to_owned();
            trial.setup.engine = format!("{HOSTILE} 1");
            trial.setup.server = HOSTILE.to_owned();
        }
        keep(path.as_ref(), &result, HOSTILE);
    }
    let [one, two] = &paths;
    for (command, more) in [
        ("compare", vec![two.as_str()]),
        ("rank", vec![two]),
        ("history", vec![two]),
        ("size", vec!["--need", "5000", "--efficiency", "0.9"]),
        ("report", vec![]),
        ("compare", vec![two, "--json"]),
    ] {
        let program = Program::new().arg(command).arg(one);
        let done = more.iter().fold(program, |program, word| program.arg(word));
        let done = done.succeeds();
        is_harmless(&done);
        if more.contains(&"--json") {
            serde_json::from_str::<serde_json::Value>(&done.stdout).unwrap();
        }
    }
    for file in ["report.md", "results.csv"] {
        let text = std::fs::read_to_string(folder.path().join("one").join(file)).unwrap();
        let steers = |c: char| (c.is_control() && !"\r\n\t".contains(c)) || c == '\u{202e}';
        assert!(!text.contains(steers), "{text:?}");
    }
    let study = format!(
        "title = \"a\u{202e}b\"\n[server]\nengine = \"{}\"\n",
        "\u{9b}2J\u{202e}x"
    );
    is_harmless(&Program::study(&study).run());
    is_harmless(&Program::new().args("plan study.toml").run());
}

#[test]
fn a_locale_without_utf_8_gets_ascii() {
    let folder = tempfile::tempdir().unwrap();
    keep(folder.path(), &servers("Größe", 1000.0), "");
    let result = folder.path().display().to_string();
    let rank = |locale: &str| {
        let program = Program::new().arg("rank").arg(&result);
        program.env("LC_ALL", locale)
    };
    for locale in ["C", "POSIX"] {
        let done = rank(locale).succeeds();
        assert!(
            done.stdout.is_ascii() && done.stdout.contains("+/-"),
            "{done}"
        );
        let json = rank(locale).arg("--json").succeeds().stdout;
        assert!(json.is_ascii() && serde_json::from_str::<serde_json::Value>(&json).is_ok());
        let bench = Program::bench("sqlite:").args(SHORT).env("LC_ALL", locale);
        let done = bench.succeeds();
        assert!(done.stdout.is_ascii() && done.stderr.is_ascii(), "{done}");
    }
    let program = Program::new().arg("report").arg(&result);
    program.env("LC_ALL", "C").succeeds();
    let report = std::fs::read_to_string(folder.path().join("report.md")).unwrap();
    let is_utf_8 = report.contains('±') && report.contains("Größe");
    assert!(is_utf_8, "files stay UTF-8");
    assert!(rank("C.UTF-8").succeeds().stdout.contains('±'));
}

#[test]
fn running_text_is_as_wide_as_the_terminal() {
    for columns in [60, 100] {
        let program = Program::bench("sqlite:").args(SHORT);
        let shown = program.run_on_terminal(columns);
        let lines = shown.lines().filter(|line| line.contains("virtual user"));
        let longest = lines.map(|line| line.chars().count()).max();
        let longest = longest.expect("a summary has running text");
        assert!(longest <= columns.into(), "{columns}: {shown}");
        assert!(longest > usize::from(columns) - 25, "{columns}: {shown}");
    }
}

const STUDY: &str = "title = \"t\"\n[server]\nengine = \"sqlite\"\n[data]\ntables = 1\nrows = 100\n\
    [load]\nworkload = \"oltp_point_select\"\nwarmup = \"0s\"\ntime = \"1200ms\"\n\
    [sweep]\n\"load.threads\" = [1, 2]\n";

#[test]
fn a_terminal_shows_what_happens_before_the_first_trial() {
    let shown = Program::study(STUDY).run_on_terminal(100);
    assert!(shown.contains("checking what the study needs"), "{shown}");
}

#[test]
fn quiet_says_only_what_was_found_and_verbose_all() {
    let run = |words: &str| Program::study(STUDY).args(words).succeeds();
    let quiet = run("--quiet");
    assert_eq!(quiet.stderr, "");
    let usual = run("");
    usual.tells(&["[1/2] threads=1"]);
    assert!(!usual.stderr.contains("  measure  "), "{usual}");
    let verbose = run("--verbose");
    verbose.tells(&["  measure  "]);
    // A trial has a line of its own in all of it only.
    for (done, all) in [(&quiet, false), (&usual, false), (&verbose, true)] {
        done.prints(&["threads"]);
        assert_eq!(done.stdout.contains("trial  threads"), all, "{done}");
    }
    Program::study(STUDY)
        .args("--quiet --verbose")
        .fails(2, &["--verbose"]);
}

#[test]
fn the_man_page_names_the_environment_and_shells_get_completions() {
    let said = |words: &str| Program::new().args(words).succeeds().stdout;
    assert!(said("--help").lines().count() < 45 && said("bench -h").lines().count() < 100);
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&format!("completions {shell}"));
        assert!(script.contains("create-database"), "{shell}");
        // What is hidden is not completed.
        assert!(!script.contains("table-size"), "{shell}");
    }
    let man = said("man");
    assert!(man.starts_with(".ie") || man.starts_with(".TH"), "{man}");
    for part in [
        "DYNO BENCH",
        "create\\-database",
        "DYNO_SERVERS",
        "NO_COLOR",
        "LC_ALL",
    ] {
        assert!(man.contains(part), "{part}");
    }
    assert!(!man.contains("table\\-size"));
}

fn full() -> Stdio {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).open("/dev/full").unwrap().into()
}

fn closed() -> Stdio {
    let (_reader, writer) = std::io::pipe().unwrap();
    writer.into()
}

#[test]
fn a_run_that_nobody_hears_leaves_its_result() {
    for stderr in [full(), closed()] {
        let bench = Program::bench("sqlite:").args("--tables 1 --rows 100 --threads 1 --warmup 0s");
        let done = bench.args("--events 50").run_telling(stderr).succeeds();
        assert_eq!(done.trial().transactions.count, 50);
        assert!(done.out().join("report.html").exists());
    }
}

#[test]
fn an_error_that_nobody_hears_has_its_exit_code() {
    for stderr in [full(), closed()] {
        let done = Program::new().args("bench nothing:").run_telling(stderr);
        assert_eq!(done.code(), Some(2), "{done}");
    }
}
