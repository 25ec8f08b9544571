//! The implicit study of `dyno bench`: the options on the command line, written as a study. It is
//! what runs, and it is stored in the result, so that `dyno run` can repeat it.

use std::fmt::Write;

use lab::{Access, Database, Lab};
use plan::key::{Key, Kind, Needs};
use plan::{Alternate, LoginSpec, ServerSpec};
use study::{Study, quoted, value_toml};

use crate::cli::{BenchArgs, LoginArgs, PrepareArg, TypedOption, UndecidedArg, as_options};
use crate::failure::Failure;
use crate::study_file::PlannedStudy;
use crate::{secrets, server};

/// Maximum length of a study's title, in characters.
const LONGEST_TITLE: usize = 200;
/// Maximum length of a variant's name, without a number.
const LONGEST_NAME: usize = 50;
/// Options that cannot be combined with several servers.
const NOT_IN_TURNS: [&str; 4] = ["load.rate", "load.events", "load.until.ci", "load.repeats"];

/// The study without its server, to check the options before connecting to a server.
pub(crate) fn without_server(args: &BenchArgs) -> Result<PlannedStudy, Failure> {
    if args.url.len() > 1 {
        check_turns(args)?;
    }
    let is_of_load = |option: &TypedOption| option.key.needs != Needs::Members;
    let study = parse(&text(args, "any server", &[any_server()], &[], &is_of_load))?;
    study.trials(&Lab::default())?;
    Ok(study)
}

fn check_turns(args: &BenchArgs) -> Result<(), Failure> {
    let is_impossible = |key: &Key| NOT_IN_TURNS.contains(&key.name) || key.is_limit();
    let mut typed = args.options.typed().iter();
    let Some(typed) = typed.find(|typed| is_impossible(typed.key)) else {
        return Ok(());
    };
    let message = format!(
        "`{}` cannot be combined with several servers, which take turns",
        typed.key.name
    );
    Err(Failure::usage(as_options(&message)).remedy("omit it, or benchmark one server at a time"))
}

/// The study that a command line stands for.
pub(crate) fn as_study(
    args: &BenchArgs,
    databases: &[Database],
    title: &str,
) -> Result<PlannedStudy, Failure> {
    let (server, variants) = match databases {
        [one] => (server_section(args, one), Vec::new()),
        several => (login_lines(&args.connection.login), variants(several)),
    };
    parse(&text(args, title, &server, &variants, &|_| true))
}

/// The name and URL of each server's variant.
fn variants(databases: &[Database]) -> Vec<[String; 2]> {
    let urls = databases.iter().map(|database| database.shown());
    let named = names(databases).into_iter().zip(urls);
    named.map(<[_; 2]>::from).collect()
}

/// A unique name for each server: its address without scheme and user.
pub(crate) fn names(databases: &[Database]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for database in databases {
        let shown = database.shown();
        let (_, address) = shown.split_once("://").unwrap_or_default();
        let address = address.split_once('@').map_or(address, |(_, host)| host);
        let name: String = address.chars().take(LONGEST_NAME).collect();
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        names.extend(free.find(|name| !names.contains(name)));
    }
    names
}

/// How to log in according to the command line.
pub(crate) fn access(args: &LoginArgs) -> Result<Access, Failure> {
    server::access(&login(args)?, args.option_file.as_deref())
}

fn login(login: &LoginArgs) -> Result<LoginSpec, Failure> {
    let lines = url_and_login("any://server", login).join("\n");
    let study = parse(&format!("title = \"login\"\n[server]\n{lines}\n"))?;
    let first = study.plan.trials.into_iter().next();
    Ok(match first.map(|trial| trial.server) {
        Some(ServerSpec::Url(_, login)) => *login,
        Some(ServerSpec::Engine(_)) | None => LoginSpec::default(),
    })
}

fn parse(text: &str) -> Result<PlannedStudy, Failure> {
    let refused = |error: study::StudyError| {
        let problem = error.problems().first();
        let message = problem.map_or_else(|| error.to_string(), |problem| problem.message.clone());
        let help = problem.map(|problem| as_options(&problem.help));
        let help = help.filter(|help| !help.is_empty());
        Failure::usage(as_options(&message)).perhaps(help)
    };
    let study = Study::parse("dyno bench", text, engine::catalog());
    let study = study.map_err(refused)?;
    PlannedStudy::of(study, "".as_ref())
}

