//! A block device that the study names and allows to be formatted.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::LABEL;
use super::claim::{self, Claim};
use super::tool::{Tool, shown};
use crate::failure::Failure;
use crate::volume::no_volume;

/// Exit code of `blkid` if it finds nothing.
const NOTHING_FOUND: i32 = 2;

/// Checks that formatting a device destroys nothing: it exists, nothing uses it, and it holds no
/// file system except one that dyno made.
pub(super) fn check(device: &Path) -> Result<(), Failure> {
    let meta = fs::metadata(device).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => unfit(device, "does not exist", "check its name (lsblk)"),
        _ => Failure::at("inspect", device)(error),
    })?;
    if !meta.file_type().is_block_device() {
        let remedy = "name a block device (lsblk lists them), or use loop devices: remove device";
        return Err(unfit(device, "is no block device", remedy));
    }
    let mut options = OpenOptions::new();
    let exclusive = OFlags::EXCL.bits().cast_signed();
    // The kernel permits this only if nobody has mounted or claimed the device or one of its
    // partitions.
    let opened = options.read(true).write(true).custom_flags(exclusive);
    opened.open(device).map_err(|error| match error.kind() {
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

/// A description of the device's content; `None` if it holds nothing or a file system that dyno
/// made.
fn signature(device: &Path) -> Result<Option<String>, Failure> {
    let device = shown(device);
    let output = Tool::BLKID.output(["-p", "-o", "export", &device])?;
    if output.status.code() == Some(NOTHING_FOUND) {
        return Ok(None);
    }
    if !output.status.success() {
        return Err(Tool::BLKID.failed(&output));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |key: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.find_map(|(name, value)| (name == key).then(|| value.to_owned()))
    };
    if value("LABEL").as_deref() == Some(LABEL) {
        return Ok(None);
    }
    let found = value("TYPE").or_else(|| value("PTTYPE"));
    Ok(Some(found.unwrap_or_else(|| "of unknown type".to_owned())))
}

/// Claims a device, to be held until it has been wiped.
pub(super) fn claim(device: &Path) -> Result<Claim, Failure> {
    Claim::take(claim::number(device)?)?.ok_or_else(|| {
        let remedy = "name another device, or wait for the other dyno to end";
        unfit(device, "is in use: another dyno has it", remedy)
    })
}

/// Removes the signature of a file system that dyno made, so that the device is empty again. Leaves
/// a device alone that another dyno has claimed since.
pub(crate) fn wipe_own(device: &Path) -> Result<(), Failure> {
    let Some(_claim) = Claim::take(claim::number(device)?)? else {
        return Ok(());
    };
    let device = shown(device);
    let found = Tool::BLKID.output(["-p", "-o", "value", "-s", "LABEL", &device])?;
    match String::from_utf8_lossy(&found.stdout).trim() == LABEL {
        true => Tool::WIPEFS.run(["-a", "-q", &device]).map(drop),
        false => Ok(()),
    }
}

fn unfit(device: &Path, why: &str, remedy: &str) -> Failure {
    no_volume(format!("{} {why}", device.display()), remedy)
}
