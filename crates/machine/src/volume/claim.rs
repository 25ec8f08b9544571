//! Block devices that only one dyno at a time formats or changes, whatever its cache:
//!
//! ```text
//! /run/dyno-device-8:16   held by the dyno that does, and removed by it
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failure::Failure;
use crate::home::lock::Lock;

/// Numbers of the devices that this process has claimed, and how often.
static CLAIMED: Mutex<BTreeMap<String, (Lock, u32)>> = Mutex::new(BTreeMap::new());

/// A block device that no other dyno can claim. This process may claim it several times.
#[derive(Debug)]
pub(super) struct Claim(String);

impl Claim {
    /// Claims the device with a number such as `8:16`; `None` if another dyno has claimed it.
    pub(super) fn take(number: String) -> Result<Option<Self>, Failure> {
        let mut claimed = claimed();
        match claimed.get_mut(&number) {
            Some((_, times)) => *times += 1,
            None => match Lock::try_exclusive(&file(&number))? {
                Some(lock) => drop(claimed.insert(number.clone(), (lock, 1))),
                None => return Ok(None),
            },
        }
        Ok(Some(Self(number)))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = claimed();
        let Some((_, times)) = claimed.get_mut(&self.0) else {
            return;
        };
        *times -= 1;
        if *times == 0 {
            // Still locked here, so no other process removes or holds it. After a kill, it remains.
            let _ = fs::remove_file(file(&self.0));
            claimed.remove(&self.0);
        }
    }
}

/// The number of the device at a path.
pub(super) fn number(device: &Path) -> Result<String, Failure> {
    let meta = fs::metadata(device).map_err(Failure::at("inspect", device))?;
    let (major, minor) = (
        rustix::fs::major(meta.rdev()),
        rustix::fs::minor(meta.rdev()),
    );
    Ok(format!("{major}:{minor}"))
}

pub(super) fn file(number: &str) -> PathBuf {
    PathBuf::from(format!("/run/dyno-device-{number}"))
}

fn claimed() -> MutexGuard<'static, BTreeMap<String, (Lock, u32)>> {
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}
