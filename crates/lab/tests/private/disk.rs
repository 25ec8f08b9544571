//! Small file systems for tests, where this user may mount them.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::open_dir;

/// A file system of so many bytes, gone with it.
pub(crate) struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None`, and a word about it, where this user may not mount.
    pub(crate) fn new(size: &str) -> Option<Self> {
        let dir = open_dir();
        let mut mount = Command::new("mount");
        mount.args([
            "-t",
            "tmpfs",
            "-o",
            &format!("size={size},mode=755"),
            "tmpfs",
        ]);
        let mounted = mount.arg(dir.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        skipped();
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Mounts it again, read-only (`ro`) or not (`rw`).
    pub(crate) fn remount(&self, how: &str) {
        let mut mount = Command::new("mount");
        let mounted = mount
            .args(["-o", &format!("remount,{how}")])
            .arg(self.path());
        assert!(mounted.status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[allow(clippy::print_stdout, reason = "says why a test tests nothing here")]
fn skipped() {
    println!("skipped: this user may not mount a small file system");
}
