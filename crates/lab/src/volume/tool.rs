//! Runs the programs that make, mount, and examine file systems.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::error::LabError;

/// A program, and the package that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub(super) program: &'static str,
    pub(super) package: &'static str,
}

impl Tool {
    pub(super) const MOUNT: Self = Self {
        program: "mount",
        package: "util-linux",
    };
    pub(super) const WIPEFS: Self = Self {
        program: "wipefs",
        package: "util-linux",
    };
    pub(super) const BLKID: Self = Self {
        program: "blkid",
        package: "util-linux",
    };
    pub(super) const BTRFS: Self = Self {
        program: "btrfs",
        package: "btrfs-progs",
    };
    pub(super) const MKFS_BTRFS: Self = Self {
        program: "mkfs.btrfs",
        package: "btrfs-progs",
    };
    pub(super) const MKFS_XFS: Self = Self {
        program: "mkfs.xfs",
        package: "xfsprogs",
    };
    pub(crate) const MKFS_EXT4: Self = Self {
        program: "mkfs.ext4",
        package: "e2fsprogs",
    };
    pub(super) const DUPEREMOVE: Self = Self {
        program: "duperemove",
        package: "duperemove",
    };

    /// Runs it to its end; returns what it printed.
    ///
    /// # Errors
    /// When it is not installed; when it fails, in its own words.
    pub(crate) fn run(
        self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<String, LabError> {
        let output = self.output(arguments)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(self.failed(&output)),
        }
    }

    /// The same, whatever its exit code.
    pub(super) fn output(
        self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Output, LabError> {
        let mut command = Command::new(self.program);
        command.args(arguments);
        // dyno's environment may contain passwords.
        command.env_clear().env("LC_ALL", "C");
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        let output = command.stdin(Stdio::null()).output();
        output.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.missing(),
            _ => LabError::NoVolume {
                why: format!("cannot run {}: {error}", self.program),
                remedy: format!("check the package {}", self.package),
            },
        })
    }

    /// Checks that it is installed.
    ///
    /// # Errors
    /// What to install.
    pub(super) fn check(self) -> Result<(), LabError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs = std::env::split_paths(&path);
        match dirs.any(|dir| dir.join(self.program).is_file()) {
            true => Ok(()),
            false => Err(self.missing()),
        }
    }

    fn missing(self) -> LabError {
        LabError::NoVolume {
            why: format!("the program {} is missing", self.program),
            remedy: format!(
                "install the package {} (scripts/install-servers.sh storage installs all), and \
                 make sure that PATH contains its directory, usually /usr/sbin",
                self.package
            ),
        }
    }

    pub(super) fn failed(self, output: &Output) -> LabError {
        let words = String::from_utf8_lossy(&output.stderr);
        let words: Vec<&str> = words.lines().map(str::trim).collect();
        let words = words.join("; ");
        let program = self.program;
        LabError::NoVolume {
            why: match words.is_empty() {
                true => format!("{program} failed ({})", output.status),
                false => format!("{program}: {words}"),
            },
            remedy: "run dyno as root (a container also needs CAP_SYS_ADMIN), with a kernel that \
                     has this file system and option; or remove volume.filesystem"
                .to_owned(),
        }
    }
}

/// A path as an argument.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
