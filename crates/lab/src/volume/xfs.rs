//! XFS on one device.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::tool::Tool;
use super::{FileSystem, LABEL, made};
use crate::error::LabError;

#[derive(Debug)]
pub(super) struct Xfs;

impl FileSystem for Xfs {
    fn check(&self) -> Result<(), LabError> {
        Tool::MKFS_XFS.check()
    }

    fn make(&self, devices: &[PathBuf], interrupted: &AtomicBool) -> Result<(), LabError> {
        Tool::MKFS_XFS.run_on(devices, &["-q", "-f", "-K", "-L", LABEL], interrupted)
    }

    fn mount_options(&self, _: &[PathBuf]) -> Vec<String> {
        Vec::new()
    }

    fn used_bytes(&self, mount_point: &Path, _: &[PathBuf]) -> Result<u64, LabError> {
        made::allocated_bytes(mount_point)
    }
}
