//! The directory on a machine, and its record on this host: a killed dyno's is found and removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::agent::Agent;
use super::ssh::{self, Destination, quoted, script};
use crate::error::LabError;
use crate::home::Home;
use crate::home::marker::MARKER;
use crate::home::outside::own_prefix;

/// The prefix of the names of records.
const PREFIX: &str = "machine";
const REMOVE: &str = concat!(include_str!("end.sh"), "\n", include_str!("remove.sh"));

/// A directory on a machine.
#[derive(Debug)]
pub(super) struct Record {
    to: Destination,
    dir: PathBuf,
    /// Exists from before the directory is created until after it has been removed; `None` on a
    /// guest, which ends with its files.
    file: Option<PathBuf>,
}

impl Record {
    /// Creates a directory below `below`, recorded first unless the machine is a guest.
    pub(super) fn make(
        home: &Home,
        to: &Destination,
        below: &Path,
        agent: &Agent,
        is_guest: bool,
    ) -> Result<Self, LabError> {
        let file = home.new_path(PREFIX);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_prefix(PREFIX).unwrap_or_default();
        let record = Self {
            to: to.clone(),
            dir: below.join(format!("{}{number}", own_prefix(home.run_dir()))),
            file: (!is_guest).then_some(file),
        };
        record.write()?;
        let (dir, marker) = (quoted(&record.dir), quoted(record.dir.join(MARKER)));
        let text = "dyno made this directory, and deletes it when it ends.";
        let made = agent.run(&format!("mkdir -m 755 {dir} && echo '{text}' >{marker}"));
        match made {
            Ok(made) if made.code == 0 => Ok(record),
            Ok(made) => {
                // Nothing was created: whatever exists there is not dyno's.
                record.forget()?;
                let why = format!(
                    "a directory cannot be created there: {}",
                    ssh::shown(&made.text)
                );
                Err(to.unusable(why, "name another directory of the host: site.directory"))
            }
            Err(_) => Err(to.error("")),
        }
    }

    fn write(&self) -> Result<(), LabError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let config = self.to.ssh_config.as_deref().unwrap_or(Path::new(""));
        let (config, dir) = (config.display(), self.dir.display());
        let text = format!("{}\n{config}\n{dir}\n", self.to.host);
        fs::write(file, text).map_err(LabError::at("write", file))
    }

    fn forget(&self) -> Result<(), LabError> {
        let remove = |file: &PathBuf| fs::remove_file(file).map_err(LabError::at("remove", file));
        self.file.as_ref().map_or(Ok(()), remove)
    }

    pub(super) fn to(&self) -> &Destination {
        &self.to
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Removes the directory by having a command run there, then the record.
    pub(super) fn end(
        &self,
        run: impl FnOnce(String) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        if !self.file.as_ref().is_some_and(|file| file.exists()) {
            return Ok(());
        }
        run(script(REMOVE, &[self.dir.as_os_str(), MARKER.as_ref()]))?;
        self.forget()
    }

    /// One that an earlier run left; `None` if it is not one of that run's.
    fn read(file: PathBuf, run: &Path) -> Option<Self> {
        let name = file.file_name()?.to_str()?;
        let number: u32 = name.strip_prefix(PREFIX)?.parse().ok()?;
        let text = fs::read_to_string(&file).ok()?;
        let mut lines = text.lines();
        let (host, config, dir) = (lines.next()?, lines.next()?, Path::new(lines.next()?));
        let is_own = dir.file_name()? == format!("{}{number}", own_prefix(run)).as_str();
        (is_own && dir.is_absolute()).then(|| Self {
            to: Destination {
                host: host.to_owned(),
                ssh_config: (!config.is_empty()).then(|| config.into()),
            },
            dir: dir.to_owned(),
            file: Some(file.clone()),
        })
    }
}

/// Removes all directories on machines that a dead run with this directory recorded.
///
/// # Errors
/// The first one that could not be removed; the rest was.
pub(crate) fn remove_all(run: &Path) -> Result<(), LabError> {
    let entries = fs::read_dir(run).map_err(LabError::at("read", run))?;
    let records = entries
        .flatten()
        .filter_map(|entry| Record::read(entry.path(), run));
    let removed = records.map(|record| {
        record.end(|command| {
            let mut ssh = record.to.ssh(["-o", "ControlPath=none"]);
            ssh.arg(command).stdin(Stdio::null());
            ssh::finish(&record.to, ssh).map(drop)
        })
    });
    removed.fold(Ok(()), Result::and)
}
