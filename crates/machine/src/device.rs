//! Block devices that a study allows to be formatted or changed: only one dyno at a time does that,
//! whatever its cache, and leaves nothing of it behind.
//!
//! ```text
//! /run/dyno-device-8:16   held by the dyno that formats or changes a device, and removed by it
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::failure::Failure;
use crate::home::lock::Lock;
use crate::locked;
use crate::process;
use crate::tool::{Tool, no_volume, shown};

/// Label of each file system that dyno makes.
pub(crate) const LABEL: &str = "dyno-volume";
/// The kernel's directory of btrfs file systems.
const FILE_SYSTEMS: &str = "/sys/fs/btrfs";
/// The directory in which `btrfs scrub` keeps a file for each file system.
const STATUS_DIR: &str = "/var/lib/btrfs";
/// How long programs with mounts of their own may keep a file system that was unmounted.
const COPIES_LIMIT: Duration = Duration::from_secs(30);
/// Exit code of `blkid` if it finds nothing.
const NOTHING_FOUND: i32 = 2;

/// Numbers of the devices that this process has claimed, and how often.
static CLAIMED: Mutex<BTreeMap<String, (Lock, u32)>> = Mutex::new(BTreeMap::new());

/// Checks that formatting a device destroys nothing: it exists, nothing uses it, and it holds no
/// file system except one that dyno made.
pub(crate) fn check(device: &Path) -> Result<(), Failure> {
    let meta = fs::metadata(device).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => unfit(device, "does not exist", "check its name (lsblk)"),
        _ => Failure::at("inspect", device)(error),
    })?;
    if !meta.file_type().is_block_device() {
        let remedy = "name a block device (lsblk lists them), or use loop devices: remove device";
        return Err(unfit(device, "is no block device", remedy));
    }
    open_exclusively(device).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => unfit(
            device,
            "is in use: it is mounted, used for swap, or part of another device",
            "name another device; lsblk shows what uses it",
        ),
        io::ErrorKind::PermissionDenied => unfit(
            device,
            "may not be written by this user",
            "run dyno as root",
        ),
        _ => Failure::at("open", device)(error),
    })?;
    match signature(device)? {
        Some(found) => Err(unfit(
            device,
            &format!("holds data ({found})"),
            &format!(
                "name another device; if nothing on it is needed, run wipefs -a {}",
                shown(device)
            ),
        )),
        None => Ok(()),
    }
}

/// Fails with `ResourceBusy` if the device or one of its partitions is mounted or otherwise in use.
fn open_exclusively(device: &Path) -> io::Result<File> {
    let exclusive = OFlags::EXCL.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(exclusive);
    options.open(device)
}

/// Waits until an unmounted device is no longer in use. A new mount namespace, such as that of a
/// container, copies all mounts. While the copy exists, mounting the device again would return the same
/// file system, with its errors.
pub(crate) fn wait_until_unused(device: &Path) -> Result<(), Failure> {
    let unused = || match open_exclusively(device) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => None,
        opened => Some(opened),
    };
    match process::poll(COPIES_LIMIT, unused) {
        Some(opened) => opened.map(drop).map_err(Failure::at("open", device)),
        None => Err(unfit(
            device,
            "was unmounted, but another mount namespace still has it",
            &format!(
                "end the container or service that has it: grep -l {} /proc/*/mountinfo",
                shown(device)
            ),
        )),
    }
}

