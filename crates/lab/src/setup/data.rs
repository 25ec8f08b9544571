//! The data of a trial: its tables are loaded and read, and written to disk, so that the disk is idle
//! when a load starts.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use engine::data::{self, Listener, Mode, Prepared};
use rustix::fs::{Advice, FileType, fadvise, syncfs};
use rustix::io::Errno;

use crate::failure::{Exit, unless_canceled};
use crate::tree::OpenDir;
use crate::{Database, Failure, Progress, Rig, Run, Trial};

pub(crate) fn prepare_for(
    trial: &Trial,
    database: &Database,
    mode: Mode,
    run: &mut Run<'_>,
) -> Result<Prepared, Failure> {
    let mut tell = |news| run.observer.progress(Progress::Preparing(&news));
    let prepared = prepare(trial, database, mode, &mut tell, run.interrupted)?;
    run.observer.progress(Progress::Prepared(&prepared));
    Ok(prepared)
}

pub fn prepare(
    trial: &Trial,
    database: &Database,
    mode: Mode,
    tell: &mut dyn FnMut(data::Progress),
    interrupted: &AtomicBool,
) -> Result<Prepared, Failure> {
    let wanted = trial.wanted(mode);
    let listener = Listener { tell, interrupted };
    let prepared = data::prepare(&**database, &wanted, listener);
    prepared.map_err(|failure| match (failure.exit, database.file()) {
        (Exit::Server, Some(file)) => failure.context(file.display()),
        (Exit::Server, None) if wanted.script.is_some() && failure.remedy.is_none() => {
            failure.remedy("if the data exists, use --prepare never, or always to rebuild it")
        }
        _ => failure,
    })
}

/// Reads every table and index once, as a warm-up without transactions, if the study asks for it.
pub(crate) fn preload(trial: &Trial, rig: &Rig, run: &mut Run<'_>) -> Result<(), Failure> {
    if !trial.planned.load.preload || trial.workload.begins_empty() {
        return Ok(());
    }
    run.observer.stage("reading all tables once");
    let read = |database: &Database| database.read_tables(&trial.options, run.interrupted);
    let read = rig.databases().try_for_each(read);
    read.map_err(|error| {
        if run.is_interrupted() {
            let message = "interrupted while reading all tables";
            return Failure::interrupted(message);
        }
        // That the server has died explains more than a broken connection.
        rig.death(true).map_or(error, |(_, death)| death)
    })
}

/// Waits until everything on the directory's file system is on disk. With `cold`, then drops the
/// directory's files from the page cache. Has no effect on file systems in memory, such as tmpfs.
pub(crate) fn settle(path: &Path, cold: bool, interrupted: &AtomicBool) -> Result<(), Failure> {
    unless_canceled(interrupted)?;
    let dir = OpenDir::open(path)?;
    syncfs(&dir).map_err(Failure::at("write to disk", path))?;
    match cold {
        true => drop_pages(&dir),
        false => Ok(()),
    }
}

fn drop_pages(dir: &OpenDir) -> Result<(), Failure> {
    for entry in dir.entries()? {
        let name = &entry.name;
        match entry.kind() {
            FileType::Directory => drop_pages(&dir.open_dir(name)?)?,
            FileType::RegularFile => match fadvise(dir.open_file(name)?, 0, None, Advice::DontNeed)
            {
                // The file system has no page cache.
                Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP) => {}
                Err(error) => {
                    let path = dir.path().join(name);
                    return Err(Failure::at("drop from the page cache", &path)(error));
                }
            },
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
