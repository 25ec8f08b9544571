//! For tests.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::home::Home;

/// A directory that is mounted a second time until this value is dropped.
pub(crate) struct BindMount(PathBuf);

impl BindMount {
    /// `None` where this user may not mount.
    pub(crate) fn new(from: &Path, to: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.arg("--bind").arg(from).arg(to);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        is_mounted.then(|| Self(to.to_owned()))
    }
}

impl Drop for BindMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The account of servers without a package.
pub(crate) fn account() -> Account {
    Account::for_servers(&[]).unwrap()
}

/// A home, and the directory above its cache, which all users can enter.
pub(crate) fn home() -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let home = Home::open_in(&dir.path().join("cache"), u64::MAX, account()).unwrap();
    (dir, home)
}
