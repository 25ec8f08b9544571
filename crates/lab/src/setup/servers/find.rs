//! Finds server programs on this host, and the account that they run as.

use std::path::Path;
use std::time::Duration;

use engine::{Installed, Invocation, Server};
use machine::account::Account;
use machine::home::Home;

use crate::failure::{Fact, Failure};
use crate::process::{self, NEVER};

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// Characters of a program's output that a message quotes.
const PRINTED_CHARS: usize = 2000;

/// The account that servers run as, and dyno's cache with it.
pub fn account() -> Result<Account, Failure> {
    let users: Vec<&str> = engine::servers()
        .map(|server| server.traits().user)
        .collect();
    Account::for_servers(&users)
}

/// Opens the cache at `root`, with a size limit.
pub fn open_home(root: &Path, limit_bytes: u64) -> Result<Home, Failure> {
    Home::open_in(root, limit_bytes, account()?)
}

/// Like [`engine::find`], on this host.
pub fn find(
    engine: &'static dyn Server,
    basedir: Option<&Path>,
    version: Option<&str>,
) -> Result<Installed, Failure> {
    let account = account()?;
    engine::find(engine, basedir, version, |invocation| {
        printed(invocation, &account)
    })
}

/// Runs a program to its end; the inner `Err` says why it failed.
fn printed(invocation: &Invocation, account: &Account) -> Result<Result<String, String>, Failure> {
    let mut command = process::command(account, &[], &invocation.program);
    command.args(&invocation.arguments);
    let (status, text) = match process::words(command, VERSION_LIMIT, &NEVER) {
        Err(error) if error.is(Fact::Endless) => {
            let limit_s = VERSION_LIMIT.as_secs();
            return Ok(Err(format!("it did not end within {limit_s} s")));
        }
        ended => ended?,
    };
    let text: String = text.trim().chars().take(PRINTED_CHARS).collect();
    Ok(match status.success() {
        true => Ok(text),
        false => Err(format!("it {}: {text}", process::how_it_ended(status))),
    })
}

#[cfg(test)]
mod tests;
