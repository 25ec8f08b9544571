//! Passwords: where they come from, and where they must not stay.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use percent_encoding::percent_decode_str;

use crate::failure::{Exit, Failure};

/// The environment variable that holds the password.
pub(crate) const PASSWORD_VARIABLE: &str = "DYNO_PASSWORD";
/// How the addresses begin that can hold a password.
const SCHEME: &str = "mysql://";
/// Longest option file that is read.
const OPTION_FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Starts dyno anew when its command line holds a password, with the password in
/// the environment instead: other users can read a command line (`ps`), but not
/// an environment.
///
/// # Errors
/// When the addresses on the command line do not have all the same password: the
/// environment holds one, and no server is to be shown another one's.
pub(crate) fn leave_argv() -> Result<(), Failure> {
    let mut passwords = BTreeSet::new();
    let clean = |argument: OsString| match argument.to_str() {
        Some(text) => {
            let (clean, found) = without_passwords(text);
            passwords.extend(found);
            OsString::from(clean)
        }
        // No address is written like that.
        None => argument,
    };
    let arguments: Vec<OsString> = std::env::args_os().map(clean).collect();
    let Some(password) = one_password(passwords)? else {
        return Ok(());
    };
    if let [name, rest @ ..] = arguments.as_slice() {
        // It returns only if it fails; then the password stays where the user put it.
        let _ = Command::new("/proc/self/exe")
            .arg0(name)
            .args(rest)
            .env(PASSWORD_VARIABLE, password)
            .exec();
    }
    Ok(())
}

/// The password of all addresses; `None` where they have none.
fn one_password(of_addresses: BTreeSet<Option<String>>) -> Result<Option<String>, Failure> {
    if of_addresses.len() > 1 {
        let message = "the addresses on the command line do not have all the same password";
        let remedy = "write them with their passwords into the study file, where each server keeps \
                      its own and whose copy in the result has none";
        return Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)));
    }
    Ok(of_addresses.into_iter().next().flatten())
}

/// The argument without the passwords of the addresses in it, and the password of each.
fn without_passwords(argument: &str) -> (String, Vec<Option<String>>) {
    let lower = argument.to_ascii_lowercase();
    let starts: Vec<usize> = lower.match_indices(SCHEME).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([argument.len()]);
    let mut clean = argument[..starts.first().copied().unwrap_or(argument.len())].to_owned();
    let mut passwords = Vec::new();
    for (start, end) in starts.iter().copied().zip(ends) {
        // In a list each address ends with the quote before it; alone it takes the rest.
        let quote = argument[..start].chars().next_back();
        let quote = quote.filter(|character| matches!(character, '"' | '\''));
        let piece = &argument[start..end];
        let (url, after) = match quote.and_then(|quote| piece.find(quote)) {
            Some(at) => piece.split_at(at),
            None => (piece, ""),
        };
        let password = password_of(url);
        match &password {
            Some((without, _)) => clean.push_str(without),
            None => clean.push_str(url),
        }
        clean.push_str(after);
        passwords.push(password.map(|(_, password)| password));
    }
    (clean, passwords)
}

/// The address without its password, and that password.
fn password_of(url: &str) -> Option<(String, String)> {
    let mut parsed = url::Url::parse(url).ok()?;
    // Decoded the way the URL's reader would.
    let password = percent_decode_str(parsed.password()?)
        .decode_utf8_lossy()
        .into_owned();
    parsed.set_password(None).ok()?;
    Some((parsed.to_string(), password))
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
            if let Some(group) = line.strip_prefix('[') {
                in_client = matches!(group.trim_end_matches(']'), "client" | "dyno");
            } else if let (true, Some((key, value))) = (in_client, line.split_once('=')) {
                let value = value.trim();
                let bare = value.trim_matches(['"', '\'']).to_owned();
                match key.trim() {
                    "user" => file.user = Some(bare),
                    "password" => file.password = Some(bare),
                    _ => {}
                }
            }
        }
        file
    }
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
        study::redact(&pair) != pair
    };
    let mut equals = word.match_indices('=').map(|(at, _)| at);
    match equals.find(|at| names_secret(&word[..*at])) {
        Some(at) => study::redact(&format!("{}=1", &word[..at])),
        None => study::redact(word),
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
mod tests {
    use super::*;

    #[test]
    fn passwords_are_taken_out_of_addresses() {
        for (argument, clean, passwords) in [
            (
                "mysql://u:p%40+&=w@h:1/x",
                "mysql://u@h:1/x",
                &[Some("p@+&=w")][..],
            ),
            (
                "server.url=MySQL://u:p@h/x",
                "server.url=mysql://u@h/x",
                &[Some("p")],
            ),
            (
                "sweep.server.url=[\"mysql://u:p@h/x\", 'mysql://v:q@i/y', \"mysql://w@j/z\"]",
                "sweep.server.url=[\"mysql://u@h/x\", 'mysql://v@i/y', \"mysql://w@j/z\"]",
                &[Some("p"), Some("q"), None],
            ),
            ("mysql://u@h/x", "mysql://u@h/x", &[None]),
            ("--json", "--json", &[]),
        ] {
            let passwords = passwords.iter().map(|p| p.map(str::to_owned)).collect();
            assert_eq!(without_passwords(argument), (clean.to_owned(), passwords));
        }
    }

    #[test]
    fn addresses_of_different_passwords_are_refused() {
        let of = |passwords: &[Option<&str>]| {
            let passwords = passwords.iter().map(|p| p.map(str::to_owned));
            one_password(passwords.collect()).map_err(|failure| failure.message().to_owned())
        };
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[None, None]), Ok(None));
        assert_eq!(of(&[Some("p"), Some("p")]), Ok(Some("p".to_owned())));
        for different in [[Some("p"), Some("q")], [Some("p"), None]] {
            assert!(of(&different).unwrap_err().contains("same password"));
        }
    }

    #[test]
    fn the_record_holds_no_secret() {
        for (word, kept) in [
            (
                "server.config.report_password=a b'c",
                "server.config.report_password=***",
            ),
            (
                "--set=server.config.s3-secret-key=x y",
                "--set=server.config.s3-secret-key=***",
            ),
            ("mysql://u:p@h/x", "mysql://u:***@h/x"),
            ("load.time=5s", "load.time=5s"),
        ] {
            assert_eq!(without_secrets(word), kept);
        }
    }

    #[test]
    fn an_option_file_gives_user_and_password() {
        let text = "[mysqld]\nuser=mysql\n[client]\n# x\nuser = bench\npassword=\"s p\"\n[other]\npassword=no";
        let file = OptionFile::parse(text);
        assert_eq!(file.user.as_deref(), Some("bench"));
        assert_eq!(file.password.as_deref(), Some("s p"));
    }

    #[test]
    fn the_recorded_command_can_be_typed_again() {
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("--rows=5"), "--rows=5");
    }
}
