//! Runs the programs that make, mount, and examine file systems.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;

use crate::failure::Failure;
use crate::process::{self, NEVER, TOOL_LIMIT, WORK_LIMIT};

/// A program, and the package that provides it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    program: &'static str,
    package: &'static str,
}

impl Tool {
    pub(crate) const MOUNT: Self = Self::of("mount", "util-linux");
    pub(crate) const WIPEFS: Self = Self::of("wipefs", "util-linux");
    pub(crate) const BLKID: Self = Self::of("blkid", "util-linux");
    pub(crate) const BTRFS: Self = Self::of("btrfs", "btrfs-progs");
    pub(crate) const MKFS_BTRFS: Self = Self::of("mkfs.btrfs", "btrfs-progs");
    pub(crate) const MKFS_XFS: Self = Self::of("mkfs.xfs", "xfsprogs");
    pub(crate) const MKFS_EXT4: Self = Self::of("mkfs.ext4", "e2fsprogs");
    pub(crate) const DUPEREMOVE: Self = Self::of("duperemove", "duperemove");

    const fn of(program: &'static str, package: &'static str) -> Self {
        Self { program, package }
    }

    /// Runs the tool on devices, unless the user interrupts.
    pub(crate) fn run_on(
        self,
        devices: &[PathBuf],
        options: &[&str],
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let options = options.iter().map(OsStr::new);
        let devices = devices.iter().map(|device| device.as_os_str());
        let arguments: Vec<&OsStr> = options.chain(devices).collect();
        self.work(&arguments, interrupted)
    }

    /// Runs the tool to its end, without a time limit, unless the user interrupts.
    pub(crate) fn work(
        self,
        arguments: &[impl AsRef<OsStr>],
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let output = process::output(self.command(arguments)?, WORK_LIMIT, interrupted)?;
        self.succeeded(output).map(drop)
    }

    /// Runs the tool to its end, within a time limit; returns its output.
    pub(crate) fn run(self, arguments: &[impl AsRef<OsStr>]) -> Result<String, Failure> {
        let output = self.output(arguments)?;
        self.succeeded(output)
    }

    fn succeeded(self, output: Output) -> Result<String, Failure> {
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(self.failed(&output)),
        }
    }

    /// Like [`Tool::run`], but accepts any exit code.
    pub(crate) fn output(self, arguments: &[impl AsRef<OsStr>]) -> Result<Output, Failure> {
        process::output(self.command(arguments)?, TOOL_LIMIT, &NEVER)
    }

    /// Starts the tool. It ends with dyno, because later its device may be in use by another
    /// program.
    pub(crate) fn start(self, arguments: &[impl AsRef<OsStr>]) -> Result<Child, Failure> {
        let mut command = self.command(arguments)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        process::spawn(command)
    }

    fn command(self, arguments: &[impl AsRef<OsStr>]) -> Result<Command, Failure> {
        self.check()?;
        let mut command = process::own_command(Path::new(self.program));
        command.args(arguments);
        // dyno's environment may contain passwords.
        command.env_clear().env("LC_ALL", "C");
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        Ok(command)
    }

    /// Checks that the program is installed.
    pub(crate) fn check(self) -> Result<(), Failure> {
        match find(self.program) {
            Some(_) => Ok(()),
            None => Err(no_volume(
                format!("the program {} is missing", self.program),
                format!(
                    "install the package {} (scripts/install-servers.sh storage installs all), and \
                     make sure that PATH contains its directory, usually /usr/sbin",
                    self.package
                ),
            )),
        }
    }

    pub(crate) fn failed(self, output: &Output) -> Failure {
        let words = String::from_utf8_lossy(&output.stderr);
        let words: Vec<&str> = words.lines().map(str::trim).collect();
        let words = words.join("; ");
        let program = self.program;
        let why = match words.is_empty() {
            true => format!("{program} failed ({})", output.status),
            false => format!("{program}: {words}"),
        };
        let remedy = match why.contains("No space left on device") {
            // btrfs replaces a device chunk by chunk, and first allocates another chunk of that size.
            true => {
                "use a larger device_size or more devices: even where there is room for the data, \
                     btrfs may need as much unallocated space in addition"
            }
            false => {
                "run dyno as root (a container also needs CAP_SYS_ADMIN), with a kernel that has this \
                      file system and option; or remove `filesystem`"
            }
        };
        no_volume(why, remedy)
    }
}

/// The failure of a host that cannot, or a user that may not, make a volume as the study describes
/// it.
pub fn no_volume(why: impl Display, remedy: impl Into<String>) -> Failure {
    Failure::usage(format!("cannot set up the volume: {why}"))
        .remedy(remedy)
        .key("volume.filesystem")
}

/// The file of a program that is installed.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|dir| dir.join(program));
    found.find(|program| program.is_file())
}

/// A path as an argument.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_without_space_needs_larger_devices() {
        let remedy = |says: &str| {
            let mut command = Command::new("sh");
            let output = command
                .args(["-c", "echo \"$0\" >&2; exit 1", says])
                .output();
            Tool::BTRFS.failed(&output.unwrap()).remedy.unwrap()
        };
        let full = "ERROR: ioctl(DEV_REPLACE_START) failed on \"/m\": No space left on device";
        assert!(remedy(full).contains("a larger device_size"));
        assert!(remedy("ERROR: not a btrfs filesystem").contains("as root"));
    }
}
