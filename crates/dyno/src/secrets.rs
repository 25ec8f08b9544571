//! Passwords: where they come from, and where they must not stay.

use std::collections::BTreeMap;
use std::env::VarError;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use percent_encoding::percent_decode_str;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::{Exit, Failure};

/// The environment variable that holds the password of all servers that have none.
pub(crate) const PASSWORD_VARIABLE: &str = "DYNO_PASSWORD";
/// The one in which dyno hands itself the addresses of its command line that have passwords,
/// with a space between them.
const ADDRESSES_VARIABLE: &str = "DYNO_ADDRESSES";
/// The one way to keep what an address is for apart from a password in it.
const SOCKET: &str = "?socket=";
/// How dyno starts itself anew.
const SELF: &str = "/proc/self/exe";
/// At this limit Linux writes no core dump, nor hands one to a program: see core(5).
const NO_CORE_DUMP_BYTES: u64 = 1;
const ELSEWHERE: &str = "give the password as DYNO_PASSWORD or with --option-file";
/// Longest option file that is read.
const OPTION_FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Keeps passwords in memory out of core dumps: dyno's, and those of what it starts.
pub(crate) fn forbid_core_dumps() {
    let maximum = getrlimit(Resource::Core).maximum;
    let limit = Rlimit {
        current: Some(NO_CORE_DUMP_BYTES.min(maximum.unwrap_or(NO_CORE_DUMP_BYTES))),
        maximum,
    };
    // A limit may always be lowered.
    let _ = setrlimit(Resource::Core, limit);
}

/// Starts dyno anew when its command line holds a password, with the addresses in
/// the environment instead: other users can read a command line (`ps`), but not
/// an environment.
///
/// # Errors
/// When a password cannot be told from the rest of its address, when dyno cannot be
/// started anew, and when an address is on the command line with two passwords, or with one
/// and without: what is left of it does not tell which is meant. dyno must end then, and the
/// command line with it.
pub(crate) fn leave_argv() -> Result<(), Failure> {
    let mut addresses = Vec::new();
    let mut arguments = Vec::new();
    for argument in std::env::args_os() {
        // No address is written like what is not Unicode.
        let clean = match argument.to_str() {
            Some(text) => {
                let (clean, found) = without_passwords(text)?;
                addresses.extend(found);
                OsString::from(clean)
            }
            None => argument,
        };
        arguments.push(clean);
    }
    let Some(addresses) = handed_on(addresses)? else {
        return Ok(());
    };
    let [name, rest @ ..] = arguments.as_slice() else {
        return Ok(());
    };
    // It returns only if it fails.
    let error = Command::new(SELF)
        .arg0(name)
        .args(rest)
        .env(ADDRESSES_VARIABLE, addresses)
        .exec();
    let message = format!(
        "cannot hide the password on the command line from other users: cannot run {SELF}: {error}"
    );
    Err(Failure::new(Exit::Usage, message).remedy(Some(ELSEWHERE)))
}

/// The password that the environment holds.
///
/// # Errors
/// When it is not Unicode.
pub(crate) fn password_of_environment() -> Result<Option<String>, Failure> {
    match std::env::var(PASSWORD_VARIABLE) {
        Ok(password) => Ok(Some(password)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            let message = format!("{PASSWORD_VARIABLE} is not valid UTF-8");
            Err(Failure::new(Exit::Usage, message))
        }
    }
}

/// The password that was typed with this address on the command line.
pub(crate) fn typed_password(url: &str) -> Option<String> {
    password_among(&std::env::var(ADDRESSES_VARIABLE).ok()?, url)
}

fn password_among(addresses: &str, url: &str) -> Option<String> {
    let wanted = Address::parse(url)?.clean;
    let mut addresses = addresses.split(' ').filter_map(Address::parse);
    addresses.find(|known| known.clean == wanted)?.password()
}

