//! A benchmark of the command line as the study that does the same work: the record of
//! what was run, for `dyno run` too.

use std::fmt::{Display, Write};
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use client::mysql::StatementProtocol;
use lab::{Database, EarlyEnd, Place, Trial};
use load::{Arrivals, Pace};
use measure::setup::ReplyTime;
use workload::options::Options;

use crate::cli::{BenchArgs, LoginArgs, PrepareArg, UndecidedArg};
use crate::secrets;

/// The longest title that a study may have, in characters.
const LONGEST_TITLE: usize = 200;
/// The longest measurement that a study may have, for one that only ends by its events.
const LONGEST_TIME: Duration = Duration::from_secs(30 * 86_400);

/// The text of the study.
pub(crate) fn as_study(args: &BenchArgs, trial: &Trial, title: &str) -> String {
    let title: String = title.chars().take(LONGEST_TITLE).collect();
    let mut text = format!("# {}\n", one_line(&secrets::command_line()));
    let beyond = beyond(args);
    if !beyond.is_empty() {
        let names = beyond.join(", ");
        let _ = writeln!(text, "# No key of a study stands for {names}.");
    }
    let _ = writeln!(text, "title = {}", quoted(&title));
    let sections = [
        ("server", server(args, trial)),
        ("data", data(trial)),
        ("load", load(trial)),
        ("transaction", transaction(&trial.options)),
        ("monitors", monitors(trial)),
    ];
    for (name, lines) in sections {
        if !lines.is_empty() {
            let _ = write!(text, "\n[{name}]\n{}\n", lines.join("\n"));
        }
    }
    if args.threads.len() > 1 {
        let _ = write!(text, "\n[sweep]\n\"load.threads\" = {:?}\n", args.threads);
    }
    text
}

/// What was said of how to run that a study cannot say.
fn beyond(args: &BenchArgs) -> Vec<&'static str> {
    let connection = &args.connection;
    let login = &connection.login;
    let said = [
        ("--prepare", args.prepare != PrepareArg::Missing),
        ("--create-database", args.create_database),
        ("--workers", args.workers.is_some()),
        ("--threshold", !args.thresholds.is_empty()),
        ("--undecided", args.undecided == UndecidedArg::Fail),
        ("--ignore-errors", !connection.ignore_errors.is_empty()),
        ("--no-batch-scheduling", connection.no_batch_scheduling),
        ("--option-file", login.option_file.is_some()),
    ];
    let said = said.into_iter().filter(|(_, is_said)| *is_said);
    said.map(|(name, _)| name).collect()
}

type Lines = Vec<String>;

fn line(key: &str, value: impl Display) -> String {
    format!("{key} = {value}")
}

fn server(args: &BenchArgs, trial: &Trial) -> Lines {
    let url = match &trial.place {
        Place::Given(database @ Database::Mysql { .. }) => database.shown(),
        _ => match sqlite(&args.url) {
            Some(url) => url,
            None => return vec![line("engine", "\"sqlite\"")],
        },
    };
    let mut lines = vec![line("url", quoted(&url))];
    if matches!(&trial.place, Place::Given(Database::Mysql { .. })) {
        lines.extend(login(&args.connection.login));
    }
    lines
}

fn login(args: &LoginArgs) -> Lines {
    let mode = args.tls_mode.and_then(|mode| mode.to_possible_value());
    let mode = mode.map(|mode| line("tls.mode", quoted(mode.get_name())));
    let files = [
        ("tls.ca", &args.tls_ca),
        ("tls.cert", &args.tls_cert),
        ("tls.key", &args.tls_key),
        ("server_public_key_path", &args.server_public_key_path),
    ];
    let files = files.into_iter().filter_map(|(key, file)| {
        let file = file.as_ref()?;
        let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        Some(line(key, quoted(&whole.display().to_string())))
    });
    let switches = [
        ("get_server_public_key", args.get_server_public_key),
        ("enable_cleartext_plugin", args.enable_cleartext_plugin),
    ];
    let switches = switches.into_iter().filter(|(_, is_on)| *is_on);
    let switches = switches.map(|(key, is_on)| line(key, is_on));
    mode.into_iter().chain(files).chain(switches).collect()
}

