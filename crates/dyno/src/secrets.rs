//! Passwords: where they come from, and where they must not stay.

use std::os::unix::process::CommandExt;
use std::path::Path;

use percent_encoding::percent_decode_str;

use crate::failure::{Exit, Failure};

/// The environment variable that holds the password.
pub(crate) const PASSWORD_VARIABLE: &str = "DYNO_PASSWORD";
/// Longest option file that is read.
const OPTION_FILE_LIMIT_BYTES: u64 = 1 << 20;

/// Starts dyno anew when its command line holds a password, with the password in
/// the environment instead: other users can read a command line (`ps`), but not
/// an environment.
pub(crate) fn leave_argv() {
    let mut password = None;
    let arguments: Vec<String> = std::env::args()
        .map(|argument| match without_password(&argument) {
            Some((clean, found)) => {
                password = Some(found);
                clean
            }
            None => argument,
        })
        .collect();
    let (Some(password), [name, rest @ ..]) = (password, arguments.as_slice()) else {
        return;
    };
    // It returns only if it fails; then the password stays where the user put it.
    let _ = std::process::Command::new("/proc/self/exe")
        .arg0(name)
        .args(rest)
        .env(PASSWORD_VARIABLE, password)
        .exec();
}

/// The argument without the password of the URL in it, and that password.
fn without_password(argument: &str) -> Option<(String, String)> {
    let at = argument.find("mysql://")?;
    let (before, url) = argument.split_at(at);
    let mut parsed = url::Url::parse(url).ok()?;
    // Decoded the way the URL's reader would.
    let password = percent_decode_str(parsed.password()?)
        .decode_utf8_lossy()
        .into_owned();
    parsed.set_password(None).ok()?;
    Some((format!("{before}{parsed}"), password))
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

/// The command line for the record; [`leave_argv`] has taken passwords out of it.
pub(crate) fn command_line() -> String {
    let words: Vec<String> = std::env::args()
        .enumerate()
        .map(|(place, word)| {
            if place == 0 {
                "dyno".to_owned()
            } else {
                quoted(&word)
            }
        })
        .collect();
    words.join(" ")
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
    fn a_password_is_taken_out_of_a_url() {
        let (clean, password) = without_password("mysql://u:p%40+&=w@h:1/x").unwrap();
        assert_eq!(clean, "mysql://u@h:1/x");
        assert_eq!(password, "p@+&=w");
        let (clean, _) = without_password("server.url=mysql://u:p@h/x").unwrap();
        assert_eq!(clean, "server.url=mysql://u@h/x");
        assert_eq!(without_password("mysql://u@h/x"), None);
        assert_eq!(without_password("--json"), None);
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
