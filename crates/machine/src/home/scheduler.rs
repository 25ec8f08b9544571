//! The IO scheduler of a volume's devices. If dyno is killed, the next run restores it.

use std::fs;
use std::path::Path;

use host::{LOCAL, device, text};

use super::Home;
use super::journal::{Scheduled, Step, Undo};
use crate::device::Claim;
use crate::failure::Failure;

/// Schedulers that dyno changed, restored when this value is dropped.
#[derive(Debug)]
pub struct Scheduler {
    step: Step,
    before: Vec<Scheduled>,
    /// Two dynos would restore each other's schedulers.
    _claims: Vec<Claim>,
}

impl Scheduler {
    /// Sets the scheduler of the devices below a directory.
    pub fn set(home: &Home, dir: &Path, wanted: &str) -> Result<Self, Failure> {
        let devices = device::below_dir(&LOCAL, dir);
        if devices.is_empty() {
            return Err(unfit(
                format!("{} is on no block device", dir.display()),
                "remove the scheduler, or choose a directory on a disk",
            ));
        }
        let (mut before, mut claims) = (Vec::new(), Vec::new());
        for device in &devices {
            claims.extend(claim(device)?);
            let words = text(&LOCAL, file(device)).unwrap_or_default();
            let current = current(device, &words, wanted)?;
            if current != wanted {
                before.push(Scheduled {
                    device: device.clone(),
                    identity: identity(device),
                    before: current.to_owned(),
                    set: wanted.to_owned(),
                });
            }
        }
        let (number, _) = home.new_name();
        let set = Self {
            step: home.record(number, Undo::RestoreSchedulers(before.clone()))?,
            before,
            _claims: claims,
        };
        for device in &devices {
            write(device, wanted)?;
        }
        Ok(set)
    }

    /// Restores the devices' previous schedulers.
    pub fn end(&self) -> Result<(), Failure> {
        self.step.undo(|| put_back(&self.before).map(|()| true))
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // What cannot be restored now is tried again with the run directory.
        let _ = self.end();
    }
}

pub(super) fn put_back(before: &[Scheduled]) -> Result<(), Failure> {
    for one in before {
        let device = &*one.device;
        // The name may belong to another device by now, and someone else may have chosen a
        // scheduler.
        if identity(device) != one.identity {
            continue;
        }
        let _claim = claim(device)?;
        let words = text(&LOCAL, file(device)).unwrap_or_default();
        if words.contains(&format!("[{}]", one.set)) {
            write(device, &one.before)?;
        }
    }
    Ok(())
}

/// `None` unless this user is root: others cannot change a scheduler.
fn claim(device: &str) -> Result<Option<Claim>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let number = host::line(&LOCAL, format!("/sys/block/{device}/dev")).unwrap_or_default();
    Claim::take(number)?.map(Some).ok_or_else(|| {
        unfit(
            format!("another dyno has set that of {device}"),
            "wait for it to end, or choose another disk",
        )
    })
}

/// Identifies a device, even if another one gets its name: the kernel's number, and the boot.
fn identity(device: &str) -> String {
    let word = |path: &str| host::line(&LOCAL, path).unwrap_or_else(|| "-".to_owned());
    let number = word(&format!("/sys/block/{device}/diskseq"));
    format!("{number} {}", word("/proc/sys/kernel/random/boot_id"))
}

/// The current one of the words `none [mq-deadline] kyber`, which must include `wanted`.
fn current<'a>(device: &str, words: &'a str, wanted: &str) -> Result<&'a str, Failure> {
    let bare = |word: &'a str| word.trim_matches(['[', ']']);
    let known: Vec<&str> = words.split_whitespace().map(bare).collect();
    let mut typed = words.split_whitespace();
    match typed.find(|word| word.starts_with('[')) {
        Some(current) if known.contains(&wanted) => Ok(bare(current)),
        Some(_) => Err(unfit(
            format!("{device} has no IO scheduler {wanted}"),
            &format!("use one that it has: {}", known.join(", ")),
        )),
        None => Err(unfit(
            format!("{device} has no IO scheduler"),
            "remove the scheduler from the study",
        )),
    }
}

fn write(device: &str, scheduler: &str) -> Result<(), Failure> {
    let file = file(device);
    fs::write(&file, scheduler).map_err(|error| {
        unfit(
            format!("cannot write {file}: {error}"),
            "run dyno as root, or remove the scheduler from the study",
        )
    })
}

fn file(device: &str) -> String {
    format!("/sys/block/{device}/queue/scheduler")
}

fn unfit(why: String, remedy: &str) -> Failure {
    Failure::usage(format!("cannot set the IO scheduler: {why}"))
        .remedy(remedy)
        .key("volume.scheduler")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_says_which_schedulers_it_has() {
        let words = "none [mq-deadline] kyber bfq\n";
        assert_eq!(current("vda", words, "bfq").unwrap(), "mq-deadline");
        let error = current("vda", words, "cfq").unwrap_err();
        assert!(error.to_string().contains("vda has no IO scheduler cfq"));
        assert!(
            error
                .remedy
                .unwrap()
                .contains("none, mq-deadline, kyber, bfq")
        );
        current("vda", "", "none").unwrap_err();
    }
}