fn text(
    args: &BenchArgs,
    title: &str,
    server: &[String],
    variants: &[[String; 2]],
    applies: &dyn Fn(&TypedOption) -> bool,
) -> String {
    let title: String = title.chars().take(LONGEST_TITLE).collect();
    let mut text = format!("# {}\n", one_line(&secrets::command_line()));
    let without_key = options_without_key(args);
    if !without_key.is_empty() {
        let names = without_key.join(", ");
        let _ = writeln!(text, "# No key of a study corresponds to {names}.");
    }
    let _ = write!(text, "title = {}\n\n[server]\n", quoted(&title));
    let _ = writeln!(text, "{}", server.join("\n"));
    let typed = args.options.typed().iter().filter(|one| applies(one));
    let is_axis = |one: &&TypedOption| one.values.len() > 1 && !is_of_options(one);
    let (axes, single): (Vec<&TypedOption>, Vec<_>) = typed.partition(is_axis);
    let mut section = "server";
    for line in single {
        if line.key.section() != section {
            section = line.key.section();
            let _ = write!(text, "\n[{section}]\n");
        }
        let _ = writeln!(text, "{}", assignment(line));
    }
    if args.connection.no_monitors {
        text.push_str("\n[monitors]\nenabled = false\n");
    }
    if !axes.is_empty() {
        text.push_str("\n[sweep]\n");
    }
    for axis in axes {
        let _ = writeln!(text, "\"{}\" = [{}]", axis.key.name, values(axis));
    }
    if !variants.is_empty() {
        let always = Alternate::Always.name();
        let _ = write!(text, "\n[compare]\nstarts = 1\nalternate = \"{always}\"\n");
    }
    for both in variants {
        let [name, url] = both.each_ref().map(|one| quoted(one));
        let _ = write!(text, "\n[[variant]]\nname = {name}\nserver.url = {url}\n");
    }
    text
}

/// The options on the command line that a study cannot express.
fn options_without_key(args: &BenchArgs) -> Vec<&'static str> {
    let connection = &args.connection;
    let login = &connection.login;
    let given = [
        ("--prepare", args.prepare != PrepareArg::Missing),
        ("--create-database", args.create_database),
        ("--workers", args.workers.is_some()),
        ("--threshold", !args.thresholds.is_empty()),
        ("--undecided", args.undecided == UndecidedArg::Fail),
        ("--ignore-errors", !connection.ignore_errors.is_empty()),
        ("--no-batch-scheduling", connection.no_batch_scheduling),
        ("--option-file", login.option_file.is_some()),
    ];
    let given = given.into_iter().filter(|(_, is_given)| *is_given);
    given.map(|(name, _)| name).collect()
}

/// An engine in process, for a study of which only the load matters.
fn any_server() -> String {
    let name = engine::in_process()
        .next()
        .map_or("", |any| any.engine.name());
    format!("engine = {}", quoted(name))
}

fn server_section(args: &BenchArgs, database: &Database) -> Vec<String> {
    let Some(in_process) = database.engine().in_process() else {
        return url_and_login(&database.shown(), &args.connection.login);
    };
    vec![match (in_process.absolute_url)(&args.url[0]) {
        Some(url) => format!("url = {}", quoted(&url)),
        None => format!("engine = {}", quoted(in_process.engine.name())),
    }]
}

fn url_and_login(url: &str, login: &LoginArgs) -> Vec<String> {
    let url = format!("url = {}", quoted(url));
    std::iter::once(url).chain(login_lines(login)).collect()
}

fn login_lines(login: &LoginArgs) -> Vec<String> {
    login.options.typed().iter().map(assignment).collect()
}

fn assignment(typed: &TypedOption) -> String {
    let name = typed.key.last();
    if !is_of_options(typed) {
        return format!("{name} = {}", values(typed));
    }
    let lines = typed.values.iter().map(|pair| {
        let pair = pair.to_string();
        let (option, value) = pair.split_once('=').unwrap_or_default();
        format!("{name}.{} = {}", quoted(option), quoted(value))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether its values are `name=value`, each of which is a key of its own.
fn is_of_options(typed: &TypedOption) -> bool {
    matches!(typed.key.kind, Kind::Options)
}

fn values(typed: &TypedOption) -> String {
    let values = typed.values.iter();
    let values = values.map(|value| value_toml(&typed.key.kind, value));
    values.collect::<Vec<_>>().join(", ")
}

/// A comment ends with its line.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests;
