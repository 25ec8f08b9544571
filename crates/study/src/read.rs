//! Reads the TOML value of a key.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::de::DeValue;

use crate::items;
use crate::name::Name;
use crate::point::NATS;
use crate::setting;
use crate::syntax::type_words;
use plan::key::{Key, Kind};
use plan::{
    CpuSet, FaultKind, Host, Mix, Phases, ServerUrl, TextError, Value, check_nats, did_you_mean,
    listed, parse_bytes, parse_duration, parse_frequency, parse_labels, parse_percent,
    parse_scripts, shown,
};

const MAX_PATH_BYTES: usize = 4000;
/// Separates the paths of a list in its value.
pub(crate) const BETWEEN_PATHS: &str = "\n";
const MAX_WORD_CHARS: usize = 60;
const MAX_LIST_CHARS: usize = 20_000;
const MAX_VERSION_PARTS: usize = 4;
/// How to write a table of the report.
pub(crate) const TABLES_EXAMPLE: &str =
    "write tables = [{ rows = \"load.threads\", columns = [\"tps\", \"response_ms.p99\"] }]";

/// Reads a built-in value, written as in TOML.
pub(crate) fn built_in(key: &'static Key, toml: &str) -> Option<Value> {
    let value = DeValue::parse(toml).ok()?;
    read(&Name::of(key), value.get_ref()).ok()
}

/// The value, if its key takes it.
pub(crate) fn read(key: &Name, value: &DeValue<'_>) -> Result<Value, TextError> {
    let short = key.short();
    let string = || value.as_str().ok_or_else(|| wrong_type(key, value));
    match &key.key.kind {
        Kind::Text { max_chars } => text(key, string()?, *max_chars),
        Kind::Name { max_chars } => name(key, string()?, *max_chars),
        // The names of engines and clusters are checked with the whole study.
        Kind::Engine | Kind::Cluster => name(key, string()?, MAX_WORD_CHARS),
        Kind::Choice(words) => choice(key, string()?, words),
        Kind::Url => url(key, string()?),
        Kind::Path => path(key, string()?),
        Kind::Paths => paths(key, value),
        Kind::Version => only_if(is_version, string()?, "is not a version", || {
            format!("write the leading numbers that matter: {short} = \"10.11\"")
        }),
        Kind::Boolean => {
            let is = value.as_bool().ok_or_else(|| wrong_type(key, value));
            is.map(Value::Boolean)
        }
        Kind::Integer { min, max } => integer(key, value, *min..=*max),
        Kind::Number { min, max } => number(key, value, *min..=*max),
        Kind::Duration { min, max } => duration(key, string()?, *min..=*max),
        Kind::Percent { min, max } => percent(key, string()?, min / 100.0..=max / 100.0),
        Kind::Bytes { min, max } => bytes(key, value, *min..=*max),
        Kind::Settings if key.setting().is_some() => setting::value(key.full(), value),
        Kind::Options if key.setting().is_some() => option(key, value),
        Kind::Scripts => list(key, value, parse_scripts),
        Kind::Mix => list(key, value, str::parse::<Mix>),
        Kind::Phases => list(key, value, str::parse::<Phases>),
        Kind::Labels => list(key, value, parse_labels),
        Kind::Listen => {
            let is_valid = |text: &str| {
                let address = text.parse::<SocketAddr>();
                address.is_ok_and(|address| !address.ip().is_unspecified())
            };
            only_if(is_valid, string()?, "is not an address with a port", || {
                example(key)
            })
        }
        Kind::Faults => kinds(key, value),
        Kind::Frequency => {
            let is_valid = |text: &str| parse_frequency(text).is_some();
            only_if(is_valid, string()?, "does not say how often", || {
                example(key)
            })
        }
        Kind::CpuSet => {
            let is_valid = |text: &str| CpuSet::parse(text).is_some();
            only_if(is_valid, string()?, "is not a list of CPUs", || {
                let max = CpuSet::MAX;
                format!("list CPUs by number or range, up to {max}: {short} = \"0-1,3\"")
            })
        }
        Kind::Hosts => list(key, value, Host::parse_list),
        Kind::Settings | Kind::Options | Kind::Tables => Err(wrong_type(key, value)),
    }
}

/// The value of a script's option.
fn option(key: &Name, value: &DeValue<'_>) -> Result<Value, TextError> {
    match value {
        DeValue::Boolean(_) | DeValue::Array(_) => {
            name(key, &items::text(key, value, ",")?, MAX_LIST_CHARS)
        }
        _ => setting::value(key.full(), value),
    }
}

/// A list as one text, whose items are `, ` apart.
fn list<T>(
    key: &Name,
    value: &DeValue<'_>,
    parse: fn(&str) -> Result<T, TextError>,
) -> Result<Value, TextError> {
    let typed = items::text(key, value, ",")?;
    let items: Vec<&str> = typed.split(',').map(str::trim).collect();
    let text = items.join(", ");
    parse(&text)?;
    name(key, &text, MAX_LIST_CHARS)
}

