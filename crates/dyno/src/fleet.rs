//! `dyno agent`, and the agents that a study's load comes from.

use std::path::PathBuf;
use std::sync::Arc;

use fleet::{Access, Identity, PublicKey, SigningKey};
use lab::{AgentRunner, Fleet, Trial};
use plan::{Nats, ServerUrl};

use crate::cli::AgentArgs;
use crate::console::eprint;
use crate::failure::Failure;
use crate::signals;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The coordinator's key, in dyno's own directory.
const KEY_FILE: &str = "fleet.key";

/// Serves as a load machine until it is interrupted.
pub(crate) fn agent(args: &AgentArgs) -> Result<(), Failure> {
    let interrupted = signals::interruption()?;
    let identity = Identity::of_this_process(&args.label, VERSION)?;
    let trusted = PublicKey::parse(&args.trust)?;
    let access = Access::new(ServerUrl::from(args.nats.clone()));
    let tell = |line: &str| eprint(line);
    let runner = Arc::new(AgentRunner);
    eprint(&format!("agent {}: {}", identity.label, identity.build));
    fleet::agent::serve(&access, &identity, &trusted, runner, &interrupted, &tell)
}

/// Prints this machine's public key, which agents are to trust.
pub(crate) fn agents() -> Result<(), Failure> {
    crate::console::print(&key()?.public().to_string())
}

/// Connects the trials of a study with the agents that they need, and checks that these are there.
pub(crate) fn connect(trials: &mut [Trial]) -> Result<(), Failure> {
    let mut first = trials
        .iter()
        .filter_map(|trial| trial.planned.load.fleet.as_ref());
    let Some(wanted) = first.next() else {
        return Ok(());
    };
    let Nats::Url(url) = &wanted.nats else {
        return Err(Failure::internal("no private nats-server yet"));
    };
    let access = Access::new(url.value.clone());
    let fleet = Fleet::connect(&access, key()?, VERSION)?;
    for trial in trials {
        fleet.check(trial)?;
        trial.fleet = Some(Arc::clone(&fleet));
    }
    Ok(())
}

fn key() -> Result<SigningKey, Failure> {
    let file: PathBuf = machine::home::place()?.join(KEY_FILE);
    match std::fs::read_to_string(&file) {
        Ok(text) => SigningKey::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let (key, text) = SigningKey::generate()?;
            write_secret(&file, &text).map_err(Failure::at("write", &file))?;
            Ok(key)
        }
        Err(error) => Err(Failure::at("read", &file)(error)),
    }
}

fn write_secret(file: &std::path::Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    opened?.write_all(text.as_bytes())
}
