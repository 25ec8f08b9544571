//! Runs the ssh client and explains its failures.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::{Fact, Failure};
use crate::process;

/// Number of lines of ssh's output that a message quotes.
const SHOWN_LINES: usize = 6;
/// Maximum number of bytes of a client's log that are read: the host decides what is in it.
const MAX_LOG_BYTES: u64 = 64 << 10;
/// How long a command may take, for example one that writes all data to a slow disk.
pub(crate) const COMMAND_LIMIT: Duration = Duration::from_secs(900);
/// Only keys, and only known hosts; a host that does not answer is given up after 15 s. The socket
/// of a broken connection does not prevent the next one from forwarding it.
const OPTIONS: [&str; 13] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "PasswordAuthentication=no",
    "KbdInteractiveAuthentication=no",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RequestTTY=no",
    "EscapeChar=none",
    "StreamLocalBindUnlink=yes",
];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Destination {
    /// A host, `user@host`, or an alias in ssh's configuration.
    pub host: String,
    /// ssh's configuration file; `None` for the user's.
    pub ssh_config: Option<PathBuf>,
}

impl Destination {
    /// The ssh client with additional options, up to the command for the host.
    pub(crate) fn ssh(&self, options: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = process::own_command(Path::new("ssh"));
        // dyno reads its messages.
        command.env("LC_ALL", "C");
        if let Some(config) = &self.ssh_config {
            command.arg("-F").arg(config);
        }
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.args(options).arg("--").arg(&self.host);
        command
    }

    /// The failure of a client with this output.
    pub(crate) fn error(&self, said: &str) -> Failure {
        let config = self.ssh_config.as_ref();
        let config = config.map(|file| format!("-F {} ", quoted(file)));
        let (config, host) = (config.unwrap_or_default(), &self.host);
        let must_work = format!("ssh {config}-o BatchMode=yes {host} true must work");
        let has = |words: &str| said.contains(words);
        let (why, remedy) = if has("HOST IDENTIFICATION HAS CHANGED") {
            (
                "its host key has changed".to_owned(),
                format!(
                    "another machine may answer in its place; if the host was installed anew, remove its old key with ssh-keygen -R, and connect once by hand: ssh {config}{host}"
                ),
            )
        } else if has("Host key verification failed") {
            (
                "its host key is not known".to_owned(),
                format!("connect once by hand and check the key: ssh {config}{host}"),
            )
        } else if has("Permission denied") {
            (
                format!("it accepts none of this user's keys: {}", shown(said)),
                format!(
                    "dyno logs in with keys only: install one with ssh-copy-id, or load it into ssh-agent; {must_work}"
                ),
            )
        } else if said.trim().is_empty() {
            (
                "the connection was lost".to_owned(),
                "check the network and the host".to_owned(),
            )
        } else {
            (format!("ssh failed: {}", shown(said)), must_work)
        };
        self.unusable(why, remedy)
    }

    pub(crate) fn unusable(&self, why: String, remedy: impl Into<String>) -> Failure {
        Failure::server(format!("host {} cannot be used: {why}", self.host))
            .remedy(remedy)
            .key("site.host")
    }
}

/// Starts a client that is asked and answers. Its messages go to the file `log`.
pub(crate) fn start(
    mut ssh: Command,
    log: &Path,
) -> Result<(Child, ChildStdin, BufReader<ChildStdout>), Failure> {
    let errors = File::create(log).map_err(Failure::at("write", log))?;
    ssh.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors);
    let mut child = process::spawn(ssh)?;
    match child.stdin.take().zip(child.stdout.take()) {
        Some((requests, answers)) => Ok((child, requests, BufReader::new(answers))),
        None => {
            process::kill(&mut child);
            Err(Failure::internal("ssh has no pipes"))
        }
    }
}

/// Ends a client that [`start`] has started; returns its messages.
pub(crate) fn give_up(child: &mut Child, log: &Path) -> String {
    process::kill(child);
    let mut said = Vec::new();
    if let Ok(log) = File::open(log) {
        // What cannot be read is not shown.
        let _ = log.take(MAX_LOG_BYTES).read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// Runs a client to its end, within a limit and until the user interrupts.
pub(crate) fn finish(
    to: &Destination,
    ssh: Command,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let ended = process::words(ssh, limit, interrupted);
    let (status, said) = ended.map_err(|error| match error.is(Fact::Endless) {
        true => to.error(&error.message),
        false => error,
    })?;
    match status.code() {
        Some(0) => Ok(()),
        // ssh's own code is 255.
        Some(..=254) => Err(to.unusable(
            format!("a command failed there: {}", shown(&said)),
            "free disk space there, or name another directory of the host: site.directory",
        )),
        _ => Err(to.error(&said)),
    }
}

/// The last lines of an output, for a message.
pub fn shown(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    match lines.len() {
        0 => "it said nothing".to_owned(),
        count => lines[count.saturating_sub(SHOWN_LINES)..].join("; "),
    }
}

/// Quotes a word for the shell.
pub(crate) fn quoted(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref().to_string_lossy();
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The command that runs a shell script with arguments, whatever the user's shell.
pub(crate) fn script(text: &str, arguments: &[impl AsRef<OsStr>]) -> String {
    let arguments: Vec<String> = arguments.iter().map(quoted).collect();
    format!("exec sh -c {} dyno {}", quoted(text), arguments.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_says_is_not_taken_for_what_ssh_says() {
        let to = Destination {
            host: "db1".to_owned(),
            ssh_config: None,
        };
        let failed = |code: u8| {
            let mut client = Command::new("sh");
            client.args(["-c", &format!("echo a: Permission denied; exit {code}")]);
            let failed = finish(&to, client, COMMAND_LIMIT, &process::NEVER);
            failed.unwrap_err().message
        };
        assert!(failed(1).contains("a command failed there: a: Permission"));
        assert!(failed(255).contains("none of this user's keys"));
    }

    #[test]
    fn commands_to_try_by_hand_use_the_configuration_of_the_study() {
        let to = Destination {
            host: "db1".to_owned(),
            ssh_config: Some("/my/ssh config".into()),
        };
        let changed = "REMOTE HOST IDENTIFICATION HAS CHANGED!";
        for said in [changed, "Host key verification failed"] {
            let remedy = to.error(said).remedy.unwrap();
            assert!(
                remedy.ends_with(": ssh -F '/my/ssh config' db1"),
                "{remedy}"
            );
        }
        for said in ["Permission denied", "timed out"] {
            let remedy = to.error(said).remedy.unwrap();
            let command = "ssh -F '/my/ssh config' -o BatchMode=yes db1 true must work";
            assert!(remedy.ends_with(command), "{remedy}");
        }
    }

    #[test]
    fn words_survive_the_shell() {
        let text = "printf '%s|' \"$@\"";
        let words = ["a b", "it's", "$HOME", "\\n", ""];
        let mut shell = Command::new("sh");
        let output = shell.arg("-c").arg(script(text, &words)).output();
        let said = String::from_utf8(output.unwrap().stdout).unwrap();
        assert_eq!(said, "a b|it's|$HOME|\\n||");
    }
}
