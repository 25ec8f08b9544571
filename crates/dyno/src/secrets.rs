//! Passwords: where they come from, and how they are kept out of the process list, core dumps and
//! results.

use std::collections::BTreeMap;
use std::env::VarError;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use client::hosts;
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
        let clean = match argument.to_str() {
            Some(text) => {
                let (clean, found) = without_passwords(text)?;
                urls.extend(found);
                OsString::from(clean)
            }
            None => argument,
        };
        arguments.push(clean);
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
    let wanted = ArgumentUrl::parse(url)?.clean;
    let mut urls = urls.split(' ').filter_map(ArgumentUrl::parse);
    urls.find(|known| known.clean == wanted)?.password()
}

/// The URLs with passwords in one line; `None` if there are none.
fn joined_urls(urls: Vec<ArgumentUrl>) -> Result<Option<String>, Failure> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for url in urls {
        let before = known.insert(url.clean, url.whole.clone());
        if before.is_some_and(|before| before != url.whole) {
            let message = "a URL is on the command line with different passwords";
            let remedy = "put the URLs with their passwords into the study file; its copy in the result has no \
                          passwords";
            return Err(Failure::usage(message).remedy(remedy));
        }
    }
    let with_passwords = known.into_iter().filter(|(clean, whole)| clean != whole);
    let urls: Vec<String> = with_passwords.map(|(_, whole)| whole).collect();
    Ok((!urls.is_empty()).then(|| urls.join(" ")))
}

/// The argument without the passwords of the URLs in it, and these URLs.
fn without_passwords(argument: &str) -> Result<(String, Vec<ArgumentUrl>), Failure> {
    let lower = argument.to_ascii_lowercase();
    // The URL of an engine in process has no password.
    let mut engines = engine::ENGINES.to_vec();
    engines.retain(|engine| engine.in_process().is_none());
    let schemes = engines.iter().flat_map(|engine| engine.schemes());
    let mut starts: Vec<usize> = Vec::new();
    for scheme in schemes.map(|scheme| format!("{scheme}://")) {
        starts.extend(lower.match_indices(&scheme).map(|(at, _)| at));
    }
    starts.sort_unstable();
    let ends = starts.iter().skip(1).copied().chain([argument.len()]);
    let mut clean = argument[..starts.first().copied().unwrap_or(argument.len())].to_owned();
    let mut urls = Vec::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        // In a list, a URL ends at its closing quote; otherwise it extends to the end.
        let quote = argument[..start].chars().next_back();
        let quote = quote.filter(|character| matches!(character, '"' | '\''));
        let piece = &argument[start..end];
        let (url, after) = match quote.and_then(|quote| piece.find(quote)) {
            Some(at) => piece.split_at(at),
            None => (piece, ""),
        };
        let parsed = ArgumentUrl::parse(url);
        let rest = match &parsed {
            Some(parsed) if parsed.password.is_some() => &parsed.clean,
            _ => url,
        };
        // URL parsers drop these characters, also from passwords.
        let is_changed = url.contains(['\t', '\n', '\r']);
        if may_hold_password(rest) || (is_changed && may_hold_password(url)) {
            return Err(unreadable_password());
        }
        clean.push_str(rest);
        clean.push_str(after);
        urls.extend(parsed);
    }
    Ok((clean, urls))
}

/// Whether a URL contains something like `user:password@`.
fn may_hold_password(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    if query.split('&').any(|pair| pair.starts_with("password=")) {
        return true;
    }
    let socket = SOCKETS.iter().find_map(|socket| url.split_once(socket));
    let url = socket.map_or(url, |(before, _)| before);
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let before_at = after_scheme.rsplit_once('@').map(|(before, _)| before);
    before_at.is_some_and(|before| before.contains(':'))
}

fn unreadable_password() -> Failure {
    let message = "cannot parse a URL on the command line, so its password would remain visible to other users";
    let remedy = format!(
        "write it before the host (user:password@host) and percent-encode special characters in it (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25), or {OTHER_WAYS}"
    );
    Failure::usage(message).remedy(remedy)
}

/// The URL of a server in an argument.
struct ArgumentUrl {
    whole: String,
    /// Without the password.
    clean: String,
    /// Percent-encoded.
    password: Option<String>,
}

impl ArgumentUrl {
    /// A URL with several hosts has one password for all.
    fn parse(url: &str) -> Option<Self> {
        let urls = hosts::split(url);
        let urls = urls.iter().map(|url| Self::of_one_host(url));
        let urls = urls.collect::<Option<Vec<_>>>()?;
        let join = |part: fn(&Self) -> &String| {
            let parts: Vec<String> = urls.iter().map(part).cloned().collect();
            hosts::join(&parts)
        };
        Some(Self {
            whole: join(|url| &url.whole),
            clean: join(|url| &url.clean),
            password: urls.first()?.password.clone(),
        })
    }

    fn of_one_host(url: &str) -> Option<Self> {
        let Ok(whole) = url::Url::parse(url) else {
            return Self::parse_without_host(url);
        };
        let mut clean = whole.clone();
        // Fails only for a URL without a host, which has no password.
        let _ = clean.set_password(None);
        Some(Self {
            password: whole.password().map(str::to_owned),
            whole: whole.into(),
            clean: clean.into(),
        })
    }

    /// `scheme://user:password@/database?host=/directory`, as libpq writes a Unix socket.
    fn parse_without_host(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (account, place) = rest.split_once("@/")?;
        let is_unclear = |c: char| c.is_whitespace() || "/?#@".contains(c);
        if account.contains(is_unclear) || place.contains(char::is_whitespace) {
            return None;
        }
        let (user, password) = account.split_once(':').unwrap_or((account, ""));
        Some(Self {
            whole: url.to_owned(),
            clean: format!("{scheme}://{user}@/{place}"),
            password: (!password.is_empty()).then(|| password.to_owned()),
        })
    }

    fn password(&self) -> Option<String> {
        let password = percent_decode_str(self.password.as_deref()?);
        Some(password.decode_utf8_lossy().into_owned())
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
