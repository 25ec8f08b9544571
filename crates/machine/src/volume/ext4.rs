//! ext4 on one device.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::tool::Tool;
use super::{FileSystem, LABEL, made};
use crate::failure::Failure;

#[derive(Debug)]
pub(super) struct Ext4;

impl FileSystem for Ext4 {
    fn check(&self) -> Result<(), Failure> {
        Tool::MKFS_EXT4.check()
    }

    fn make(&self, devices: &[PathBuf], interrupted: &AtomicBool) -> Result<(), Failure> {
        let lazy = "nodiscard,lazy_itable_init=1,lazy_journal_init=1";
        Tool::MKFS_EXT4.run_on(devices, &["-q", "-F", "-L", LABEL, "-E", lazy], interrupted)
    }

    /// The kernel must not write inode tables during the measurement.
    fn mount_options(&self, _: &[PathBuf]) -> Vec<String> {
        vec!["noinit_itable".to_owned()]
    }

    fn used_bytes(&self, mount_point: &Path, _: &[PathBuf]) -> Result<u64, Failure> {
        made::allocated_bytes(mount_point)
    }
}
