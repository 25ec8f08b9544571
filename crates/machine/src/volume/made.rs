//! A file system that dyno makes for one node, on loop devices or on a device that the study names.
//!
//! ```text
//! volume7/device1, …   sparse files of the loop devices
//! volume7/mounted/     where it is mounted
//! ```
//!
//! The directory is in the run directory, or below one that the study names. Cleaning up unmounts
//! what is mounted in it; then the kernel detaches the loop devices.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use plan::{Devices, DiskLimits};

use super::loop_device::LoopDevice;
use super::{Volume, directory, file_system};
use crate::device::{self, Claim};
use crate::failure::{Failure, disk_full};
use crate::home::outside::Outside;
use crate::home::{Home, mounted, root};
use crate::locked;
use crate::site::{Site, ThisHost};
use crate::tool::{Tool, no_volume, shown};
use crate::tree;

#[derive(Debug)]
pub struct Made {
    plan: plan::FileSystem,
    /// The directory of the loop devices' files and of the mount point.
    base: PathBuf,
    /// `base`, if it is not in the run directory.
    outside: Option<Outside>,
    mount_point: PathBuf,
    /// Emptied when they are detached.
    pub(super) loops: Mutex<Vec<LoopDevice>>,
    /// Number of the latest file.
    last_file: AtomicU32,
    limits: DiskLimits,
    /// Space that the empty file system takes.
    empty_bytes: u64,
    /// Held until the study's device has been wiped.
    _claim: Option<Claim>,
}

/// Checks that the file system can be made: its tools are installed, and its device is empty.
pub(super) fn check(plan: &plan::FileSystem) -> Result<(), Failure> {
    check_tools(plan)?;
    plan.named_device().map_or(Ok(()), device::check)
}

fn check_tools(plan: &plan::FileSystem) -> Result<(), Failure> {
    if !rustix::process::geteuid().is_root() {
        return Err(no_volume(
            "only root can make and mount a file system",
            "run dyno as root, or mount one and name its mount point with `directory`",
        ));
    }
    file_system::check(plan)?;
    if plan.deduplicate {
        Tool::DUPEREMOVE.check()?;
    }
    Ok(())
}

impl Made {
    pub(super) fn new(
        home: &Home,
        plan: &plan::FileSystem,
        limits: &DiskLimits,
        below: Option<&Path>,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        check_tools(plan)?;
        // Checked while nobody else can format the device.
        let claim = plan.named_device().map(device::claim).transpose()?;
        plan.named_device().map_or(Ok(()), device::check)?;
        let outside = below
            .map(|below| directory::make(home, below))
            .transpose()?;
        let base = match &outside {
            Some(outside) => outside.path().to_owned(),
            None => make_dir(home.new_path("volume"))?,
        };
        let mut made = Self {
            plan: plan.clone(),
            mount_point: base.join(mounted::MOUNT_POINT),
            base,
            outside,
            loops: Mutex::default(),
            last_file: AtomicU32::new(0),
            limits: *limits,
            empty_bytes: 0,
            _claim: claim,
        };
        // If a step below fails, dropping this value undoes the earlier ones.
        made.attach()?;
        made.format(interrupted)?;
        make_dir(made.mount_point.clone())?;
        made.mount()?;
        made.empty_bytes = made.all_used_bytes()?;
        Ok(made)
    }

    fn format(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let devices = self.devices();
        let made = file_system::make(&self.plan, &devices, interrupted);
        if let (Err(_), Some(device)) = (&made, self.plan.named_device()) {
            // The device was empty before. A signature that remains is reported when the device is
            // used next.
            let _ = Tool::WIPEFS.run(&["-a", "-q", &shown(device)]);
        }
        made
    }

    fn attach(&self) -> Result<(), Failure> {
        let Devices::Loop { count, .. } = &self.plan.devices else {
            return Ok(());
        };
        self.has_room()?;
        for _ in 0..*count {
            let attached = self.new_device()?;
            locked(&self.loops).push(attached);
        }
        Ok(())
    }