/// The URL of a database of SQLite from anywhere; `None` of a temporary one without
/// settings, which a study has without a URL.
fn sqlite(url: &str) -> Option<String> {
    let rest = url.strip_prefix("sqlite:").unwrap_or(url);
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, settings) = match rest.split_once('?') {
        Some((path, settings)) => (path, format!("?{settings}")),
        None => (rest, String::new()),
    };
    if path.is_empty() {
        return (!settings.is_empty()).then(|| format!("sqlite://{settings}"));
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| Path::new(path).to_owned());
    Some(format!("sqlite://{}{settings}", whole.display()))
}

fn data(trial: &Trial) -> Lines {
    let options = &trial.options;
    let mut lines = vec![
        line("tables", options.tables),
        line("rows", options.rows),
        line("seed", trial.seed),
    ];
    lines.extend(changed(options, is_of_tables));
    lines
}

fn transaction(options: &Options) -> Lines {
    changed(options, |name| !is_of_tables(name)).collect()
}

/// Whether an option is one of the tables, and not of the transactions.
fn is_of_tables(name: &str) -> bool {
    [
        "auto_inc",
        "create_secondary",
        "secondary",
        "storage_engine",
    ]
    .contains(&name)
}

fn changed(options: &Options, is_meant: fn(&str) -> bool) -> impl Iterator<Item = String> {
    let changed = options.changed().into_iter();
    let meant = changed.filter(move |(name, _)| is_meant(name));
    meant.map(|(name, value)| match name {
        "storage_engine" => line(name, quoted(&value)),
        _ => line(name, value),
    })
}

fn load(trial: &Trial) -> Lines {
    let (load, options) = (&trial.load, &trial.options);
    let mut lines = vec![
        line("workload", quoted(trial.workload.name())),
        line("distribution", quoted(&options.distribution.to_string())),
        line("threads", load.users),
        line("warmup", duration(load.warmup)),
    ];
    lines.extend(options.key_range.map(|highest| line("key_range", highest)));
    lines.extend(length(trial));
    lines.extend(load.events.map(|events| line("events", events)));
    if let Pace::Open { per_s, arrivals } = load.pace {
        lines.push(line("rate", format_args!("{per_s:?}")));
        lines.push(line(
            "arrivals",
            match arrivals {
                Arrivals::Poisson => "\"poisson\"",
                Arrivals::Constant => "\"constant\"",
            },
        ));
    }
    if !load.think.is_zero() {
        lines.push(line("think", duration(load.think)));
    }
    if trial.protocol == StatementProtocol::Text {
        lines.push(line("protocol", "\"text\""));
    }
    if trial.reply_time == ReplyTime::Program {
        lines.push(line("reply_time", "\"program\""));
    }
    lines
}

/// How long it may take.
fn length(trial: &Trial) -> Lines {
    let longest = trial.load.time.unwrap_or(LONGEST_TIME);
    let mut lines = match trial.early {
        Some(EarlyEnd::Sure(until)) => vec![
            line("time", duration(Duration::from_secs_f64(until.least_s))),
            line(
                "until",
                format_args!(
                    "{{ ci = {}, max = {} }}",
                    percent(until.ci),
                    duration(longest)
                ),
            ),
        ],
        Some(EarlyEnd::Overloaded { .. }) | None => vec![line("time", duration(longest))],
    };
    lines.extend(trial.find_max.map(|find| {
        let limit = duration(find.limit);
        line(
            "find_max",
            format_args!("{{ {} = {limit} }}", find.of.name()),
        )
    }));
    lines
}

fn monitors(trial: &Trial) -> Lines {
    match trial.monitors {
        true => Vec::new(),
        false => vec![line("enabled", false)],
    }
}

fn duration(duration: Duration) -> String {
    quoted(&plan::format_duration(duration))
}

