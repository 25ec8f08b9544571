//! A container made of kernel namespaces alone: it needs util-linux, no other program, no image,
//! and no daemon.
//!
//! Each program gets mount, IPC, and UTS namespaces of its own, and a root directory in memory. It
//! stays a child of dyno, so that it is stopped, killed, and sampled like any other process, and
//! nothing of the container outlives it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Directory;
use super::no_container;
use crate::failure::Failure;

/// Programs that the container's setup requires.
const TOOLS: [&str; 4] = ["unshare", "mount", "umount", "pivot_root"];
/// Arguments: an empty directory, pairs of mount options and directories, and, after `--`, a
/// program.
const SET_UP: &str = include_str!("namespaces.sh");

/// The entry that enters a new container, whose root is mounted on `root`, and executes the program
/// that follows.
pub(super) fn entry(root: &Path, directories: &[Directory]) -> Vec<OsString> {
    let words = ["unshare", "--mount", "--ipc", "--uts", "--propagation"];
    let shell = ["private", "/bin/sh", "-c", SET_UP, "container"];
    let mut words: Vec<OsString> = words.into_iter().chain(shell).map(Into::into).collect();
    words.push(root.into());
    for directory in directories {
        let options = match directory.is_writable {
            true => "rbind",
            false => "rbind,ro",
        };
        words.extend([OsString::from(options), directory.path.clone().into()]);
    }
    words.push("--".into());
    words
}

/// Checks that the tools are in one of these lists of directories.
pub(super) fn check_tools(paths: &[OsString]) -> Result<(), Failure> {
    let has = |list: &OsStr, tool: &&str| env::split_paths(list).any(|dir| dir.join(tool).exists());
    let mut tools = TOOLS.iter();
    let Some(missing) = tools.find(|tool| !paths.iter().any(|list| has(list, tool))) else {
        return Ok(());
    };
    Err(no_container(
        format!("{missing} is not installed"),
        "install the packages util-linux and mount",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::containers::TOOL_DIRS;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let dir = tempfile::tempdir().unwrap();
        for tool in &TOOLS[..3] {
            std::fs::write(dir.path().join(tool), "").unwrap();
        }
        let error = check_tools(&[dir.path().into()]).unwrap_err();
        assert!(error.message.contains("pivot_root"), "{error}");
        let remedy = error.remedy.as_deref().unwrap();
        assert!(remedy.contains("util-linux"), "{remedy}");
        check_tools(&[dir.path().into(), TOOL_DIRS.into()]).unwrap();
    }
}
