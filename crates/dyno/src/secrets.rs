//! Passwords: where they come from, and how they are kept out of the process list, core dumps and
//! results.

use std::collections::BTreeMap;
use std::env::VarError;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use percent_encoding::percent_decode_str;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Failure;

/// The environment variable with the password for servers whose URL has none.
pub(crate) const PASSWORD_VARIABLE: &str = "DYNO_PASSWORD";
/// The variable in which dyno passes the URLs with passwords of its command line to itself,
/// separated by spaces.
const ADDRESSES_VARIABLE: &str = "DYNO_ADDRESSES";
/// What precedes the path of a Unix socket in a URL; the path may look like a password.
const SOCKETS: [&str; 2] = ["?socket=", "?host=/"];
/// Addresses of nats-servers.
const NATS_SCHEMES: [&str; 2] = ["nats", "tls"];
const SELF: &str = "/proc/self/exe";
/// With this limit Linux neither writes core dumps nor pipes them to a program: see core(5).
const NO_CORE_DUMP_BYTES: u64 = 1;
const OTHER_WAYS: &str = "give the password as DYNO_PASSWORD or with --option-file";
const OPTION_FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Keeps passwords out of core dumps of dyno and of its child processes.
pub(crate) fn forbid_core_dumps() {
    let maximum = getrlimit(Resource::Core).maximum;
    let limit = Rlimit {
        current: Some(NO_CORE_DUMP_BYTES.min(maximum.unwrap_or(NO_CORE_DUMP_BYTES))),
        maximum,
    };
    // Lowering a limit always succeeds.
    let _ = setrlimit(Resource::Core, limit);
}

/// Re-executes dyno if its command line contains a password, with the URLs in the environment
/// instead: other users can read a command line (`ps`), but not an environment.
pub(crate) fn hide_argv_passwords() -> Result<(), Failure> {
    let mut urls = Vec::new();
    let mut arguments = Vec::new();
    for argument in std::env::args_os() {
        // A URL is always Unicode.
        arguments.push(match argument.to_str() {
            Some(text) => without_passwords(text, &mut urls)?.into(),
            None => argument,
        });
    }
    let Some(urls) = joined_urls(urls)? else {
        return Ok(());
    };
    let [name, rest @ ..] = arguments.as_slice() else {
        return Ok(());
    };
    // `exec` returns only if it fails.
    let error = Command::new(SELF)
        .arg0(name)
        .args(rest)
        .env(ADDRESSES_VARIABLE, urls)
        .exec();
    let message = format!(
        "cannot hide the password on the command line from other users: cannot run {SELF}: {error}"
    );
    Err(Failure::usage(message).remedy(OTHER_WAYS))
}

pub(crate) fn password_of_environment() -> Result<Option<String>, Failure> {
    match std::env::var(PASSWORD_VARIABLE) {
        Ok(password) => Ok(Some(password)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            let message = format!("{PASSWORD_VARIABLE} is not valid UTF-8");
            Err(Failure::usage(message))
        }
    }
}

/// The password of this URL on the command line.
pub(crate) fn typed_password(url: &str) -> Option<String> {
    password_among(&std::env::var(ADDRESSES_VARIABLE).ok()?, url)
}

fn password_among(urls: &str, url: &str) -> Option<String> {
    let mut urls = urls.split(' ').filter_map(TypedUrl::parse);
    let password = urls.find(|known| known.clean == url)?.password?;
    let password = percent_decode_str(&password);
    Some(password.decode_utf8_lossy().into_owned())
}

/// The URLs with passwords in one line; `None` if there are none.
fn joined_urls(urls: Vec<TypedUrl>) -> Result<Option<String>, Failure> {
    let mut known: BTreeMap<String, TypedUrl> = BTreeMap::new();
    for url in urls {
        let before = known.insert(url.clean.clone(), url);
        if before.is_some_and(|before| known[&before.clean].password != before.password) {
            let message = "a URL is on the command line with different passwords";
            let remedy = "put the URLs with their passwords into the study file; its copy in the result has no \
                          passwords";
            return Err(Failure::usage(message).remedy(remedy));
        }
    }
    let with_passwords = known.into_values().filter(|url| url.password.is_some());
    let urls: Vec<String> = with_passwords.map(|url| url.whole).collect();
    Ok((!urls.is_empty()).then(|| urls.join(" ")))
}

/// The argument without the passwords of the URLs in it, which are added to `urls`.
fn without_passwords(argument: &str, urls: &mut Vec<TypedUrl>) -> Result<String, Failure> {
    let schemes = engine::servers().flat_map(|any| any.schemes());
    let schemes: Vec<_> = schemes.chain(&NATS_SCHEMES).collect();
    let mut clean = String::new();
    let mut rest = argument;
    while let Some(at) = rest.find("://") {
        let before = rest[..at].to_ascii_lowercase();
        let scheme = schemes.iter().filter(|scheme| before.ends_with(**scheme));
        let Some(start) = scheme.map(|scheme| at - scheme.len()).min() else {
            clean.push_str(&rest[..at + 3]);
            rest = &rest[at + 3..];
            continue;
        };
        clean.push_str(&rest[..start]);
        // In a list, a URL ends at its closing quote; otherwise it extends to the end.
        let quote = clean.chars().next_back();
        let quote = quote.filter(|character| matches!(character, '"' | '\''));
        let end = quote.and_then(|quote| Some(start + rest[start..].find(quote)?));
        let (url, after) = rest[start..].split_at(end.unwrap_or(rest.len()) - start);
        let url = TypedUrl::parse(url).ok_or_else(unreadable_password)?;
        clean.push_str(&url.clean);
        urls.push(url);
        rest = after;
    }
    Ok(clean + rest)
}

