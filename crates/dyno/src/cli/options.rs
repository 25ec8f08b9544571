//! The options of a trial as arguments, generated from the list in `plan::key`, so that names,
//! ranges, defaults and help are the same as in a study.

use ::plan::key::{self, KEYS, Key, Kind, Needs};
use ::plan::{Limited, Value, is_lua, parse_duration};
use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use workload::distribution::Distribution;
use workload::mix::Mix;
use workload::name::WorkloadName;
use workload::pgbench::built_in::is_built_in;

/// The positional argument with the URL of the server.
const URL: &str = "url";
/// The switch that requires a limit of response times.
const FIND_MAX: &str = "find_max";
/// The group of these limits.
const LIMITS: &str = "limit";
/// Keys that even the short help has.
const USUAL: [&str; 14] = [
    "data.tables",
    "data.rows",
    "load.workload",
    "load.threads",
    "load.warmup",
    "load.time",
    "load.find_max.p99",
    "load.events",
    "load.rate",
    "load.repeats",
    "load.distribution",
    "load.until.ci",
    "server.tls.mode",
    "server.tls.ca",
];
/// Keys that are off at 0, as in sysbench.
const OFF_AT_ZERO: [&str; 2] = ["load.events", "load.rate"];

/// How to log in to a server that is already running.
pub(crate) type LoginOptions = TypedOptions<true>;
/// All other options of a trial.
pub(crate) type TrialOptions = TypedOptions<false>;

/// The options on the command line that are keys of a study: those of `[server]` if `SERVER`,
/// otherwise all others.
#[derive(Debug, Clone, Default)]
pub(crate) struct TypedOptions<const SERVER: bool>(Vec<TypedOption>);

#[derive(Debug, Clone)]
pub(crate) struct TypedOption {
    pub(crate) key: &'static Key,
    /// Several values make an axis.
    pub(crate) values: Vec<Value>,
}

impl<const SERVER: bool> TypedOptions<SERVER> {
    pub(crate) fn typed(&self) -> &[TypedOption] {
        &self.0
    }

    fn keys() -> impl Iterator<Item = (&'static Key, String)> {
        let keys = KEYS
            .iter()
            .filter(|key| (key.section() == "server") == SERVER);
        keys.filter_map(|key| Some((key, key.flag_name()?)))
    }
}

