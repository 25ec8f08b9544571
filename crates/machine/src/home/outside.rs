//! What a run creates outside its directory: control groups, network namespaces, containers, tables of
//! the packet filter, and directories on other disks. Each is a step in the run's
//! [`journal`](super::journal); a directory contains dyno's marker, without which nothing in it is
//! removed.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::journal::{self, Kind, Step, Target, Undo};
use super::trust::{self, untrusted};
use super::{Home, containers, marker, mounted, root};
use crate::failure::{Fact, Failure};
use crate::ip;
use crate::process;
use crate::site::silence;
use crate::tree;

/// How long the kernel may take to notice that a group's last process has ended.
const EMPTY_LIMIT: Duration = Duration::from_secs(5);

/// Where `ip` keeps named network namespaces.
pub(crate) const NAMESPACES: &str = "/run/netns";

/// Something outside the run directory; removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Outside {
    step: Step,
    target: Target,
}

impl Outside {
    /// Creates a target in `parent` under a unique name.
    pub(crate) fn make(home: &Home, kind: Kind, parent: &Path) -> Result<Self, Failure> {
        let (number, name) = home.new_name();
        let mut target = Target {
            kind,
            path: parent.join(&name),
            mount_depth: None,
        };
        if kind == Kind::Directory {
            let parent = fs::canonicalize(parent).map_err(Failure::at("create", &target.path))?;
            target.path = parent.join(&name);
            target.mount_depth = mounted::depth(&mounted::all(), &target.path);
        }
        let step = home.record(number, Undo::Remove(target.clone()))?;
        let path = &target.path;
        let failed = Failure::at("create", path);
        let made = match kind {
            Kind::Group => fs::create_dir(path).map_err(failed),
            Kind::Namespace => ip::run("ip", &format!("netns add {name}")).map(drop),
            Kind::Container => Ok(()),
            Kind::Table => silence::add_table(&name),
            Kind::Directory => root::make_dir(path).map_err(failed),
        };
        if let Err(error) = made {
            // Nothing was created: whatever exists there is not dyno's.
            step.done();
            return Err(error);
        }
        let made = Self { step, target };
        if kind == Kind::Directory {
            marker::ensure(made.path())?;
        }
        Ok(made)
    }

    /// What a former process of this run created at a path; `None` if it created nothing there.
    pub(crate) fn of_former(home: &Home, path: &Path) -> Result<Option<Self>, Failure> {
        let steps = journal::remaining(home.run_dir())?;
        let made = steps.into_iter().find_map(|(number, undo)| match undo {
            Undo::Remove(target) if target.path == path => Some(Self {
                step: Step::of(&home.inner.journal, number),
                target,
            }),
            _ => None,
        });
        Ok(made)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.target.path
    }

    /// The last part of the target's path, which is unique.
    pub(crate) fn name(&self) -> String {
        last_part(self.path())
    }

    /// Removes the target, unless its disk is not mounted.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        self.step.undo(|| remove(&self.target))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // What remains is removed with the run directory, or by a later run.
        let _ = self.end();
    }
}

fn last_part(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The prefix of the names of everything that a run creates.
pub fn own_prefix(run: &Path) -> String {
    let run = run.file_name().unwrap_or_default().to_string_lossy();
    format!("dyno-{run}-")
}

/// Removes a target. Returns false if its disk is not mounted, so that it may still exist.
pub(super) fn remove(target: &Target) -> Result<bool, Failure> {
    let path = &target.path;
    let removed = match target.kind {
        Kind::Group => remove_group(path).map_err(Failure::at("remove", path)),
        Kind::Namespace => remove_namespace(path).map_err(Failure::at("remove", path)),
        Kind::Container => containers::remove(path),
        Kind::Table => silence::remove_table(&last_part(path)),
        Kind::Directory => remove_directory(path),
    };
    let is_gone = || fs::symlink_metadata(path).is_err();
    match removed {
        // The missing file may be one inside the target, which then remains.
        Err(error) if error.is(Fact::Io(io::ErrorKind::NotFound)) && is_gone() => {
            let is_mounted = |depth| mounted::is_at(mounted::all(), depth, path);
            Ok(target.mount_depth.is_none_or(is_mounted))
        }
        removed => removed.map(|()| true),
    }
}

/// Removes a directory that has dyno's marker, if nobody else can replace its parents.
fn remove_directory(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let real = fs::canonicalize(parent).map_err(Failure::at("open", parent))?;
    if real != parent {
        return Err(untrusted(
            parent,
            &format!("is now a symbolic link to {}", real.display()),
        ));
    }
    trust::check(parent)?;
    root::check_own_dir(path)?;
    // dyno was killed just after it created the directory.
    if marker::is_empty(path)? {
        return fs::remove_dir(path).map_err(Failure::at("remove", path));
    }
    match marker::is_marked(path)? {
        true => {
            mounted::end_below(path)?;
            tree::remove(path)
        }
        false => Err(marker::unmarked(path)),
    }
}

/// The kernel removes a namespace's interfaces once its last process has ended.
fn remove_namespace(path: &Path) -> io::Result<()> {
    match rustix::mount::unmount(path, UnmountFlags::DETACH) {
        // dyno was killed before it mounted the namespace.
        Ok(()) | Err(Errno::INVAL) => fs::remove_file(path),
        Err(error) => Err(error.into()),
    }
}

fn remove_group(path: &Path) -> io::Result<()> {
    let removed = process::poll(EMPTY_LIMIT, || match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => None,
        removed => Some(removed),
    });
    removed.unwrap_or_else(|| fs::remove_dir(path))
}

#[cfg(test)]
mod tests;
