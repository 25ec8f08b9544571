//! Reads the facts that checks judge: files of the kernel, settings of servers. All of
//! it is bounded, and what is not there is absent.

pub(super) mod activity;
mod chrony;
pub(super) mod clock;
pub(super) mod container;
pub(super) mod cpu;
pub(super) mod limits;
pub(super) mod memory;
pub(super) mod place;
pub(super) mod server;

use std::fs;
use std::path::{Path, PathBuf};

/// More entries of a directory of the kernel's than are looked at.
const MAX_ENTRIES: usize = 10_000;

/// What is in a directory, in order of name.
fn entries(dir: impl AsRef<Path>) -> Vec<PathBuf> {
    let found = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found.take(MAX_ENTRIES).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The last part of a path.
fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Each once, in order.
fn distinct(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values.dedup();
    values
}
