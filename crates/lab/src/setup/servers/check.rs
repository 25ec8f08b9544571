//! Checks settings with a server's own program, without starting a server.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Installed, Invocation, LOOPBACK, Settings};

use crate::failure::{Exit, Fact, Failure};
use crate::home::Home;
use crate::process;
use crate::setup::servers::data_dir::DataDir;
use crate::setup::servers::files::write_for_server;
use crate::setup::servers::log;

/// How long the program may take to read its settings; it usually takes 50 ms.
const LIMIT: Duration = Duration::from_secs(20);

/// Checks that the program accepts the settings.
///
/// Only complaints about these settings count. Anything else that keeps a server from starting,
/// such as a value that it rejects only then, is reported when it starts.
pub(crate) fn check(
    home: &Home,
    installed: &Installed,
    config: &Settings,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let (engine, account) = (installed.engine, home.account());
    engine.check_settings(config)?;
    let data = DataDir::new(home, "check", &plan::Node::default(), interrupted)?;
    make_validation_files(&data, installed, home)?;
    data.hand_over()?;
    // The port is not opened.
    let paths = data.paths(engine, 0, LOOPBACK, 1, 1);
    let printed = |config: &Settings, invocation: Invocation| {
        let text = engine.configuration(installed, &paths, config);
        write_for_server(&paths.config(), &text, account)?;
        let mut command = process::command(account, &[], &invocation.program);
        command.args(&invocation.arguments);
        let output = process::output(command, LIMIT, interrupted)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    };
    let complaints = match printed(config, engine.validation(installed, &paths)) {
        Err(error) if Failure::is(&error, Fact::Endless) => return Ok(()),
        printed => printed?.1,
    };
    let Some(rejected) = engine.traits().wording.rejected(&complaints, config) else {
        return Ok(());
    };
    let mut near = None;
    if rejected.is_unknown {
        let (listing, _) = printed(&[], engine.listing(installed, &paths))?;
        let known = (engine.traits().listed)(&listing);
        let name = engine.plain_name(&rejected.name);
        near = plan::nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
    }
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
