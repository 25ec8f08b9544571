//! Finds server programs on this host.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Installed, Invocation, Server};

use crate::account::Account;
use crate::failure::Failure;
use crate::process;

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// Bytes that are read of a program's output.
const PRINTED_BYTES: u64 = 2000;

/// Like [`engine::find`], on this host.
pub fn find(
    engine: &'static dyn Server,
    basedir: Option<&Path>,
    version: Option<&str>,
) -> Result<Installed, Failure> {
    let account = Account::for_servers()?;
    engine::find(engine, basedir, version, |invocation| {
        printed(invocation, &account)
    })
}

/// Runs a program to its end; the inner `Err` says why it failed.
fn printed(invocation: &Invocation, account: &Account) -> Result<Result<String, String>, Failure> {
    let mut command = process::command(account, &[], &invocation.program);
    command.args(&invocation.arguments);
    let failed = Failure::at("run", &invocation.program);
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let errors = writer.try_clone().map_err(failed)?;
    command
        .stdout(Stdio::from(writer))
        .stderr(Stdio::from(errors));
    let output = std::thread::spawn(move || {
        let mut text = Vec::new();
        let limited = &mut std::io::Read::take(reader, PRINTED_BYTES);
        let _ = std::io::Read::read_to_end(limited, &mut text);
        text
    });
    let never = AtomicBool::new(false);
    let status = process::run(command, VERSION_LIMIT, &never)?;
    let text = output.join().unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    Ok(match status {
        Some(status) if status.success() => Ok(text),
        Some(status) => Err(format!("it {}: {text}", process::how_it_ended(status))),
        None => Err(format!(
            "it did not end within {} s",
            VERSION_LIMIT.as_secs()
        )),
    })
}

#[cfg(test)]
mod tests;