/// A text for which `is_valid` holds.
fn only_if(
    is_valid: impl Fn(&str) -> bool,
    text: &str,
    problem: &str,
    help: impl Fn() -> String,
) -> Result<Value, TextError> {
    match is_valid(text) {
        true => Ok(Value::Text(text.to_owned())),
        false => Err(TextError::new(
            format!("`{}` {problem}", shown(text)),
            help(),
        )),
    }
}

fn is_version(text: &str) -> bool {
    let is_number =
        |part: &str| (1..=6).contains(&part.len()) && part.chars().all(|c| c.is_ascii_digit());
    text.split('.').count() <= MAX_VERSION_PARTS && text.split('.').all(is_number)
}

pub(crate) fn wrong_type(name: &Name, value: &DeValue<'_>) -> TextError {
    let (key, short) = (name.key, name.short());
    let (takes, found) = (key.takes(), type_words(value));
    let message = format!("`{}` takes {takes}, not {found}", name.full());
    let numeric = |text: &str| text.replace('_', "").parse::<f64>().is_ok();
    let help = match (value, &key.kind) {
        (_, Kind::Settings) => format!("write {short} = {{ max_connections = 500 }}"),
        (_, Kind::Options) => format!("write {short} = {{ scale = 10 }}"),
        (_, Kind::Tables) => TABLES_EXAMPLE.into(),
        (_, Kind::Faults) => format!("write {short} = \"any\" or {short} = [\"kill\", \"pause\"]"),
        (_, Kind::Frequency) => example(name),
        (_, Kind::Paths) => format!("write {short} = [\"/…\"]"),
        (DeValue::Array(_), _) if key.axis => format!(
            "to run a trial with each value, put the list under [sweep]: \"{}\" = […]",
            name.full()
        ),
        (DeValue::String(text), Kind::Boolean) if matches!(text.as_ref(), "true" | "false") => {
            format!("remove the quotes: {short} = {text}")
        }
        (_, Kind::Boolean) => format!("write {short} = true or {short} = false"),
        (DeValue::String(text), Kind::Integer { .. } | Kind::Number { .. }) if numeric(text) => {
            format!("remove the quotes: {short} = {}", shown(text))
        }
        (DeValue::Integer(n), Kind::Duration { .. }) => {
            let (n, unit) = (shown(n.as_str()), key.plain_unit());
            format!("add a unit, in quotes: {short} = \"{n}{unit}\"")
        }
        (DeValue::Float(n), Kind::Version) => {
            format!("write it in quotes: {short} = \"{}\"", shown(n.as_str()))
        }
        _ => example(name),
    };
    TextError::new(message, help)
}

/// How to write a value of a key.
fn example(name: &Name) -> String {
    match name.key.example() {
        Some(example) => format!("write, for example, {} = {example}", name.short()),
        None => "write the value in quotes".into(),
    }
}

fn text(key: &Name, text: &str, max_chars: usize) -> Result<Value, TextError> {
    if text.trim().is_empty() {
        let help = match key.key.required {
            true => "write some text",
            false => "write some text, or remove the key",
        };
        return Err(TextError::new(format!("`{}` is empty", key.full()), help));
    }
    if text.chars().nth(max_chars).is_some() {
        let message = format!("`{}` is longer than {max_chars} characters", key.full());
        return Err(TextError::new(message, "shorten it"));
    }
    Ok(Value::Text(text.to_owned()))
}

fn name(key: &Name, typed: &str, max_chars: usize) -> Result<Value, TextError> {
    no_control(key, typed)?;
    text(key, typed, max_chars)
}

fn no_control(key: &Name, text: &str) -> Result<(), TextError> {
    if !text.chars().any(char::is_control) {
        return Ok(());
    }
    let message = format!(
        "`{}` contains a line break or another control character",
        key.full()
    );
    Err(TextError::new(message, "write it on one line"))
}

fn path(key: &Name, text: &str) -> Result<Value, TextError> {
    no_control(key, text)?;
    if text.len() > MAX_PATH_BYTES {
        let message = format!("`{}` is longer than {MAX_PATH_BYTES} bytes", key.full());
        return Err(TextError::new(message, "shorten it"));
    }
    only_if(
        |text| text.starts_with('/'),
        text,
        "is not an absolute path",
        || format!("start it at the root: {} = \"/…\"", key.short()),
    )
}

/// A list of paths as one text.
fn paths(key: &Name, value: &DeValue<'_>) -> Result<Value, TextError> {
    let list = value.as_array().ok_or_else(|| wrong_type(key, value))?;
    let paths = list.iter().map(|entry| match entry.get_ref().as_str() {
        Some(text) => path(key, text).map(|path| path.to_string()),
        None => Err(wrong_type(key, entry.get_ref())),
    });
    let paths: Vec<String> = paths.collect::<Result<_, _>>()?;
    Ok(Value::Text(paths.join(BETWEEN_PATHS)))
}

