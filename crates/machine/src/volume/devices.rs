//! What happens to the devices of a file system while a server uses it: devices fail, return, and
//! are replaced, and a scrub reads all of them.

use std::fs;
use std::io::Read;
use std::process::{Child, Output};
use std::time::Instant;

use measure::fault::Scrub;

use super::Volume;
use super::loop_device::LoopDevice;
use super::made::Made;
use crate::device;
use crate::failure::Failure;
use crate::locked;
use crate::process;
use crate::tool::{Tool, shown};

/// The size of a failed device: less than any file system needs.
const FAILED_BYTES: u64 = 512;
/// Exit code of `btrfs scrub` if there are errors that it could not correct.
const UNCORRECTABLE: i32 = 3;

/// A task on a whole volume, performed by a program.
#[derive(Debug)]
pub struct Job {
    pub(super) child: Child,
    /// The number of the device that is replaced, and the new one; `None` of a scrub.
    replacement: Option<(u32, LoopDevice)>,
}

impl Made {
    /// Makes a device, numbered from 1, fail all requests; returns when it did.
    pub fn fail(&self, device: u32) -> Result<Instant, Failure> {
        self.with_device(device, |device| device.limit(FAILED_BYTES))
    }

    /// Restores a device with the content that it had when it failed; returns when it was back.
    pub fn restore(&self, device: u32) -> Result<Instant, Failure> {
        self.with_device(device, |device| device.limit(0))
    }

    /// The major and minor numbers of a device.
    pub fn numbers(&self, device: u32) -> Result<(u32, u32), Failure> {
        self.with_device(device, LoopDevice::numbers)
    }

    /// Whether a new file can be written, together with everything written before.
    pub fn takes_writes(&self) -> bool {
        let path = self.path().join("probe");
        let written = fs::write(&path, "x")
            .and_then(|()| fs::File::open(&path)?.sync_all())
            .and_then(|()| fs::remove_file(&path));
        written.is_ok() && self.sync().is_ok()
    }

    /// Mounts the file system again, because after some errors the kernel refuses writes until
    /// then.
    pub fn remount(&self) -> Result<(), Failure> {
        self.unmount()?;
        self.devices()
            .iter()
            .try_for_each(|device| device::wait_until_unused(device))?;
        self.mount()
    }

    /// Starts to rebuild a device on a new one.
    pub fn replace(&self, device: u32) -> Result<Job, Failure> {
        self.numbers(device)?;
        let new = self.new_device()?;
        let (id, path, point) = (device.to_string(), shown(new.path()), shown(self.path()));
        let arguments = ["replace", "start", "-B", "-f", "-r", &id, &path, &point];
        Ok(Job {
            child: Tool::BTRFS.start(&arguments)?,
            replacement: Some((device, new)),
        })
    }

    /// Starts to read all blocks of all devices and to correct bad ones.
    pub fn scrub(&self) -> Result<Job, Failure> {
        // A scrub sees only committed data, and a server's fsync does not commit.
        self.sync()?;
        let arguments = ["scrub", "start", "-B", "-R", &shown(self.path())];
        Ok(Job {
            child: Tool::BTRFS.start(&arguments)?,
            replacement: None,
        })
    }

    /// Ends a job that is done; returns the result of a scrub, `None` if the job is not done.
    pub fn try_finish(&self, job: &mut Job) -> Result<Option<Option<Scrub>>, Failure> {
        let status = job
            .child
            .try_wait()
            .map_err(Failure::at("wait for", self.path()))?;
        let Some(status) = status else {
            return Ok(None);
        };
        let output = Output {
            status,
            stdout: read(job.child.stdout.take()),
            stderr: read(job.child.stderr.take()),
        };
        let is_scrub = job.replacement.is_none();
        let is_done = status.success() || (is_scrub && status.code() == Some(UNCORRECTABLE));
        if !is_done {
            return Err(Tool::BTRFS.failed(&output));
        }
        if let Some((device, new)) = job.replacement.take() {
            self.put_in_place(device, new)?;
        }
        Ok(Some(
            is_scrub.then(|| found(&String::from_utf8_lossy(&output.stdout))),
        ))
    }

    pub fn cancel(&self, mut job: Job) {
        device::cancel_jobs(self.path());
        process::kill(&mut job.child);
    }

    /// Puts the new device, which has the content of number `device`, in the place of that one,
    /// which is detached.
    fn put_in_place(&self, device: u32, new: LoopDevice) -> Result<(), Failure> {
        let mut loops = locked(&self.loops);
        let Some(old) = index(device).and_then(|index| loops.get_mut(index)) else {
            return Err(no_device(device, loops.len()));
        };
        std::mem::replace(old, new).remove()
    }

    fn with_device<T>(
        &self,
        device: u32,
        work: impl FnOnce(&LoopDevice) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let loops = locked(&self.loops);
        let found = index(device).and_then(|index| loops.get(index));
        found.map_or_else(|| Err(no_device(device, loops.len())), work)
    }
}

impl Job {
    /// Major and minor numbers of the device that replaces another.
    pub fn new_device(&self) -> Option<Result<(u32, u32), Failure>> {
        let replacement = self.replacement.as_ref();
        replacement.map(|(_, device)| device.numbers())
    }
}

fn index(device: u32) -> Option<usize> {
    usize::try_from(device).ok()?.checked_sub(1)
}

fn no_device(device: u32, count: usize) -> Failure {
    let message = format!("there is no device {device}: the volume has {count} loop devices");
    Failure::server(message)
}

/// Reads a program's output, which is short.
fn read(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(1 << 20).read_to_end(&mut bytes);
    }
    bytes
}

/// Parses the output of `btrfs scrub start -R`.
fn found(printed: &str) -> Scrub {
    let number = |name: &str| -> u64 {
        let value = host::field(printed, name, ':');
        value.map_or(0, |value| value.parse().unwrap_or_default())
    };
    let kinds = [
        "read_errors",
        "csum_errors",
        "verify_errors",
        "super_errors",
    ];
    Scrub {
        found: kinds.into_iter().map(number).sum(),
        corrected: number("corrected_errors"),
        uncorrectable: number("uncorrectable_errors"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scrub_found_is_read() {
        let printed = "scrub done for d38d7de1\nStatus:           finished\n\
                       Duration:         0:00:00\n\tdata_extents_scrubbed: 6400\n\
                       \tread_errors: 3\n\tcsum_errors: 25600\n\tverify_errors: 84\n\tno_csum: 7\n\
                       \tsuper_errors: 2\n\tuncorrectable_errors: 1\n\tcorrected_errors: 25684\n";
        let expected = Scrub {
            found: 25_689,
            corrected: 25_684,
            uncorrectable: 1,
        };
        assert_eq!(found(printed), expected);
        assert_eq!(found(""), Scrub::default());
    }
}
