//! The account that servers run as, and dyno's cache with it.

use std::path::Path;

use machine::account::Account;
use machine::home::Home;

use crate::failure::Failure;

pub fn account() -> Result<Account, Failure> {
    let users: Vec<&str> = engine::servers()
        .map(|server| server.traits().user)
        .collect();
    Account::for_servers(&users)
}

/// Opens the cache at `root`, with a size limit.
pub fn open_home(root: &Path, limit_bytes: u64) -> Result<Home, Failure> {
    Home::open_in(root, limit_bytes, account()?)
}
