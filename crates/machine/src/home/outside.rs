//! What a run creates outside its directory: control groups, network namespaces, containers, and
//! directories on other disks.
//!
//! ```text
//! CACHE/run/5e1c…/elsewhere7@2 -> /mnt/nvme/dyno-5e1c…-7
//! CACHE/run/5e1c…/group8 -> /sys/fs/cgroup/cpu/dyno-5e1c…-8
//! ```
//!
//! The link exists before its target and is removed after it: whenever dyno is killed, cleaning up
//! its run directory finds everything. A directory contains dyno's marker, without which nothing in
//! it is removed. The name of its link ends with the depth of the disk's mount point, here
//! `/mnt/nvme`: while nothing is mounted there, it is unknown whether the directory still exists,
//! and the link stays. A directory in memory disappears with its mount, so its link has no depth.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::trust::{self, untrusted};
use super::{Home, containers, marker, mounted, root};
use crate::failure::{Fact, Failure};
use crate::ip;
use crate::process::POLL_INTERVAL;
use crate::tree;

/// Precedes the depth of the mount point in a link's name.
const MOUNTED_AT: char = '@';
/// How long the kernel may take to notice that a group's last process has ended.
const EMPTY_LIMIT: Duration = Duration::from_secs(5);

/// Where `ip` keeps named network namespaces.
pub(crate) const NAMESPACES: &str = "/run/netns";

/// The kind of a target, which decides how it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A control group, empty when it is removed.
    Group,
    /// A named network namespace.
    Namespace,
    /// A container that podman or docker creates.
    Container,
    /// A directory with its contents.
    Directory,
}

impl Kind {
    const ALL: [Self; 4] = [
        Self::Group,
        Self::Namespace,
        Self::Container,
        Self::Directory,
    ];

    /// The prefix of the links' names.
    fn prefix(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Namespace => "namespace",
            Self::Container => "container",
            Self::Directory => "elsewhere",
        }
    }
}

/// Something outside the run directory; removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Outside {
    kind: Kind,
    link: PathBuf,
    path: PathBuf,
}

impl Outside {
    /// Creates a target in `parent` under a unique name.
    pub(crate) fn make(home: &Home, kind: Kind, parent: &Path) -> Result<Self, Failure> {
        let mut link = home.new_path(kind.prefix());
        let number = number(&link, kind).unwrap_or_default();
        let name = format!("{}{number}", own_prefix(home.run_dir()));
        let mut path = parent.join(&name);
        if kind == Kind::Directory {
            let parent = fs::canonicalize(parent).map_err(Failure::at("create", &path))?;
            path = parent.join(&name);
            if let Some(depth) = mounted::depth(&path) {
                link.as_mut_os_string().push(format!("{MOUNTED_AT}{depth}"));
            }
        }
        symlink(&path, &link).map_err(Failure::at("create", &link))?;
        let failed = Failure::at("create", &path);
        let made = match kind {
            Kind::Group => fs::create_dir(&path).map_err(failed),
            Kind::Namespace => ip::run("ip", &format!("netns add {name}")).map(drop),
            Kind::Container => Ok(()),
            Kind::Directory => root::make_dir(&path).map_err(failed),
        };
        if let Err(error) = made {
            // Nothing was created: whatever exists there is not dyno's.
            let _ = fs::remove_file(&link);
            return Err(error);
        }
        let made = Self { kind, link, path };
        if kind == Kind::Directory {
            marker::ensure(&made.path)?;
        }
        Ok(made)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The last part of the target's path, which is unique.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Removes the target, unless its disk is not mounted.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        remove(self.kind, &self.link, &self.path).map(drop)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // What remains is removed with the run directory, or by a later run.
        let _ = self.end();
    }
}

/// The outcome of removing what a run created outside its directory.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    pub(crate) bytes: u64,
    /// Directories whose disk is not mounted.
    pub(crate) unmounted: Vec<Unmounted>,
}

/// A directory of a dead run on a disk that is not mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmounted {
    pub path: PathBuf,
    /// The link that records the directory; it can be removed if the disk is gone for good.
    pub link: PathBuf,
}

/// Removes everything that the run of the directory `run` created outside it.
pub(crate) fn remove_all(run: &Path) -> Result<Removed, Failure> {
    let (mut all, mut failed) = (Removed::default(), Ok(()));
    for entry in fs::read_dir(run).map_err(Failure::at("read", run))? {
        let link = entry.map_err(Failure::at("read", run))?.path();
        let mut kinds = Kind::ALL.into_iter();
        let Some(kind) = kinds.find(|kind| number(&link, *kind).is_some()) else {
            continue;
        };
        let path = fs::read_link(&link).map_err(Failure::at("read", &link))?;
        if !is_named_by(&path, &link, kind, run) {
            continue;
        }
        let bytes = match kind {
            Kind::Group | Kind::Namespace | Kind::Container => 0,
            Kind::Directory => tree::used_bytes(&path),
        };
        match remove(kind, &link, &path) {
            Ok(true) => all.bytes += bytes,
            Ok(false) => all.unmounted.push(Unmounted { path, link }),
            // One failure does not keep the others from being removed.
            Err(error) => failed = failed.and(Err(error)),
        }
    }
    failed.map(|()| all)
}

/// The prefix of the names of everything that a run creates.
pub fn own_prefix(run: &Path) -> String {
    let run = run.file_name().unwrap_or_default().to_string_lossy();
    format!("dyno-{run}-")
}

/// Whether `path` has the name of the target of this link.
fn is_named_by(path: &Path, link: &Path, kind: Kind, run: &Path) -> bool {
    let name = number(link, kind).map(|number| format!("{}{number}", own_prefix(run)));
    path.is_absolute() && name.is_some_and(|name| path.file_name() == Some(name.as_ref()))
}

/// The number of a link of this kind; `None` for anything else.
fn number(link: &Path, kind: Kind) -> Option<u32> {
    let name = link.file_name()?.to_str()?;
    let number = name.strip_prefix(kind.prefix())?;
    let number = number.split_once(MOUNTED_AT).map_or(number, |(of, _)| of);
    number.parse().ok()
}

/// The depth in a link's name, `None` without one.
fn recorded_depth(link: &Path) -> Option<usize> {
    let name = link.file_name()?.to_str()?;
    name.split_once(MOUNTED_AT)?.1.parse().ok()
}

/// Removes the target, then the link. Returns false if its disk is not mounted.
fn remove(kind: Kind, link: &Path, path: &Path) -> Result<bool, Failure> {
    let removed = match kind {
        Kind::Group => remove_group(path).map_err(Failure::at("remove", path)),
        Kind::Namespace => remove_namespace(path).map_err(Failure::at("remove", path)),
        Kind::Container => containers::remove(path),
        Kind::Directory => remove_directory(path),
    };
    match removed {
        Err(error) if error.is(Fact::Io(io::ErrorKind::NotFound)) => {
            if recorded_depth(link).is_some_and(|depth| !mounted::is_at(depth, path)) {
                return Ok(false);
            }
        }
        removed => removed?,
    }
    fs::remove_file(link).map_err(Failure::at("remove", link))?;
    Ok(true)
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
    let deadline = Instant::now() + EMPTY_LIMIT;
    loop {
        match fs::remove_dir(path) {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
            {
                sleep(POLL_INTERVAL);
            }
            removed => return removed,
        }
    }
}

#[cfg(test)]
mod tests;
