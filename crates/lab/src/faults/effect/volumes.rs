//! Faults of the volumes of a node and their devices.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use plan::DiskLimits;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::{Effect, Undo};
use crate::Failure;
use crate::failure::unless_canceled;
use crate::volume::{Job, Made};

/// How much is allocated at once to fill a disk, at first and in the end.
const LARGEST_BYTES: u64 = 1 << 30;
const SMALLEST_BYTES: u64 = 4 << 10;

impl Effect<'_> {
    pub(super) fn fill_disk(&mut self) -> Result<Instant, Failure> {
        let path = self.context.node()?.data().filler(self.options.volume)?;
        let path = path.ok_or_else(no_disk)?;
        // Fails if another fault has already created the file, which then stays.
        let failed = Failure::at("fill the disk with", &path);
        let file = File::create_new(&path).map_err(failed)?;
        self.undo = Some(Undo::Remove(path.clone()));
        fill(file, self.context.over).map_err(failed)?;
        unless_canceled(self.context.over)?;
        Ok(Instant::now())
    }

    pub(super) fn free_disk(&mut self) -> Result<Instant, Failure> {
        let removed_at = self.undo()?;
        self.revive(removed_at)
    }

    pub(super) fn fail_device(&mut self) -> Result<Instant, Failure> {
        let device = self.device();
        self.with_volume(|made| made.fail(device))
    }

    pub(super) fn restore_device(&mut self) -> Result<Instant, Failure> {
        let device = self.device();
        let restored_at = self.with_volume(|made| made.restore(device))?;
        self.revive(restored_at)
    }

    /// A server that could not read or write may have ended, and is started again.
    fn revive(&mut self, since: Instant) -> Result<Instant, Failure> {
        let (at, has_restarted) = self.context.revive(since)?;
        self.has_restarted = has_restarted;
        Ok(at)
    }

    pub(super) fn slow_device(&mut self) -> Result<Instant, Failure> {
        self.limit_device(&self.options.limits)
    }

    pub(super) fn speed_up_device(&mut self) -> Result<Instant, Failure> {
        self.limit_device(&DiskLimits::default())
    }

    /// Gives a device these limits, and those of its volume where these have none.
    fn limit_device(&self, limits: &DiskLimits) -> Result<Instant, Failure> {
        self.with_volume(|made| {
            let device = made.numbers(self.device())?;
            let limits = limits.or(made.limits());
            self.context.site()?.limit_io(&[device], &limits)?;
            Ok(Instant::now())
        })
    }

    pub(super) fn replace_device(&mut self) -> Result<Instant, Failure> {
        let device = self.device();
        self.begin_job(|made| made.replace(device))
    }

    pub(super) fn scrub(&mut self) -> Result<Instant, Failure> {
        self.begin_job(Made::scrub)
    }

    /// Begins work on a volume; returns when it began.
    fn begin_job(
        &mut self,
        begin: impl FnOnce(&Made) -> Result<Job, Failure>,
    ) -> Result<Instant, Failure> {
        let context = self.context;
        context.with_volume(self.options.volume, |made| {
            let job = begin(made)?;
            let began_at = Instant::now();
            let new_device = job.new_device();
            self.undo = Some(Undo::Cancel(job));
            if let Some(device) = new_device
                && !made.limits().is_none()
            {
                context.site()?.limit_io(&[device?], made.limits())?;
            }
            Ok(began_at)
        })
    }

    pub(super) fn finish_job(&mut self) -> Result<Instant, Failure> {
        let context = self.context;
        if let Some(Undo::Cancel(job)) = &mut self.undo {
            let finish = |made: &Made| made.finish(job, context.over);
            self.found = context.with_volume(self.options.volume, finish)?;
        }
        self.undo = None;
        Ok(Instant::now())
    }

    fn with_volume<T>(&self, work: impl FnOnce(&Made) -> Result<T, Failure>) -> Result<T, Failure> {
        self.context.with_volume(self.options.volume, work)
    }

    /// The first device unless the study names one.
    fn device(&self) -> u32 {
        self.options.device.unwrap_or(1)
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
