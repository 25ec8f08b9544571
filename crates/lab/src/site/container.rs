//! A container on this host, from the kernel's namespaces alone: it needs no program besides those of
//! util-linux, no image, and no daemon.
//!
//! Each program gets mount, IPC, and UTS namespaces of its own, and a root directory in memory that
//! has only the system's programs and configuration, to read, and the server's directories. It stays
//! a child of dyno, so that it is stopped, killed, and sampled as any other process, and nothing of
//! the container outlives it. Process IDs are the host's.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use crate::error::LabError;
use crate::home::Home;
use crate::process;

/// What a server's programs, libraries, and configuration consist of.
const SYSTEM: [&str; 8] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
];
/// The programs that set it up.
const TOOLS: [&str; 4] = ["unshare", "mount", "umount", "pivot_root"];
/// Where they are besides PATH, which another user's may lack.
const TOOL_DIRS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";
/// Given an empty directory, pairs of mount options and directories, and, behind `--`, a program.
const SET_UP: &str = include_str!("container.sh");

/// A container's root directory.
#[derive(Debug)]
pub(super) struct Container {
    /// An empty directory, on which the root is mounted.
    root: PathBuf,
    /// Directories of the host that it has, with their mount options.
    directories: Mutex<Vec<(&'static str, PathBuf)>>,
}

impl Container {
    /// Checks that a container can be set up, and creates none before a program starts.
    ///
    /// # Errors
    /// When a program is missing, or the kernel refuses.
    pub(super) fn new(home: &Home) -> Result<Self, LabError> {
        let path = env::var_os("PATH").unwrap_or_default();
        check_tools(&[path, TOOL_DIRS.into()])?;
        let root = home.new_path("root");
        std::fs::create_dir(&root).map_err(LabError::at("create", &root))?;
        let system = SYSTEM.map(|directory| ("rbind,ro", directory.into()));
        let container = Self {
            root,
            directories: Mutex::new(system.into()),
        };
        container.check()?;
        Ok(container)
    }

    /// Runs a program in it that does nothing.
    fn check(&self) -> Result<(), LabError> {
        let entry = self.entry();
        let mut command = process::own_command(Path::new("env"));
        command.args(entry).arg("true").stderr(Stdio::piped());
        let output = process::spawn(command)?.wait_with_output();
        let output = output.map_err(LabError::at("run", Path::new("unshare")))?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(LabError::NoContainer {
            why: words,
            remedy: match rustix::process::geteuid().is_root() {
                true => {
                    "run dyno where root may mount file systems (inside a container it often may not)"
                }
                false => "run dyno as root",
            },
        })
    }

    /// Lets its programs use these directories.
    pub(super) fn admit(&self, readable: &[PathBuf], writable: &[PathBuf]) {
        let mut all = self
            .directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A link needs what it leads to.
        let with_target = |path: &PathBuf| {
            let target = path.canonicalize().unwrap_or_else(|_| path.clone());
            [target, path.clone()]
        };
        let readable = readable.iter().flat_map(with_target);
        let writable = writable.iter().flat_map(with_target);
        let readable = readable.map(|path| ("rbind,ro", path));
        for (options, path) in readable.chain(writable.map(|path| ("rbind", path))) {
            let is_there =
                |(known, dir): &(&str, PathBuf)| *known == options && path.starts_with(dir);
            if !all.iter().any(is_there) {
                all.push((options, path));
            }
        }
    }

    /// How a process enters a new one and becomes the program whose words follow.
    pub(super) fn entry(&self) -> Vec<OsString> {
        let words = ["unshare", "--mount", "--ipc", "--uts", "--propagation"];
        let shell = ["private", "/bin/sh", "-c", SET_UP, "container"];
        let mut words: Vec<OsString> = words.into_iter().chain(shell).map(Into::into).collect();
        words.push(self.root.clone().into());
        let directories = self.directories.lock();
        let directories = directories.unwrap_or_else(PoisonError::into_inner);
        for (options, path) in directories.iter() {
            words.extend([OsString::from(options), path.clone().into()]);
        }
        words.push("--".into());
        words
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // What remains is removed with the run directory.
        let _ = std::fs::remove_dir(&self.root);
    }
}

/// Checks that the tools are in these lists of directories.
fn check_tools(paths: &[OsString]) -> Result<(), LabError> {
    let has = |list: &OsStr, tool: &&str| env::split_paths(list).any(|dir| dir.join(tool).exists());
    let mut tools = TOOLS.iter();
    let Some(missing) = tools.find(|tool| !paths.iter().any(|list| has(list, tool))) else {
        return Ok(());
    };
    Err(LabError::NoContainer {
        why: format!("{missing} is not installed"),
        remedy: "install the packages util-linux and mount",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let dir = tempfile::tempdir().unwrap();
        for tool in &TOOLS[..3] {
            std::fs::write(dir.path().join(tool), "").unwrap();
        }
        let error = check_tools(&[dir.path().into()]).unwrap_err();
        let LabError::NoContainer { why, remedy } = error else {
            panic!("{error}");
        };
        assert!(why.contains("pivot_root"), "{why}");
        assert!(remedy.contains("util-linux"), "{remedy}");
        check_tools(&[dir.path().into(), TOOL_DIRS.into()]).unwrap();
    }
}
