//! Servers on another machine.

use std::sync::atomic::AtomicBool;

use engine::{Installed, Paths};
use machine::site::{Machine, Site, shown};

use super::DataDir;
use crate::failure::Failure;

/// Checks that the machine has a server program of the same version as this host's.
pub fn check_program(machine: &Machine, installed: &Installed) -> Result<(), Failure> {
    let (engine, program) = (installed.engine, installed.program.display());
    let remedy = match machine.is_guest() {
        true => "build the guest again: scripts/build-guest.sh".to_owned(),
        false => format!("install {} there as on this host", installed.shown()),
    };
    let arguments = engine.traits().version_arguments.iter().map(Into::into);
    let words: Vec<_> = [installed.program.clone().into_os_string()]
        .into_iter()
        .chain(arguments)
        .collect();
    let said = machine.printed(&words)?;
    let missing = |why: String| machine.unusable(why, &remedy);
    match engine.build(&said) {
        Ok(Some(build)) if build == installed.build => Ok(()),
        Ok(Some(build)) => Err(missing(format!(
            "its {program} is version {build}, but the data was prepared by {}",
            installed.build
        ))),
        _ => Err(missing(format!(
            "its {program} does not run: {}",
            shown(&said)
        ))),
    }
}

/// Moves a node's data to the machine before its server starts.
pub fn place(machine: &Machine, data: &DataDir, interrupted: &AtomicBool) -> Result<(), Failure> {
    machine.place(data.dir(), interrupted)?;
    data.empty()
}

/// The paths on the site of a node whose paths on this host are `here`.
pub(super) fn paths(site: &dyn Site, here: &Paths) -> Paths {
    let Some(machine) = site.machine() else {
        return here.clone();
    };
    let own = site.path(&here.own);
    let socket = here.socket.file_name().unwrap_or_default();
    Paths {
        dir: site.path(&here.dir),
        data: site.path(&here.data),
        closed: site.path(&here.closed),
        socket: own.join(socket),
        user: Some(machine.user().to_owned()),
        own,
        ..here.clone()
    }
}