impl<const SERVER: bool> Args for TypedOptions<SERVER> {
    fn augment_args(command: Command) -> Command {
        let with_switch = Self::keys().flat_map(|(key, name)| {
            let is_first = key.name == Limited::KEYS[0].0;
            let switch = is_first.then(find_max);
            switch.into_iter().chain([argument(key, name)])
        });
        command.args(with_switch)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SERVER: bool> FromArgMatches for TypedOptions<SERVER> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = Self::keys().filter_map(|(key, _)| {
            let is_typed =
                matches.value_source(key.name)? == clap::parser::ValueSource::CommandLine;
            let mut values: Vec<Value> = matches.get_many(key.name)?.cloned().collect();
            if let Kind::Scripts = key.kind {
                let scripts: Vec<String> = values.iter().map(Value::to_string).collect();
                values = vec![Value::Text(scripts.join(", "))];
            }
            let is_off = OFF_AT_ZERO.contains(&key.name) && values == [Value::Integer(0)];
            (is_typed && !is_off).then_some(TypedOption { key, values })
        });
        Ok(Self(typed.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(key: &'static Key, name: String) -> Arg {
    let help = key.help();
    let mut arg = Arg::new(key.name)
        .long(name)
        .help(short(&help))
        .value_parser(value_parser(key))
        .value_name(value_name(key));
    if let Some(long) = long_help(key, &help) {
        arg = arg.long_help(long);
    }
    if let Some(heading) = heading(key) {
        arg = arg.help_heading(heading);
    }
    arg = arg.hide_short_help(!USUAL.contains(&key.name));
    if let Some(default) = key.plain_default() {
        let is_known = key.section() == "server" || help.contains("[default:");
        arg = arg.default_value(default).hide_default_value(is_known);
    }
    if matches!(key.kind, Kind::Boolean) {
        arg = arg
            .action(ArgAction::Set)
            .num_args(0..=1)
            .hide_possible_values(true)
            .default_missing_value("true")
            // A switch that is off by default may be followed by the URL.
            .require_equals(key.default == Some("false"));
    }
    if key.name == key::THREADS {
        arg = arg.action(ArgAction::Append).value_delimiter(',');
    }
    if let Kind::Scripts | Kind::Options = key.kind {
        arg = arg.action(ArgAction::Append);
    }
    if key.name == "load.variables" {
        arg = arg.short('D');
    }
    relations(key, arg)
}

/// The switch for a search, which its limits require.
fn find_max() -> Arg {
    Arg::new(FIND_MAX)
        .long("find-max")
        .help("Search for the highest arrival rate at which response times stay within --p99 (or --p95, --mean), with trials of --time each")
        .help_heading("Load")
        .action(ArgAction::SetTrue)
        .requires(LIMITS)
        .conflicts_with_all(["load.rate", "load.arrivals", "load.phase", "load.events", "load.until.ci", "thresholds"])
}

/// The options that an option requires or excludes.
fn relations(key: &Key, arg: Arg) -> Arg {
    let arg = match key.needs {
        Needs::RunningServer => arg.requires(URL),
        Needs::Rate => arg.requires("load.rate"),
        Needs::Until => arg.requires("load.until.ci"),
        // No option meets the other needs.
        _ => arg,
    };
    match key.name {
        "server.tls.cert" => arg.requires("server.tls.key"),
        "server.tls.key" => arg.requires("server.tls.cert"),
        "server.get_server_public_key" => arg.conflicts_with("server.server_public_key_path"),
        _ if key.is_limit() => arg.group(LIMITS).requires(FIND_MAX),
        _ => arg,
    }
}

fn heading(key: &Key) -> Option<&'static str> {
    match key.section() {
        "data" => Some("Data"),
        "load" | "topology" => Some("Load"),
        "transaction" => Some("Transaction (as in sysbench)"),
        _ => None,
    }
}

fn value_name(key: &Key) -> &'static str {
    match key.kind {
        _ if key.name == "load.distribution" => "NAME[:PARAMETERS]",
        Kind::Boolean => "BOOL",
        Kind::Integer { .. } => "N",
        Kind::Number { .. } => "PER_SECOND",
        Kind::Duration { .. } => "DURATION",
        Kind::Percent { .. } => "PERCENT",
        Kind::Path => "FILE",
        Kind::Choice(_) => "WORD",
        Kind::Mix => "MIX",
        Kind::Scripts => "FILE[@WEIGHT]",
        Kind::Options => "NAME=VALUE",
        Kind::Phases => "PHASES",
        _ => "NAME",
    }
}

/// The first sentence of a help text, with the default that the text states.
fn short(help: &str) -> String {
    let (text, stated) = help.split_at(help.find(" [default: ").unwrap_or(help.len()));
    let end = text.find(". ").filter(|_| is_long(help));
    let text = text[..end.unwrap_or(text.len())].trim_end_matches('.');
    format!("{text}{stated}")
}

fn is_long(help: &str) -> bool {
    help.len() > 200
}

fn long_help(key: &Key, help: &str) -> Option<String> {
    if key.name != "load.workload" {
        return is_long(help).then(|| help.to_owned());
    }
    let mut text = "What each virtual user does:".to_owned();
    for name in WorkloadName::ALL {
        text.push_str(&format!("\n  {:<24} {}", name.name(), name.summary()));
    }
    let script = "a script in Lua, with the interface of sysbench";
    text.push_str(&format!("\n  {:<24} {script}", "FILE.lua"));
    Some(text)
}

/// Reads a value like a study, and also accepts what is usual on a command line: durations
/// without a unit (seconds; limits of response times in milliseconds), percentages without `%`, relative paths, `on` and `off`.
fn value_parser(key: &'static Key) -> ValueParser {
    match key.kind {
        Kind::Boolean => BoolishValueParser::new().map(Value::Boolean).into(),
        Kind::Choice(words) => PossibleValuesParser::new(words).map(Value::Text).into(),
        _ => ValueParser::new(move |text: &str| read(key, text)),
    }
}

fn read(key: &'static Key, typed: &str) -> Result<Value, String> {
    match key.name {
        "load.workload" if is_lua(typed) => return absolute(typed).map(Value::Text),
        "load.workload" => typed.parse::<WorkloadName>().map(drop).map_err(text)?,
        "load.mix" => typed.parse::<Mix>().map(drop).map_err(text)?,
        "load.distribution" => typed.parse::<Distribution>().map(drop).map_err(text)?,
        name if typed == "0" && OFF_AT_ZERO.contains(&name) => return Ok(Value::Integer(0)),
        _ if matches!(key.kind, Kind::Options) => {
            let is_pair = typed.contains('=').then(|| Value::Text(typed.to_owned()));
            return is_pair.ok_or_else(|| "expected NAME=VALUE".to_owned());
        }
        _ => {}
    }
    let is_plain = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
    let typed = match key.kind {
        Kind::Duration { .. } if is_plain => format!("{typed}{}", key.plain_unit()),
        Kind::Percent { .. } if !typed.trim_end().ends_with('%') => format!("{typed}%"),
        Kind::Path => absolute(typed)?,
        Kind::Scripts if !is_built_in(typed.split('@').next().unwrap_or_default()) => {
            absolute(typed)?
        }
        _ => typed.to_owned(),
    };
    let read = ::study::read_option(key, &typed);
    read.map_err(|error| match key.kind {
        Kind::Duration { .. } if parse_duration(&typed).is_err() => error.to_string(),
        _ => format!("{}; expected {}", as_options(&error.message), key.range()),
    })
}

fn absolute(path: &str) -> Result<String, String> {
    let path = std::path::absolute(path).map_err(text)?;
    Ok(path.display().to_string())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A message about keys of a study, in terms of the corresponding options.
pub(crate) fn as_options(message: &str) -> String {
    let mut text = message.to_owned();
    for key in KEYS.iter() {
        if let Some(flag) = key.flag_name() {
            text = text.replace(&format!("`{}`", key.name), &format!("--{flag}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn typed(name: &str, text: &str) -> Result<Value, String> {
        read(Key::find(name).unwrap(), text)
    }

    #[test]
    fn plain_numbers_are_seconds_and_as_limits_of_response_times_milliseconds() {
        let seconds = |n| Ok(Value::Duration(Duration::from_secs(n)));
        assert_eq!(typed("load.time", "20"), seconds(20));
        assert_eq!(typed("load.time", "1m30s"), seconds(90));
        assert!(typed("load.time", "20x").is_err() && typed("load.time", "").is_err());
        let limit = Ok(Value::Duration(Duration::from_millis(20)));
        assert_eq!(typed("load.find_max.p99", "20ms"), limit);
        assert_eq!(typed("load.find_max.p99", "20"), limit);
        assert_eq!(typed("load.rate", "0"), Ok(Value::Integer(0)));
        assert!(typed("load.find_max.p99", "0s").is_err());
    }

    #[test]
    fn a_percentage_needs_no_sign() {
        let share = Ok(Value::Number(0.025));
        assert_eq!(typed("load.until.ci", "2.5"), share);
        assert_eq!(typed("load.until.ci", "2.5%"), share);
        assert!(typed("load.until.ci", "51").is_err());
    }

    #[test]
    fn errors_name_options_instead_of_keys() {
        let error = typed("data.rows", "0").unwrap_err();
        assert!(
            error.contains("--rows") && error.contains("2_147_483_647"),
            "{error}"
        );
    }
}
