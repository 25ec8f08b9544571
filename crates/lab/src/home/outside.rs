//! What a run makes outside of its directory: control groups, and directories on other
//! disks.
//!
//! ```text
//! CACHE/run/5e1c…/elsewhere7 -> /mnt/nvme/dyno-5e1c…-7
//! CACHE/run/5e1c…/group8 -> /sys/fs/cgroup/cpu/dyno-5e1c…-8
//! ```
//!
//! The link is there before the thing is, and goes after it: whatever instant a dyno is
//! killed at, whoever sweeps its run directory finds all that it left.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Home, root};
use crate::error::LabError;
use crate::process::LOOK;
use crate::sweep;

/// How long the kernel may take to see that a group's last process is gone.
const EMPTY_LIMIT: Duration = Duration::from_secs(5);

/// What is made, and so how it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A control group, which is empty when it goes.
    Group,
    /// A directory with all that is in it.
    Directory,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Group, Self::Directory];

    /// How the names of its links begin.
    fn prefix(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Directory => "elsewhere",
        }
    }
}

/// Something outside of the run directory; it goes away with this value.
#[derive(Debug)]
pub(crate) struct Outside {
    kind: Kind,
    link: PathBuf,
    path: PathBuf,
}

impl Outside {
    /// Makes a new one in `parent`, under a name that nothing else ever has.
    pub(crate) fn make(home: &Home, kind: Kind, parent: &Path) -> Result<Self, LabError> {
        let link = home.new_path(kind.prefix());
        let number = number(&link, kind).unwrap_or_default();
        let path = parent.join(format!("{}{number}", own_prefix(home.run_dir())));
        symlink(&path, &link).map_err(LabError::at("make", &link))?;
        let made = match kind {
            Kind::Group => fs::create_dir(&path),
            Kind::Directory => root::make_dir(&path),
        };
        if let Err(error) = made {
            // Nothing was made: what is there, if anything, is not ours.
            let _ = fs::remove_file(&link);
            return Err(LabError::at("make", &path)(error));
        }
        Ok(Self { kind, link, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // What cannot be removed now goes with the run directory, or is swept later.
        let _ = remove(self.kind, &self.link, &self.path);
    }
}

/// Removes everything that the run of this directory made outside of it; says what that
/// took on disks.
pub(crate) fn remove_all(run: &Path) -> Result<u64, LabError> {
    let mut bytes = 0;
    for entry in fs::read_dir(run).map_err(LabError::at("read", run))? {
        let link = entry.map_err(LabError::at("read", run))?.path();
        let mut kinds = Kind::ALL.into_iter();
        let Some(kind) = kinds.find(|kind| number(&link, *kind).is_some()) else {
            continue;
        };
        let path = fs::read_link(&link).map_err(LabError::at("read", &link))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&own_prefix(run)) {
            if kind == Kind::Directory {
                bytes += sweep::used_bytes(&path);
            }
            remove(kind, &link, &path)?;
        }
    }
    Ok(bytes)
}

/// How the names of all that a run makes begin.
fn own_prefix(run: &Path) -> String {
    let run = run.file_name().unwrap_or_default().to_string_lossy();
    format!("dyno-{run}-")
}

/// The number of a link of this kind; `None` for anything else.
fn number(link: &Path, kind: Kind) -> Option<u32> {
    let name = link.file_name()?.to_str()?;
    name.strip_prefix(kind.prefix())?.parse().ok()
}

fn remove(kind: Kind, link: &Path, path: &Path) -> Result<(), LabError> {
    let removed = match kind {
        Kind::Group => remove_group(path),
        Kind::Directory => fs::remove_dir_all(path),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed.map_err(LabError::at("remove", path))?,
    }
    fs::remove_file(link).map_err(LabError::at("remove", link))
}

fn remove_group(path: &Path) -> io::Result<()> {
    let deadline = Instant::now() + EMPTY_LIMIT;
    loop {
        match fs::remove_dir(path) {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
            {
                sleep(LOOK);
            }
            removed => return removed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.path(), open).unwrap();
        let home = Home::open_in(&dir.path().join("cache"), u64::MAX).unwrap();
        (dir, home)
    }

    fn count(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn it_goes_with_its_link_and_leaves_its_neighbours() {
        let (_dir, home) = home();
        let disk = tempfile::tempdir().unwrap();
        fs::write(disk.path().join("theirs"), "x").unwrap();
        let own = count(home.run_dir());
        let made = Outside::make(&home, Kind::Directory, disk.path()).unwrap();
        fs::write(made.path().join("a"), "x").unwrap();
        assert_eq!((count(disk.path()), count(home.run_dir())), (2, own + 1));
        drop(made);
        assert_eq!((count(disk.path()), count(home.run_dir())), (1, own));
        assert!(disk.path().join("theirs").exists());
    }

    #[test]
    fn what_cannot_be_made_leaves_no_link() {
        let (_dir, home) = home();
        let own = count(home.run_dir());
        let error = Outside::make(&home, Kind::Directory, Path::new("/there/is/none"));
        assert!(error.unwrap_err().to_string().contains("/there/is/none"));
        assert_eq!(count(home.run_dir()), own);
    }

    /// As after a kill: before the thing was made, and with it there.
    #[test]
    fn a_sweep_removes_what_links_name_and_only_what_is_the_runs() {
        let (_dir, home) = home();
        let disk = tempfile::tempdir().unwrap();
        let run = home.run_dir();
        let kept = Outside::make(&home, Kind::Directory, disk.path()).unwrap();
        fs::write(kept.path().join("a"), vec![1; 100_000]).unwrap();
        std::mem::forget(kept);
        let never_made = disk.path().join(format!("{}77", own_prefix(run)));
        symlink(&never_made, run.join("elsewhere77")).unwrap();
        for (link, name) in [("elsewhere78", "theirs"), ("group79", "dyno-other-79")] {
            fs::create_dir(disk.path().join(name)).unwrap();
            symlink(disk.path().join(name), run.join(link)).unwrap();
        }
        assert!((100_000..1 << 20).contains(&remove_all(run).unwrap()));
        assert_eq!(count(disk.path()), 2);
        assert!(!run.join("elsewhere77").exists() && remove_all(run).unwrap() == 0);
        drop(home);
        assert_eq!(count(disk.path()), 2);
    }
}
