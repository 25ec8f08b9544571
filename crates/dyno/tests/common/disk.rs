//! A disk that is soon full.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A file system of so many bytes, gone with it.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None`, and a word about it, where this user may not mount.
    pub fn new(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        let options = format!("size={size},mode=755");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]);
        let mounted = mount.arg(dir.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        println!("skipped: this user may not mount a small file system");
        None
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// As an environment variable has it.
    pub fn shown(&self) -> String {
        self.path().display().to_string()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