fn choice(key: &Name, text: &str, words: &[&str]) -> Result<Value, TextError> {
    match words.contains(&text) {
        true => Ok(Value::Text(text.to_owned())),
        false => Err(not_one_of(key.full(), text, words)),
    }
}

/// What is wrong with a text that is none of `words`.
pub(crate) fn not_one_of(name: &str, text: &str, words: &[&str]) -> TextError {
    let message = format!("`{}` is not a value of `{name}`", shown(text));
    let all = listed(words.iter().copied());
    let known = || match words.len() {
        1 => format!("the only value is {all}"),
        _ => format!("the values are {all}"),
    };
    let help = did_you_mean(text, words.iter().copied()).unwrap_or_else(known);
    TextError::new(message, help)
}

/// Kinds of faults, by their words with commas between them; every kind is the word `any`.
fn kinds(key: &Name, value: &DeValue<'_>) -> Result<Value, TextError> {
    let words = [FaultKind::WORDS, &[plan::Chaos::ANY]].concat();
    let read = |value: &DeValue<'_>| match value.as_str() {
        Some(word) => choice(key, word, &words).map(|word| word.to_string()),
        None => Err(wrong_type(key, value)),
    };
    let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
        return read(value).map(Value::Text);
    };
    let kinds = list.iter().map(|kind| read(kind.get_ref()));
    Ok(Value::Text(
        kinds.collect::<Result<Vec<_>, _>>()?.join(", "),
    ))
}

fn url(key: &Name, text: &str) -> Result<Value, TextError> {
    if key.full() == NATS {
        let url = ServerUrl::from(text.to_owned());
        return check_nats(&url).map(|()| Value::Url(url));
    }
    let is_scheme = |scheme: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
        !scheme.is_empty() && scheme.chars().all(is_plain)
    };
    let parts = text.split_once("://");
    if parts.is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty()) {
        return Ok(Value::Url(text.to_owned().into()));
    }
    // The text is not quoted, because it may contain a password anywhere.
    let message = format!("`{}` is not a URL", key.full());
    Err(TextError::new(
        message,
        "write scheme://user@host:port/database",
    ))
}

fn integer(
    key: &Name,
    value: &DeValue<'_>,
    range: RangeInclusive<u64>,
) -> Result<Value, TextError> {
    let n = value.as_integer().ok_or_else(|| wrong_type(key, value))?;
    let read = u64::from_str_radix(n.as_str(), n.radix());
    within(key, &n.to_string(), read.ok(), range, Value::Integer)
}

fn number(key: &Name, value: &DeValue<'_>, range: RangeInclusive<f64>) -> Result<Value, TextError> {
    let (typed, read) = match value {
        // Parses decimal digits as text, since these have no limit.
        DeValue::Integer(n) if n.radix() != 10 => {
            let read = u32::from_str_radix(n.as_str(), n.radix());
            (n.as_str(), read.ok().map(f64::from))
        }
        DeValue::Integer(n) => (n.as_str(), n.as_str().parse().ok()),
        DeValue::Float(n) => (n.as_str(), n.as_str().parse().ok()),
        _ => return Err(wrong_type(key, value)),
    };
    within(key, typed, read, range, Value::Number)
}

fn duration(key: &Name, text: &str, range: RangeInclusive<Duration>) -> Result<Value, TextError> {
    let read = parse_duration(text)?;
    within(key, text, Some(read), range, Value::Duration)
}

/// The fraction that a percentage stands for.
fn percent(key: &Name, text: &str, range: RangeInclusive<f64>) -> Result<Value, TextError> {
    let Some(share) = parse_percent(text) else {
        let message = format!("`{}` is not a percentage", shown(text));
        return Err(TextError::new(message, example(key)));
    };
    within(key, text, Some(share), range, Value::Number)
}

/// A size as it was typed, or the number of bytes.
fn bytes(key: &Name, value: &DeValue<'_>, range: RangeInclusive<u64>) -> Result<Value, TextError> {
    let text = match value {
        DeValue::Integer(n) if n.radix() == 10 => n.as_str(),
        _ => value.as_str().ok_or_else(|| wrong_type(key, value))?,
    };
    let Some(bytes) = parse_bytes(text) else {
        let message = format!("`{}` is not a size", shown(text));
        let help = format!("write bytes, or K, M, G, or T: {} = \"512M\"", key.short());
        return Err(TextError::new(message, help));
    };
    within(key, text, Some(bytes), range, |_| text.trim().into())
}

/// A value that could be read and is in its range.
fn within<T: PartialOrd>(
    key: &Name,
    typed: &str,
    read: Option<T>,
    range: RangeInclusive<T>,
    value: impl Fn(T) -> Value,
) -> Result<Value, TextError> {
    let read = read.filter(|read| range.contains(read));
    read.map(value).ok_or_else(|| {
        let limits = key.key.limits().unwrap_or_default();
        TextError::new(
            format!("`{}` = {} is out of range", key.full(), shown(typed)),
            format!("`{}` must be {limits}", key.short()),
        )
    })
}
