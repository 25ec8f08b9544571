//! Checks settings with a server's own program, without starting a server.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Installed, Invocation, LOOPBACK, Paths};

use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::process;
use crate::servers::{DataDir, log, write_for_server};

/// How long the program may take to read its settings; it usually takes 50 ms.
const LIMIT: Duration = Duration::from_secs(20);
/// Maximum size of a server's list of variables; current servers print 200 kB.
const LISTING_BYTES: usize = 4 << 20;

/// Checks that the program accepts the settings.
///
/// Only complaints about these settings count. Anything else that keeps a server from starting,
/// such as a value that it rejects only then, is reported when it starts.
pub(crate) fn check(
    home: &Home,
    installed: &Installed,
    config: &[(String, String)],
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let engine = installed.engine;
    engine.check_settings(config)?;
    let data = DataDir::new(home, "check", &plan::Node::default(), interrupted)?;
    make_validation_files(&data, installed, home)?;
    data.hand_over()?;
    let validator = Validator {
        installed,
        // The port is not opened.
        paths: data.paths(engine, 0, LOOPBACK, 1, 1),
        data,
        interrupted,
    };
    let validation = engine.validation(installed, &validator.paths);
    let complaints = validator.run(config, &validation)?.stderr;
    let Some(rejected) = (engine.traits().rejected)(&complaints, config) else {
        return Ok(());
    };
    let near = match rejected.is_unknown {
        true => validator.nearest(&rejected.name)?,
        false => None,
    };
    // No server has been started.
    Err(Failure {
        exit: Exit::Usage,
        ..log::rejected(&installed.shown(), &rejected, near.as_deref())
    })
}

fn make_validation_files(
    data: &DataDir,
    installed: &Installed,
    home: &Home,
) -> Result<(), Failure> {
    let files = installed.engine.validation_files(&installed.version);
    if !files.is_empty() {
        data.make_own("data")?;
    }
    for (name, text) in files {
        if let Some((directory, _)) = name.split_once('/') {
            data.make_own(&format!("data/{directory}"))?;
        }
        write_for_server(&data.data().join(name), &text, home.account())?;
    }
    Ok(())
}

struct Validator<'a> {
    installed: &'a Installed,
    paths: Paths,
    data: DataDir,
    interrupted: &'a AtomicBool,
}

struct Output {
    stdout: String,
    stderr: String,
}

impl Validator<'_> {
    fn run(&self, config: &[(String, String)], invocation: &Invocation) -> Result<Output, Failure> {
        let account = self.data.home().account();
        let engine = self.installed.engine;
        let text = engine.configuration(self.installed, &self.paths, config);
        write_for_server(&self.paths.config(), &text, account)?;
        let mut command = process::command(account, &[], &invocation.program);
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.data.dir().join(name));
        command
            .args(&invocation.arguments)
            .stdout(writing(&stdout)?)
            .stderr(writing(&stderr)?);
        process::run(command, LIMIT, self.interrupted)?;
        let mut listing = fs::read(&stdout).map_err(Failure::at("read", &stdout))?;
        listing.truncate(LISTING_BYTES);
        Ok(Output {
            stdout: String::from_utf8_lossy(&listing).into_owned(),
            stderr: log::read_tail(&stderr, 0),
        })
    }

    /// The server variable whose name is closest to `name`.
    fn nearest(&self, name: &str) -> Result<Option<String>, Failure> {
        let engine = self.installed.engine;
        let listing = engine.listing(self.installed, &self.paths);
        let known = (engine.traits().listed)(&self.run(&[], &listing)?.stdout);
        let near = plan::nearest(&engine.plain_name(name), known.iter().map(String::as_str));
        Ok(near.map(str::to_owned))
    }
}

fn writing(path: &Path) -> Result<Stdio, Failure> {
    let file = File::create(path).map_err(Failure::at("write", path))?;
    Ok(Stdio::from(file))
}
