//! Runs a program of the study, which breaks what dyno did not start.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::{Fault, Scene};
use crate::cluster::Member;
use crate::failure::Failure;
use crate::instance::Instance;
use crate::process;

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How much of its output an error quotes.
const QUOTED_BYTES: u64 = 1000;
/// Variables of dyno's own, some of which hold passwords.
const OWN_VARIABLES: &str = "DYNO_";

pub(super) struct RunCommand {
    command: Vec<String>,
    heal_command: Vec<String>,
    /// The file for the output of both.
    output: PathBuf,
}

impl RunCommand {
    pub(super) fn new(fault: &plan::Fault, output: PathBuf) -> Self {
        Self {
            command: fault.command.clone(),
            heal_command: fault.heal_command.clone(),
            output,
        }
    }

    /// Runs a program without a shell; returns when it ended.
    fn run(
        &self,
        command: &[String],
        scene: &Scene<'_>,
        over: &AtomicBool,
    ) -> Result<Instant, Failure> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(Failure::server("no program is named"));
        };
        let mut prepared = process::own_command(Path::new(program));
        prepared.args(arguments);
        without_secrets(&mut prepared);
        prepared.envs(about(scene));
        let write = Failure::at("write", &self.output);
        let mut options = File::options();
        let log = options.append(true).create(true).open(&self.output);
        let log = log.map_err(write)?;
        prepared.stdout(log.try_clone().map_err(write)?).stderr(log);
        let how = match process::run(prepared, LIMIT, over)? {
            Some(status) if status.success() => return Ok(Instant::now()),
            Some(status) => process::how_it_ended(status),
            None => format!("did not end within {} s", LIMIT.as_secs()),
        };
        let quoted = self.quoted();
        let message = format!("{program} {how}; its output ends:\n{quoted}");
        Err(Failure::server(message))
    }

    /// The end of the output.
    fn quoted(&self) -> String {
        use std::io::{Seek, SeekFrom};
        let read = || {
            let mut file = File::open(&self.output)?;
            let length = fs::metadata(&self.output)?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(QUOTED_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(QUOTED_BYTES).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        let bytes = read().unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

impl Fault for RunCommand {
    fn check(&self, _: &Instance) -> Result<(), Failure> {
        Ok(())
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        self.run(&self.command, scene, scene.over)
    }

    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let command = std::mem::take(&mut self.heal_command);
        // What was broken must not stay so because the load ends meanwhile.
        self.run(&command, scene, &AtomicBool::new(false))
    }

    /// What was broken is healed, even if the load ended before.
    fn end(&mut self, scene: &Scene<'_>) {
        if !self.heal_command.is_empty() {
            // The trial is over, and its output says why.
            let _ = self.heal(scene);
        }
    }
}

/// What a program is told of its target; of a server that runs already, dyno knows nothing.
fn about(scene: &Scene<'_>) -> Vec<(&'static str, String)> {
    let Some(node) = scene.member().ok().and_then(Member::try_lock) else {
        return Vec::new();
    };
    let address = node.address();
    let role = match scene.was_primary {
        true => "primary",
        false => "replica",
    };
    let process = node.pid().map(|pid| ("TARGET_PID", pid.to_string()));
    let known = [
        ("TARGET_HOST", address.ip().to_string()),
        ("TARGET_PORT", address.port().to_string()),
        ("TARGET_ROLE", role.to_owned()),
    ];
    known.into_iter().chain(process).collect()
}

fn without_secrets(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(OWN_VARIABLES) {
            command.env_remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_broke_is_healed_once_even_if_the_load_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let healed = dir.path().join("healed");
        let text = format!("sleep 0.1; echo once >> {}", healed.display());
        let mut fault = RunCommand {
            command: Vec::new(),
            heal_command: ["sh", "-c", &text].map(str::to_owned).into(),
            output: dir.path().join("output"),
        };
        let database = crate::testing::database(dir.path());
        let scene = Scene {
            instance: &Instance::of(database),
            index: None,
            was_primary: false,
            over: &AtomicBool::new(true),
        };
        fault.heal(&scene).unwrap();
        fault.end(&scene);
        assert_eq!(fs::read_to_string(healed).unwrap(), "once\n");
    }
}