/// A description of the device's content; `None` if it holds nothing or a file system that dyno
/// made.
fn signature(device: &Path) -> Result<Option<String>, Failure> {
    let device = shown(device);
    let output = Tool::BLKID.output(&["-p", "-o", "export", &device])?;
    if output.status.code() == Some(NOTHING_FOUND) {
        return Ok(None);
    }
    if !output.status.success() {
        return Err(Tool::BLKID.failed(&output));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |key: &str| host::field(&text, key, '=');
    if value("LABEL") == Some(LABEL) {
        return Ok(None);
    }
    let found = value("TYPE").or_else(|| value("PTTYPE"));
    Ok(Some(found.unwrap_or("of unknown type").to_owned()))
}

/// Claims a device, to be held until it has been wiped.
pub(crate) fn claim(device: &Path) -> Result<Claim, Failure> {
    Claim::take(number(device)?)?.ok_or_else(|| {
        let remedy = "name another device, or wait for the other dyno to end";
        unfit(device, "is in use: another dyno has it", remedy)
    })
}

/// Removes the signature of a file system that dyno made, so that the device is empty again. Leaves
/// a device alone that another dyno has claimed since.
pub(crate) fn wipe_own(device: &Path) -> Result<(), Failure> {
    let Some(_claim) = Claim::take(number(device)?)? else {
        return Ok(());
    };
    wait_until_unused(device)?;
    let device = shown(device);
    let found = Tool::BLKID.output(&["-p", "-o", "value", "-s", "LABEL", &device])?;
    match String::from_utf8_lossy(&found.stdout).trim() == LABEL {
        true => Tool::WIPEFS.run(&["-a", "-q", &device]).map(drop),
        false => Ok(()),
    }
}

fn unfit(device: &Path, why: &str, remedy: &str) -> Failure {
    no_volume(format!("{} {why}", device.display()), remedy)
}

/// A block device that no other dyno can claim. This process may claim it several times.
#[derive(Debug)]
pub(crate) struct Claim(String);

impl Claim {
    /// Claims the device with a number such as `8:16`; `None` if another dyno has claimed it.
    pub(crate) fn take(number: String) -> Result<Option<Self>, Failure> {
        let mut claimed = locked(&CLAIMED);
        match claimed.get_mut(&number) {
            Some((_, times)) => *times += 1,
            None => match Lock::try_exclusive(&claim_file(&number))? {
                Some(lock) => drop(claimed.insert(number.clone(), (lock, 1))),
                None => return Ok(None),
            },
        }
        Ok(Some(Self(number)))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = locked(&CLAIMED);
        let Some((_, times)) = claimed.get_mut(&self.0) else {
            return;
        };
        *times -= 1;
        if *times == 0 {
            // Still locked here, so no other process removes or holds it. After a kill, it remains.
            let _ = fs::remove_file(claim_file(&self.0));
            claimed.remove(&self.0);
        }
    }
}

pub(crate) fn number(device: &Path) -> Result<String, Failure> {
    let meta = fs::metadata(device).map_err(Failure::at("inspect", device))?;
    let (major, minor) = (
        rustix::fs::major(meta.rdev()),
        rustix::fs::minor(meta.rdev()),
    );
    Ok(format!("{major}:{minor}"))
}

pub(crate) fn claim_file(number: &str) -> PathBuf {
    PathBuf::from(format!("/run/dyno-device-{number}"))
}

/// The kernel's directory of the file system on these devices.
pub(crate) fn btrfs_directory(devices: &[PathBuf]) -> Result<PathBuf, Failure> {
    let all = Path::new(FILE_SYSTEMS);
    let first = devices.first().map_or(Path::new(""), |device| device);
    // Compared by number, because a device has many names.
    let wanted = number(first)?;
    for entry in fs::read_dir(all).map_err(Failure::at("read", all))? {
        let dir = entry.map_err(Failure::at("read", all))?.path();
        // Some directories do not belong to file systems.
        let devices = fs::read_dir(dir.join("devices")).into_iter().flatten();
        let number = |device: fs::DirEntry| fs::read_to_string(device.path().join("dev"));
        let mut numbers = devices.flatten().flat_map(number);
        if numbers.any(|number| number.trim() == wanted) {
            return Ok(dir);
        }
    }
    let missing = io::Error::other(format!("no file system on {}", first.display()));
    Err(Failure::at("search", all)(missing))
}

/// The files that a scrub program keeps about the file system on this device; none if its kind has
/// no scrub.
pub(crate) fn scrub_files(source: &Path) -> Vec<PathBuf> {
    let Ok(dir) = btrfs_directory(&[source.to_owned()]) else {
        return Vec::new();
    };
    let id = dir.file_name().unwrap_or_default().to_string_lossy();
    let kinds = ["status", "progress"].into_iter();
    let names = kinds.map(|kind| format!("{STATUS_DIR}/scrub.{kind}.{id}"));
    names.map(PathBuf::from).collect()
}

/// Ends what the kernel still does for a job on a btrfs file system.
pub(crate) fn cancel_jobs(mount_point: &Path) {
    for job in ["replace", "scrub"] {
        // Usually, no job is running.
        let _ = Tool::BTRFS.run(&[job, "cancel", &shown(mount_point)]);
    }
}
