//! XFS on one device.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::tool::Tool;
use super::{FileSystem, LABEL, made};
use crate::failure::Failure;

#[derive(Debug)]
pub(super) struct Xfs;

impl FileSystem for Xfs {
    fn check(&self) -> Result<(), Failure> {
        Tool::MKFS_XFS.check()
    }

    fn make(&self, devices: &[PathBuf], interrupted: &AtomicBool) -> Result<(), Failure> {
        Tool::MKFS_XFS.run_on(devices, &["-q", "-f", "-K", "-L", LABEL], interrupted)
    }

    fn mount_options(&self, _: &[PathBuf]) -> Vec<String> {
        Vec::new()
    }

    fn used_bytes(&self, mount_point: &Path, _: &[PathBuf]) -> Result<u64, Failure> {
        made::allocated_bytes(mount_point)
    }
}