    /// Creates a loop device on a new file.
    pub(super) fn new_device(&self) -> Result<LoopDevice, Failure> {
        let bytes = match &self.plan.devices {
            Devices::Named(_) => 0,
            Devices::Loop { bytes, .. } => *bytes,
        };
        let number = self.last_file.fetch_add(1, Ordering::Relaxed) + 1;
        let file = self.base.join(format!("device{number}"));
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&file);
        let made = made.and_then(|made| made.set_len(bytes));
        made.map_err(Failure::at("create", &file))?;
        LoopDevice::attach(&file)
    }

    pub(super) fn devices(&self) -> Vec<PathBuf> {
        match &self.plan.devices {
            Devices::Named(device) => vec![device.value.clone()],
            Devices::Loop { .. } => {
                let loops = locked(&self.loops);
                loops.iter().map(|one| one.path().to_owned()).collect()
            }
        }
    }

    /// Sparse files must not fill the disk below them while the server runs.
    fn has_room(&self) -> Result<(), Failure> {
        let needed_bytes = self.plan.loop_bytes().unwrap_or_default();
        let host = ThisHost::default();
        let path = &self.base;
        let space = host.files().space(path);
        let free_bytes = space
            .map_err(Failure::at("read the file system of", path))?
            .free_bytes;
        if needed_bytes <= free_bytes {
            return Ok(());
        }
        let count = self.plan.device_count();
        let what = format!("a volume of {count} loop devices, whose sparse files may grow so far,");
        let disk = path.parent().unwrap_or(path);
        Err(disk_full(&what, disk, needed_bytes, free_bytes))
    }

    pub(super) fn mount(&self) -> Result<(), Failure> {
        let devices = self.devices();
        let mut options = file_system::mount_options(&self.plan, &devices);
        options.extend(self.plan.mount_options.clone());
        // Of contradictory options, the last one counts.
        options.push("nosuid,nodev".to_owned());
        let (kind, options) = (self.plan.kind.name(), options.join(","));
        let first = devices.first().map(|device| shown(device));
        let (first, point) = (first.unwrap_or_default(), shown(&self.mount_point));
        let arguments = ["-t", kind, "-o", &options, &first, &point];
        Tool::MOUNT.run(&arguments).map(drop)
    }

    pub(super) fn unmount(&self) -> Result<(), Failure> {
        mounted::unmount_below(&self.base)
    }

    /// The limits of each device.
    pub fn limits(&self) -> &DiskLimits {
        &self.limits
    }

    /// Writes everything to the devices.
    pub(super) fn sync(&self) -> Result<(), Failure> {
        let dir = fs::File::open(&self.mount_point);
        let dir = dir.map_err(Failure::at("open", &self.mount_point))?;
        rustix::fs::syncfs(&dir).map_err(Failure::at("write to disk", &self.mount_point))
    }

    fn all_used_bytes(&self) -> Result<u64, Failure> {
        self.sync()?;
        file_system::used_bytes(&self.plan, &self.mount_point, &self.devices())
    }

    /// Bytes on the devices for everything written since the volume was made, with all copies and
    /// parity.
    pub fn used_bytes(&self) -> Result<u64, Failure> {
        Ok(self.all_used_bytes()?.saturating_sub(self.empty_bytes))
    }

    /// Bytes on the devices per byte of data, without compression and deduplication.
    pub fn raw_per_byte(&self) -> f64 {
        self.plan.profile.raw_per_byte(self.plan.device_count())
    }

    /// Shares equal blocks of the data if the study asks for it.
    pub fn deduplicate(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        if !self.plan.deduplicate {
            return Ok(());
        }
        let (hashes, point) = ("--hashfile=:memory:", shown(&self.mount_point));
        let arguments = ["-d", "-r", "-q", "-b", "16k", hashes, &point];
        Tool::DUPEREMOVE.work(&arguments, interrupted)
    }
}

impl Volume for Made {
    fn path(&self) -> &Path {
        &self.mount_point
    }

    fn made(&self) -> Option<&Made> {
        Some(self)
    }

    fn end(&self) -> Result<(), Failure> {
        if !self.base.exists() {
            return Ok(());
        }
        self.unmount()?;
        file_system::forget(&self.plan, &self.devices());
        locked(&self.loops).clear();
        if let Some(device) = self.plan.named_device() {
            device::wipe_own(device)?;
        }
        match &self.outside {
            Some(outside) => outside.end(),
            None => tree::remove(&self.base),
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // What remains is removed with the run directory.
        let _ = self.end();
    }
}

/// Creates a directory that others may enter.
fn make_dir(path: PathBuf) -> Result<PathBuf, Failure> {
    root::make_dir(&path).map_err(Failure::at("create", &path))?;
    Ok(path)
}
