//! Small file systems, soon full.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::skip;

/// A file system in memory; dropping it unmounts it.
#[derive(Debug)]
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts one. `size` is an option of tmpfs: `1m`, or `1m,nr_inodes=48`.
    ///
    /// Records a skipped test and returns `None` where this user may not mount.
    pub fn new(size: &str) -> Option<Self> {
        let dir = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        let mut mount = Command::new("mount");
        let options = format!("size={size},mode=755");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]);
        let mounted = mount.arg(dir.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        skip("this user may not mount a small file system");
        None
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where it is mounted, for a command line or an environment variable.
    pub fn shown(&self) -> String {
        self.path().display().to_string()
    }

    /// The bytes that an unprivileged user may still write.
    pub fn free_bytes(&self) -> u64 {
        let space = rustix::fs::statvfs(self.path()).unwrap();
        space.f_bavail * space.f_frsize
    }

    /// Takes all its free space but `bytes`, at once: it shrinks. What programs write meanwhile may
    /// leave less.
    pub fn fill_except(&self, bytes: u64) {
        let shrunk = || {
            let space = rustix::fs::statvfs(self.path()).unwrap();
            let used = (space.f_blocks - space.f_bfree) * space.f_frsize;
            self.remounted(&format!("size={}", used + bytes))
        };
        // The kernel refuses a size that has become too small since.
        assert!((0..1000).any(|_| shrunk()), "{self:?} cannot shrink");
    }

    /// Mounts it again, read-only (`ro`) or writable (`rw`).
    pub fn remount(&self, how: &str) {
        assert!(self.remounted(how));
    }

    fn remounted(&self, options: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{options}")]);
        let output = mount.arg(self.path()).output().unwrap();
        output.status.success()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
