//! The control groups of a site (version 1 or 2): its limits, and what its processes use.
//!
//! In version 1, each controller may be in a hierarchy of its own, so that a site has several
//! groups. A process enters them before it executes the program, so that all its children are in
//! them.

mod limit;
mod parent;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use host::Files;
use host::group::Usage;
use plan::{DiskLimits, Limits};

use crate::failure::Failure;
use crate::home::Home;
use crate::home::journal::Kind;
use crate::home::outside::Outside;
use parent::Parent;

/// Enters the groups whose files are given before `--`, then executes the program after it. Writing
/// 0 moves the writing process.
const ENTER: &str =
    r#"while [ "$1" != -- ]; do echo 0 > "$1" || exit 1; shift; done; shift; exec "$@""#;

/// A kernel controller, which limits or counts one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Cpu,
    /// Counts CPU time, which every group does in version 2.
    CpuAccount,
    CpuSet,
    Memory,
    Io,
}

impl Controller {
    const ALL: [Self; 5] = [
        Self::Cpu,
        Self::CpuAccount,
        Self::CpuSet,
        Self::Memory,
        Self::Io,
    ];

    fn name(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::Cpu, _) => "cpu",
            (Self::CpuAccount, _) => "cpuacct",
            (Self::CpuSet, _) => "cpuset",
            (Self::Memory, _) => "memory",
            (Self::Io, Version::One) => "blkio",
            (Self::Io, Version::Two) => "io",
        }
    }

    /// The key of a study that uses the controller.
    fn key(self) -> &'static str {
        match self {
            Self::Cpu | Self::CpuAccount => "site.cpus",
            Self::CpuSet => "site.cpuset",
            Self::Memory => "site.memory",
            Self::Io => "the limits of a volume's devices",
        }
    }

    /// The failure of a host that cannot, or a user that may not, limit what a server uses.
    fn unlimited(self, why: impl Display, remedy: impl Into<String>) -> Failure {
        let key = self.key();
        Failure::usage(format!("cannot enforce {key}: {why}"))
            .remedy(remedy)
            .key(key)
    }

    /// Whether the controller's counters are of interest without a limit.
    fn counts(self) -> bool {
        matches!(self, Self::CpuAccount | Self::Memory | Self::Io)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The control groups of a site, removed once their processes have ended and this value is dropped.
#[derive(Debug)]
pub(crate) struct Groups {
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    parent: Parent,
    place: Outside,
}

impl Groups {
    /// Creates groups with these limits and without processes. With `limits_io`, also a controller
    /// for [`Groups::limit_io`].
    pub(crate) fn new(
        files: &dyn Files,
        home: &Home,
        limits: &Limits,
        limits_io: bool,
    ) -> Result<Self, Failure> {
        limit::check(files, limits)?;
        let mut required = limit::controllers(limits);
        required.extend(limits_io.then_some(Controller::Io));
        let mut groups = Self { groups: Vec::new() };
        for parent in parent::find(files, &host::cgroup::groups(files), &required)? {
            match Outside::make(home, Kind::Group, &parent.dir) {
                Ok(place) => groups.groups.push(Group { parent, place }),
                Err(error) => {
                    let mut needed = parent.controllers.iter();
                    if let Some(needed) = needed.find(|one| required.contains(one)) {
                        return Err(parent.refused(*needed, &error.to_string()));
                    }
                }
            }
        }
        for group in &groups.groups {
            for controller in &group.parent.controllers {
                let files = limit::files(files, &group.parent, *controller, limits);
                group.write(*controller, files)?;
            }
        }
        Ok(groups)
    }

    /// Limits what the groups' processes read and write on these devices, given by their numbers.
    /// An absent limit removes an earlier one.
    pub(crate) fn limit_io(
        &self,
        files: &dyn Files,
        devices: &[(u32, u32)],
        limits: &DiskLimits,
    ) -> Result<(), Failure> {
        let mut groups = self.groups.iter();
        let group = groups.find(|group| group.parent.controllers.contains(&Controller::Io));
        let group = group.ok_or_else(|| {
            let why = "the server's control groups were created without a controller for I/O";
            Controller::Io.unlimited(why, parent::in_a_scope())
        })?;
        for device in devices {
            let device = limit::whole_disk(files, *device);
            let files = limit::io_files(group.parent.version, device, limits);
            group.write(Controller::Io, files)?;
        }
        Ok(())
    }

    pub(crate) fn dirs(&self) -> Vec<PathBuf> {
        let dirs = self.groups.iter().map(|group| group.place.path());
        dirs.map(Path::to_owned).collect()
    }

    /// The entry with which a process enters the groups and executes the program that follows.
    pub(crate) fn entry(&self) -> Vec<OsString> {
        entry(&self.dirs())
    }

    pub(crate) fn usage(&self, files: &dyn Files) -> Usage {
        host::group::read(files, &self.dirs())
    }

    /// Removes the groups once their processes have ended.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        let ended = self.groups.iter().map(|group| group.place.end());
        ended.fold(Ok(()), Result::and)
    }
}

impl Group {
    /// Writes files of a controller; optional ones only if the kernel has them.
    fn write(&self, controller: Controller, files: Vec<limit::File>) -> Result<(), Failure> {
        for (name, text) in files {
            let path = self.place.path().join(name);
            if limit::OPTIONAL.contains(&name) && !path.exists() {
                continue;
            }
            let written = write(&path, &text);
            written.map_err(|error| self.parent.refused(controller, &error.to_string()))?;
        }
        Ok(())
    }
}

/// The entry with which a process enters the groups in `dirs` and executes the program that
/// follows.
pub(super) fn entry(dirs: &[PathBuf]) -> Vec<OsString> {
    if dirs.is_empty() {
        return Vec::new();
    }
    let script = ["/bin/sh", "-c", ENTER, "enter"].map(OsString::from);
    let files = dirs.iter().map(|dir| dir.join("cgroup.procs").into());
    let mut words: Vec<OsString> = script.into_iter().chain(files).collect();
    words.push("--".into());
    words
}

/// Writes to a kernel file in one system call.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::OpenOptions::new().write(true).open(path);
    written
        .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
        .map_err(Failure::at("write", path))
}

#[cfg(test)]
mod tests;
