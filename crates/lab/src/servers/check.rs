//! Asks a server's own program whether it would take some settings, without starting a server.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::error::LabError;
use crate::home::Home;
use crate::process;
use crate::servers::config::{Place, check_settings, my_cnf, plain_name};
use crate::servers::start::write_for_server;
use crate::servers::{DataDir, Engine, Installed, log};

/// How long the program may take to read its settings, which takes it some 50 ms.
const LIMIT: Duration = Duration::from_secs(20);
/// The most of a server's list of its variables that is read; today's have 200 kB.
const HELP_BYTES: usize = 4 << 20;
/// What both engines say of a name that they do not know.
const UNKNOWN: &str = "unknown ";

/// Makes sure that the program takes the settings.
///
/// Only a complaint about one of these settings counts. What else stops a server shows when it
/// is started; so does a value that is refused only then.
///
/// # Errors
/// The first setting that is refused, in the program's own words; the user's wish to stop; the
/// operating system's.
pub(crate) fn check(
    home: &Home,
    installed: &Installed,
    config: &[(String, String)],
    interrupted: &AtomicBool,
) -> Result<(), LabError> {
    check_settings(config)?;
    let asking = Asking {
        installed,
        data: DataDir::new(home, "check", None)?,
        interrupted,
    };
    asking.data.hand_over()?;
    let complaints = asking.run(config, validating(installed.engine))?.errors;
    let Some((name, words)) = log::rejected(&complaints, config) else {
        return Ok(());
    };
    let near = match words.contains(UNKNOWN) {
        true => asking.nearest(&name)?,
        false => None,
    };
    Err(LabError::RejectedSetting {
        server: installed.shown(),
        name,
        words,
        near,
    })
}

/// The options with which a program reads its settings and ends.
fn validating(engine: Engine) -> &'static [&'static str] {
    match engine {
        // It has no option for that, but does not print its help before it has read them.
        Engine::MariaDb => HELP,
        Engine::MySql => &["--validate-config"],
    }
}

const HELP: &[&str] = &["--verbose", "--help"];

struct Asking<'a> {
    installed: &'a Installed,
    data: DataDir,
    interrupted: &'a AtomicBool,
}

/// What a program said.
struct Said {
    words: String,
    errors: String,
}

impl Asking<'_> {
    fn run(&self, config: &[(String, String)], options: &[&str]) -> Result<Said, LabError> {
        let (own, data) = (self.data.own(), self.data.data());
        let (closed, init_file) = (self.data.closed(), self.data.init_file());
        let place = Place {
            number: 0,
            dir: &own,
            data: &data,
            closed: &closed,
            init_file: &init_file,
            // Not opened: any will do.
            port: 1,
            connections: 1,
        };
        let account = self.data.home().account();
        let text = my_cnf(self.installed, &place, config);
        write_for_server(&self.data.config(), &text, account)?;
        let mut command = process::command(account, &self.installed.program);
        command.arg(format!("--defaults-file={}", self.data.config().display()));
        let [words, errors] = ["words", "errors"].map(|name| self.data.dir().join(name));
        command
            .args(options)
            .stdout(writing(&words)?)
            .stderr(writing(&errors)?);
        process::run(command, LIMIT, self.interrupted)?;
        let mut help = fs::read(&words).map_err(LabError::at("read", &words))?;
        help.truncate(HELP_BYTES);
        Ok(Said {
            words: String::from_utf8_lossy(&help).into_owned(),
            errors: log::read_tail(&errors, 0),
        })
    }

    /// The variable of the server that a name most likely meant.
    fn nearest(&self, name: &str) -> Result<Option<String>, LabError> {
        let help = self.run(&[], HELP)?.words;
        let known: Vec<String> = variables(&help).map(plain_name).collect();
        let near = plan::nearest(&plain_name(name), known.iter().map(String::as_str));
        Ok(near.map(str::to_owned))
    }
}

fn writing(path: &Path) -> Result<Stdio, LabError> {
    let file = File::create(path).map_err(LabError::at("write", path))?;
    Ok(Stdio::from(file))
}

/// The names in the table of variables at the end of a server's help.
fn variables(help: &str) -> impl Iterator<Item = &str> {
    help.lines()
        .skip_while(|line| !line.starts_with("-----"))
        .skip(1)
        .map_while(|line| line.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_those_of_the_table() {
        let help = "Usage: mysqld [OPTIONS]\n  -a, --ansi  Use ANSI.\n\n\
                    Variables (--variable-name=value)\nand boolean options {FALSE|TRUE}  Value\n\
                    --------------------------- -----\nabort-slave-event-count     0\n\
                    back-log                    151\n\nTo see what values\n";
        let found: Vec<&str> = variables(help).collect();
        assert_eq!(found, ["abort-slave-event-count", "back-log"]);
    }
}