/// A share as it was typed, without what the arithmetic of fractions adds.
fn percent(share: f64) -> String {
    let digits = format!("{:.6}", share * 100.0);
    quoted(&format!(
        "{}%",
        digits.trim_end_matches('0').trim_end_matches('.')
    ))
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use client::sqlite::SqliteTarget;
    use study::Study;

    use super::*;
    use crate::bench::{describe, options};
    use crate::cli::{Cli, Command};
    use crate::study_file::Meant;

    fn typed(url: &str, words: &str) -> Box<BenchArgs> {
        let words = ["dyno", "bench", url]
            .into_iter()
            .chain(words.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Bench(args) => args,
            other => panic!("{other:?}"),
        }
    }

    /// What a command line means, and what the study means that is kept of it.
    fn both(url: &str, words: &str) -> (Trial, Trial, String) {
        let args = typed(url, words);
        let database = Database::Sqlite(SqliteTarget::parse("sqlite:").unwrap().into());
        let typed = describe(&args, options(&args), database, args.threads[0]);
        let text = as_study(&args, &typed, "what \"SQLite\\3\"\n gives");
        let study = Study::parse("study.toml", &text)
            .map_err(|e| e.to_string())
            .unwrap();
        let plan = study.plan().unwrap();
        let meant = Meant {
            study,
            plan,
            text: text.clone(),
        };
        let kept = meant
            .trial(&meant.plan.trials[0], typed.place.clone())
            .unwrap();
        (typed, kept, text)
    }

    /// Everything that decides what is done.
    fn work(trial: &Trial) -> String {
        let load = &trial.load;
        format!(
            "{:?}",
            (
                (trial.workload, &trial.options, trial.seed, trial.protocol),
                trial.reply_time,
                (trial.early, trial.find_max, trial.monitors, trial.instances),
                (load.users, load.warmup, load.time, load.events),
                (load.pace, load.think, trial.preload),
            )
        )
    }

    #[test]
    fn the_study_does_the_work_of_the_command_line() {
        for words in [
            "",
            "--skip-trx --point-selects 1",
            "--range-size 7 --range-selects false --simple-ranges 2 --sum-ranges 3 --order-ranges 4",
            "--distinct-ranges 0 --index-updates 2 --non-index-updates 3 --delete-inserts 4",
            "--secondary --create-secondary false --auto-inc false --storage-engine myisam",
            "--tables 1 --workload select_random_ranges --number-of-ranges 3 --delta 9",
            "--tables 1 --workload select_random_points --random-points 4",
            "--rows 500 --key-range 800 --distribution zipfian:exp=0.99 --seed 18446744073709551615",
            "--rate 0.5 --arrivals constant --think 1ms --protocol text --reply-time program --no-monitors",
            "--rate 250 --threads 3 --warmup 0s --time 1h30m --events 7",
            "--until-ci 7% --max-time 50m --time 25s",
            "--until-ci 2.5",
            "--find-max --p95 20ms --time 7s",
        ] {
            let (typed, kept, text) = both("sqlite:", words);
            assert_eq!(work(&kept), work(&typed), "{words}\n{text}");
        }
    }

    #[test]
    fn a_study_of_events_ends_by_them() {
        let (mut typed, kept, _) = both("sqlite:", "--events 40");
        assert_eq!(
            (typed.load.time, kept.load.time),
            (None, Some(LONGEST_TIME))
        );
        typed.load.time = kept.load.time;
        assert_eq!(work(&kept), work(&typed));
    }

    #[test]
    fn what_a_study_cannot_say_is_named() {
        let (.., text) = both(
            "sqlite:",
            "--workers 2 --ignore-errors 1062 --prepare always",
        );
        let line = "# No key of a study stands for --prepare, --workers, --ignore-errors.\n";
        assert!(text.contains(line), "{text}");
        let (.., text) = both("sqlite:", "");
        assert!(!text.contains("No key"), "{text}");
    }

    #[test]
    fn a_database_is_found_from_anywhere() {
        for (url, found) in [
            ("sqlite:", None),
            ("sqlite://", None),
            (
                "sqlite:?journal_mode=off",
                Some("sqlite://?journal_mode=off"),
            ),
            (
                "sqlite:/a/b?synchronous=full",
                Some("sqlite:///a/b?synchronous=full"),
            ),
            ("sqlite:///a/b", Some("sqlite:///a/b")),
        ] {
            assert_eq!(sqlite(url).as_deref(), found, "{url}");
        }
        let here = std::env::current_dir().unwrap();
        let found = format!("sqlite://{}/a.db", here.display());
        assert_eq!(sqlite("sqlite:a.db"), Some(found));
    }
}