fn unreadable_password() -> Failure {
    let message = "cannot parse a URL on the command line, so its password would remain visible to other users";
    let remedy = format!(
        "write it before the host (user:password@host) and percent-encode special characters in it (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25), or {OTHER_WAYS}"
    );
    Failure::usage(message).remedy(remedy)
}

/// The URL of a server in an argument.
struct TypedUrl {
    whole: String,
    /// Without the password.
    clean: String,
    /// Percent-encoded.
    password: Option<String>,
}

impl TypedUrl {
    /// `None` if a part of it that is not the password may belong to one.
    fn parse(whole: &str) -> Option<Self> {
        let (scheme, url) = whole.split_once("://")?;
        let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
        let rest = &url[authority.len()..];
        let (account, place) = match authority.rsplit_once('@') {
            Some((account, host)) => (Some(account), host),
            None => (None, authority),
        };
        let (user, password) = match account.and_then(|account| account.split_once(':')) {
            Some((user, password)) => (Some(user), Some(password).filter(|p| !p.is_empty())),
            None => (account, None),
        };
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        let socket = SOCKETS.iter().find_map(|socket| rest.split_once(socket));
        let path = socket.map_or(rest, |(before, _)| before);
        let is_unclear = query.split('&').any(|pair| pair.starts_with("password="))
            || ((place.contains(':') || path.contains("://")) && path.contains('@'))
            // URL parsers drop these characters, also from passwords.
            || (url.contains(char::is_whitespace) && url.contains(':') && url.contains('@'));
        let at = if account.is_some() { "@" } else { "" };
        (!is_unclear).then(|| Self {
            whole: whole.to_owned(),
            clean: format!("{scheme}://{}{at}{place}{rest}", user.unwrap_or_default()),
            password: password.map(str::to_owned),
        })
    }
}

/// User and password of an option file in the format of my.cnf: `user=` and `password=` under
/// `[client]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OptionFile {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl OptionFile {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::usage(format!(
                "{}: cannot read the option file: {why}",
                path.display()
            ))
        };
        let metadata = std::fs::metadata(path).map_err(|error| failed(&error))?;
        if metadata.len() > OPTION_FILE_LIMIT_BYTES {
            return Err(failed(&"it is larger than 1 MiB"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let mut in_client = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with(['#', ';']) {
                continue;
            }
            let line = without_comment(line).trim_end();
            if let Some(group) = line.strip_prefix('[') {
                in_client = matches!(group.trim_end_matches(']'), "client" | "dyno");
            } else if let (true, Some((key, value))) = (in_client, line.split_once('=')) {
                let value = option_value(value.trim());
                match key.trim() {
                    "user" => file.user = Some(value),
                    "password" => file.password = Some(value),
                    _ => {}
                }
            }
        }
        file
    }
}

/// A line up to a `#` that is not in quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut is_escaped) = (None, false);
    for (at, character) in line.char_indices() {
        match (character, quote) {
            ('"' | '\'', _) if is_escaped => {}
            ('"' | '\'', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            ('#', None) => return &line[..at],
            _ => {}
        }
        is_escaped = quote.is_some() && character == '\\' && !is_escaped;
    }
    line
}

/// A value without its quotes and with its escape sequences replaced, as the database's own programs read it.
fn option_value(text: &str) -> String {
    let quoted = ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let mut value = String::new();
    let mut characters = quoted.unwrap_or(text).chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => value.push('\n'),
            Some('t') => value.push('\t'),
            Some('r') => value.push('\r'),
            Some('b') => value.push('\u{8}'),
            Some('s') => value.push(' '),
            Some(known @ ('"' | '\'' | '\\')) => value.push(known),
            Some(other) => value.extend(['\\', other]),
            None => value.push('\\'),
        }
    }
    value
}

/// The command line without secrets, to be stored in the result.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(&without_secrets(&word.to_string_lossy())));
    let words: Vec<String> = std::iter::once("dyno".to_owned()).chain(words).collect();
    words.join(" ")
}

/// A word of the command line, with the value of a secret key hidden.
fn without_secrets(word: &str) -> String {
    let names_secret = |key: &str| {
        let pair = format!("{key}=1");
        plan::redact(&pair) != pair
    };
    let mut equals = word.match_indices('=').map(|(at, _)| at);
    match equals.find(|at| names_secret(&word[..*at])) {
        Some(at) => plan::redact(&format!("{}=1", &word[..at])),
        None => plan::redact(word),
    }
}

/// A word quoted for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./:=@,%+".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
