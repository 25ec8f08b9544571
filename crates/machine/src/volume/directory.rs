//! `volume.directory`: a new directory for each node on the disk under test.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::account::Account;
use crate::failure::Failure;
use crate::home::journal::Kind;
use crate::home::outside::Outside;
use crate::home::{Home, root, trust};
use crate::volume::Volume;

const KEY: &str = "volume.directory";

/// A new directory below one that the study names.
pub(super) fn make(home: &Home, below: &Path) -> Result<Outside, Failure> {
    let below = check(below, home.account())?;
    Outside::make(home, Kind::Directory, &below)
}

impl Volume for Outside {
    fn path(&self) -> &Path {
        self.path()
    }

    fn end(&self) -> Result<(), Failure> {
        self.end()
    }
}

/// Checks that nodes of this account can store their data below a directory; returns its path
/// without symbolic links.
pub(super) fn check(directory: &Path, account: &Account) -> Result<PathBuf, Failure> {
    let unfit = |why: String, remedy: &str| unfit(directory, why, remedy);
    let path = fs::canonicalize(directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => unfit(
            "does not exist".to_owned(),
            "create it, mount its disk, or choose another directory",
        ),
        _ => unfit(
            format!("cannot be entered: {error}"),
            "run dyno as a user with permission, or choose another directory",
        ),
    })?;
    let meta = fs::metadata(&path).map_err(Failure::at("inspect", &path))?;
    if !meta.is_dir() {
        return Err(unfit(
            "is not a directory".to_owned(),
            "choose a directory, for a device the one where it is mounted",
        ));
    }
    if path == Path::new("/") {
        return Err(unfit(
            "is the root of the file system".to_owned(),
            "choose a directory on the disk to be tested",
        ));
    }
    trust::check_named(&path, directory).map_err(|error| error.key(KEY))?;
    accessat(
        CWD,
        &path,
        Access::WRITE_OK | Access::EXEC_OK,
        AtFlags::EACCESS,
    )
    .map_err(|error| {
        unfit(
            format!("is not writable for dyno: {}", io::Error::from(error)),
            "run dyno as a user with permission, or choose another directory",
        )
    })?;
    if let Some(user) = account.other_name() {
        root::check_reachable(&path, user).map_err(|error| {
            unfit(
                format!("cannot be used: {error}"),
                "let other users enter it (chmod o+x), or choose another directory",
            )
        })?;
    }
    Ok(path)
}

/// The failure of a directory that is not suitable for servers' data.
pub(super) fn unfit(directory: &Path, why: impl Display, remedy: &str) -> Failure {
    Failure::usage(format!("{} {why}", directory.display()))
        .remedy(remedy)
        .key(KEY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn checked(path: &Path) -> Result<PathBuf, String> {
        let account = crate::testing::account();
        check(path, &account)
            .map_err(|error| format!("{error}; {}", error.remedy.as_deref().unwrap()))
    }

    #[test]
    fn a_directory_is_used_under_its_real_name() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (real, link) = (dir.path().join("a b"), dir.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(checked(&link).unwrap(), fs::canonicalize(&real).unwrap());
        for usual in ["/tmp", "/var/tmp", "/dev/shm"] {
            checked(Path::new(usual)).unwrap();
        }
    }

    #[test]
    fn an_unfit_directory_is_refused_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let with_mode = |name: &str, mode| {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (open, closed) = (with_mode("open", 0o777), with_mode("closed", 0o700));
        let below_open = open.join("below");
        fs::create_dir(&below_open).unwrap();
        for (path, said) in [
            (dir.path().join("none"), "does not exist; create it"),
            (file.clone(), "is not a directory; choose a directory"),
            (file.join("below"), "cannot be entered: Not a directory"),
            (open, "can be changed by other users"),
            (below_open, "can be changed by other users"),
            (PathBuf::from("/"), "is the root of the file system; choose"),
            (PathBuf::from("/proc/self"), "is not writable for dyno"),
        ] {
            let error = checked(&path).unwrap_err();
            assert!(error.contains(said), "{}: {error}", path.display());
        }
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&closed, Some(65534), None).unwrap();
            let error = checked(&closed).unwrap_err();
            assert!(error.contains("belongs to user 65534"), "{error}");
            std::os::unix::fs::chown(&closed, Some(0), None).unwrap();
        }
        let closed = checked(&closed);
        if crate::testing::account().other_name().is_some() {
            assert!(closed.unwrap_err().contains("chmod o+x"));
        } else {
            closed.unwrap();
        }
    }
}
