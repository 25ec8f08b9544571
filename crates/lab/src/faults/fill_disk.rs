//! Fills the file system that a node's data is on, with a file in the node's own directory there.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use plan::FaultVolume;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::{Fault, Scene, nodes};
use crate::failure::{Failure, canceled};
use crate::instance::Instance;

/// How much is allocated at once, at first and in the end.
const LARGEST_BYTES: u64 = 1 << 30;
const SMALLEST_BYTES: u64 = 4 << 10;

pub(super) struct FillDisk {
    volume: FaultVolume,
    filler: Option<PathBuf>,
    /// Whether the server had to be started again.
    has_restarted: bool,
}

impl Fault for FillDisk {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        let mut members = nodes(instance)?.members().iter();
        members.try_for_each(|member| match member.lock().filler(self.volume)? {
            Some(_) => Ok(()),
            None => Err(no_disk()),
        })
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let path = scene.node()?.filler(self.volume)?.ok_or_else(no_disk)?;
        fill(self.filler.insert(path), scene.over)?;
        Ok(Instant::now())
    }

    /// A server that could not write may have ended, and is started again.
    fn heal(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        self.remove()?;
        let (at, has_restarted) = scene.revive(Instant::now())?;
        self.has_restarted = has_restarted;
        Ok(at)
    }

    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        scene.join_revived(self.has_restarted)
    }

    fn end(&mut self, _: &Scene<'_>) {
        // It is removed with the node's directory.
        let _ = self.remove();
    }
}

impl FillDisk {
    pub(super) fn new(fault: &plan::Fault) -> Self {
        Self {
            volume: fault.volume,
            filler: None,
            has_restarted: false,
        }
    }

    fn remove(&mut self) -> Result<(), Failure> {
        let Some(path) = self.filler.take() else {
            return Ok(());
        };
        fs::remove_file(&path).map_err(Failure::at("remove", &path))
    }
}

/// Fills a file system with a new file, in ever smaller parts.
fn fill(path: &Path, over: &AtomicBool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::at("fill the disk with", path)(error);
    let mut file = File::create_new(path).map_err(failed)?;
    let (mut length, mut part) = (0, LARGEST_BYTES);
    while part >= SMALLEST_BYTES {
        if over.load(Ordering::Relaxed) {
            return Err(canceled());
        }
        match fallocate(&file, FallocateFlags::empty(), length, part) {
            Ok(()) => length += part,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => part /= 2,
            Err(Errno::OPNOTSUPP) => return write_zeros(&mut file, over).map_err(failed),
            Err(error) => return Err(failed(error.into())),
        }
    }
    Ok(())
}

/// For file systems that cannot allocate space without writing.
fn write_zeros(file: &mut File, over: &AtomicBool) -> std::io::Result<()> {
    let zeros = vec![0; 1 << 20];
    while !over.load(Ordering::Relaxed) {
        match file.write(&zeros) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::QuotaExceeded => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn no_disk() -> Failure {
    let message = "dyno fills only a disk that the study names: make one with volume.filesystem, or set \
                   volume.directory to a directory on a disk of its own";
    Failure::server(message)
}
