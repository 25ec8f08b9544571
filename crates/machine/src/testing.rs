//! For tests.

use std::os::unix::fs::PermissionsExt;

use crate::account::Account;
use crate::home::Home;

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