/// The addresses that have a password, in a line; `None` where none has.
fn handed_on(addresses: Vec<Address>) -> Result<Option<String>, Failure> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for address in addresses {
        let whole = address.whole.to_string();
        let before = known.insert(address.clean, whole.clone());
        if before.is_some_and(|before| before != whole) {
            let message = "an address is on the command line with different passwords";
            let remedy = "write it with its passwords into the study file, where each server keeps \
                          its own and whose copy in the result has none";
            return Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)));
        }
    }
    let with_passwords = known.into_iter().filter(|(clean, whole)| clean != whole);
    let addresses: Vec<String> = with_passwords.map(|(_, whole)| whole).collect();
    Ok((!addresses.is_empty()).then(|| addresses.join(" ")))
}

/// The argument without the passwords of the addresses in it, and these addresses.
///
/// # Errors
/// When an address may hold a password that is not where one belongs.
fn without_passwords(argument: &str) -> Result<(String, Vec<Address>), Failure> {
    let lower = argument.to_ascii_lowercase();
    // A URL without a server can hold no password.
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
    let mut addresses = Vec::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        // In a list each address ends with the quote before it; alone it takes the rest.
        let quote = argument[..start].chars().next_back();
        let quote = quote.filter(|character| matches!(character, '"' | '\''));
        let piece = &argument[start..end];
        let (url, after) = match quote.and_then(|quote| piece.find(quote)) {
            Some(at) => piece.split_at(at),
            None => (piece, ""),
        };
        let address = Address::parse(url);
        let rest = match &address {
            Some(address) if address.has_password() => &address.clean,
            _ => url,
        };
        // What a URL's reader leaves out would not be in the password.
        let is_changed = url.contains(['\t', '\n', '\r']);
        if may_hold_password(rest) || (is_changed && may_hold_password(url)) {
            return Err(unreadable_password());
        }
        clean.push_str(rest);
        clean.push_str(after);
        addresses.extend(address);
    }
    Ok((clean, addresses))
}

/// Whether there is something like `user:password@` in an address, wherever.
fn may_hold_password(url: &str) -> bool {
    let url = url.split_once(SOCKET).map_or(url, |(before, _)| before);
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let before_at = after_scheme.rsplit_once('@').map(|(before, _)| before);
    before_at.is_some_and(|before| before.contains(':'))
}

fn unreadable_password() -> Failure {
    let message = "cannot parse an address on the command line, so its password would remain visible to other users";
    let remedy = format!(
        "percent-encode special characters in the password (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25), or {ELSEWHERE}"
    );
    Failure::new(Exit::Usage, message).remedy(Some(&remedy))
}

/// The address of a server.
struct Address {
    whole: url::Url,
    /// Without the password.
    clean: String,
}

impl Address {
    fn parse(url: &str) -> Option<Self> {
        let whole = url::Url::parse(url).ok()?;
        let mut clean = whole.clone();
        // Of an address without a host, which can have none.
        let _ = clean.set_password(None);
        let clean = clean.into();
        Some(Self { whole, clean })
    }

    fn has_password(&self) -> bool {
        self.whole.password().is_some()
    }

    /// Decoded the way the URL's reader would.
    fn password(&self) -> Option<String> {
        let password = percent_decode_str(self.whole.password()?);
        Some(password.decode_utf8_lossy().into_owned())
    }
}

/// User and password of an option file (my.cnf's form: `[client]`, `user=`,
/// `password=`).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OptionFile {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl OptionFile {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::new(
                Exit::Usage,
                format!("{}: cannot read the option file: {why}", path.display()),
            )
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

/// A value without the quotes around it and with its escape sequences read, as the programs do
/// that such files are for.
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

/// The command line for the record, without what looks like a secret.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(&without_secrets(&word.to_string_lossy())));
    let words: Vec<String> = std::iter::once("dyno".to_owned()).chain(words).collect();
    words.join(" ")
}

/// A word of the command line; of `KEY=VALUE` with the key of a secret only the key.
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

/// A word as a shell takes it.
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
