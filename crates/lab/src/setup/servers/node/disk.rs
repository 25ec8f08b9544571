//! What happens to the volumes of a node and their devices while its server runs.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use measure::fault::Scrub;
use plan::{DiskLimits, FaultVolume};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::Node;
use crate::failure::{Failure, unless_canceled};
use crate::volume::{Job, Made};

/// How much is allocated at once to fill a disk, at first and in the end.
const LARGEST_BYTES: u64 = 1 << 30;
const SMALLEST_BYTES: u64 = 4 << 10;

/// What is going on on the volumes.
#[derive(Debug, Default)]
pub(super) struct DiskFaults {
    /// The files that fill disks.
    fillers: Vec<(FaultVolume, PathBuf)>,
    jobs: Vec<(FaultVolume, Job)>,
}

impl Node {
    /// Fills the disk of a volume, until the load ends at the latest; returns when it was full.
    pub(crate) fn fill_disk(
        &mut self,
        which: FaultVolume,
        over: &AtomicBool,
    ) -> Result<Instant, Failure> {
        let path = self.data.filler(which)?.ok_or_else(no_disk)?;
        // Fails if another fault has already created the file, which then stays.
        let failed = Failure::at("fill the disk with", &path);
        let file = File::create_new(&path).map_err(failed)?;
        let filled = fill(file, over).map_err(failed);
        let filled = filled.and_then(|()| unless_canceled(over));
        self.disk.fillers.push((which, path));
        if filled.is_err() {
            // The failure explains more.
            let _ = self.free_disk(which);
        }
        filled.map(|()| Instant::now())
    }

    /// Removes the file that fills the disk of a volume; returns when it was gone.
    pub(crate) fn free_disk(&mut self, which: FaultVolume) -> Result<Instant, Failure> {
        let is_there = |(volume, _): &mut (FaultVolume, PathBuf)| *volume == which;
        for (_, path) in self.disk.fillers.extract_if(.., is_there) {
            fs::remove_file(&path).map_err(Failure::at("remove", &path))?;
        }
        Ok(Instant::now())
    }

    /// Makes a device fail all requests; returns when it did.
    pub(crate) fn fail_device(&self, which: FaultVolume, device: u32) -> Result<Instant, Failure> {
        self.with_volume(which, |made| made.fail(device))
    }

    /// Restores a device that failed; returns when it was back.
    pub(crate) fn restore_device(
        &self,
        which: FaultVolume,
        device: u32,
    ) -> Result<Instant, Failure> {
        self.with_volume(which, |made| made.restore(device))
    }

    /// Gives a device these limits, and those of its volume where these have none.
    pub(crate) fn limit_device(
        &self,
        which: FaultVolume,
        device: u32,
        limits: DiskLimits,
    ) -> Result<Instant, Failure> {
        self.with_volume(which, |made| {
            let limits = limits.or(made.limits());
            self.site().limit_io(&[made.numbers(device)?], &limits)?;
            Ok(Instant::now())
        })
    }

    /// Begins to replace a device, or to read all of a volume; returns when that began.
    pub(crate) fn begin_job(
        &mut self,
        which: FaultVolume,
        replaced: Option<u32>,
    ) -> Result<Instant, Failure> {
        let (job, began_at) = self.with_volume(which, |made| {
            let job = match replaced {
                Some(device) => made.replace(device)?,
                None => made.scrub()?,
            };
            Ok((job, Instant::now()))
        })?;
        let new_device = job.new_device();
        self.disk.jobs.push((which, job));
        let limited = new_device.map_or(Ok(()), |device| {
            self.with_volume(which, |made| match made.limits().is_none() {
                true => Ok(()),
                false => self.site().limit_io(&[device?], made.limits()),
            })
        });
        if limited.is_err() {
            // The failure explains more.
            let _ = self.cancel_job(which);
        }
        limited.map(|()| began_at)
    }

    /// Whether the job on a volume is done, and what a scrub found.
    pub(crate) fn try_finish_job(
        &mut self,
        which: FaultVolume,
    ) -> Result<(bool, Option<Scrub>), Failure> {
        let Some(mut job) = self.take_job(which) else {
            return Ok((true, None));
        };
        let found = self.with_volume(which, |made| made.try_finish(&mut job))?;
        if found.is_none() {
            self.disk.jobs.push((which, job));
        }
        Ok((found.is_some(), found.flatten()))
    }

    pub(crate) fn cancel_job(&mut self, which: FaultVolume) -> Result<(), Failure> {
        let job = self.take_job(which);
        job.map_or(Ok(()), |job| {
            self.with_volume(which, |made| {
                made.cancel(job);
                Ok(())
            })
        })
    }

    fn take_job(&mut self, which: FaultVolume) -> Option<Job> {
        let mut jobs = self.disk.jobs.iter();
        let index = jobs.position(|(volume, _)| *volume == which)?;
        Some(self.disk.jobs.swap_remove(index).1)
    }

    /// Kills the node and mounts its file systems anew, if it has ended or they take no more writes;
    /// returns whether it must be started again.
    pub(crate) fn revive(&mut self) -> Result<bool, Failure> {
        let volumes: Vec<_> = self.data.volumes().cloned().collect();
        let made: Vec<_> = volumes.iter().filter_map(|volume| volume.made()).collect();
        let is_broken = made.iter().any(|made| !made.takes_writes());
        if self.died(false).is_none() && self.is_running() && !is_broken {
            return Ok(false);
        }
        self.kill();
        // The kernel's cache may have what was never written.
        made.into_iter().try_for_each(Made::remount)?;
        Ok(true)
    }

    /// Does something with the file system that was made for a volume of the node.
    fn with_volume<T>(
        &self,
        which: FaultVolume,
        work: impl FnOnce(&Made) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let volume = self.data.volume(which);
        let volume = volume
            .ok_or_else(|| Failure::server("the log has no volume of its own: use [log_volume]"))?;
        work(volume.made().ok_or_else(|| {
            let message = "only a volume that dyno makes has devices that can fail: use \
                           volume.filesystem";
            Failure::server(message)
        })?)
    }
}

fn no_disk() -> Failure {
    let message = "dyno fills only a disk that the study names: make one with volume.filesystem, or set \
                   volume.directory to a directory on a disk of its own";
    Failure::server(message)
}

/// Fills a file system by growing a new file in ever smaller parts; stops early if the load ends.
fn fill(mut file: File, over: &AtomicBool) -> io::Result<()> {
    let (mut length, mut part) = (0, LARGEST_BYTES);
    while part >= SMALLEST_BYTES && !over.load(Ordering::Relaxed) {
        match fallocate(&file, FallocateFlags::empty(), length, part) {
            Ok(()) => length += part,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => part /= 2,
            Err(Errno::OPNOTSUPP) => return write_zeros(&mut file, over),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// For file systems that cannot allocate space without writing.
fn write_zeros(file: &mut File, over: &AtomicBool) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    while !over.load(Ordering::Relaxed) {
        match file.write(&zeros) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => break,
                ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
    Ok(())
}
