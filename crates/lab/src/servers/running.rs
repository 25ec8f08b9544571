//! The process of a node.

use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::error::LabError;
use crate::process;

/// How long a busy kernel may take to report an end that the network has reported already.
const REPORT_LIMIT: Duration = Duration::from_secs(5);

/// The number of a node's process. Clones share it: monitors follow a node that restarts.
#[derive(Debug, Clone, Default)]
pub struct ProcessId(Arc<AtomicU32>);

impl ProcessId {
    /// The process; `None` while there is none.
    #[must_use]
    pub fn get(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    fn set(&self, id: u32) {
        self.0.store(id, Ordering::Relaxed);
    }
}

impl From<Option<u32>> for ProcessId {
    fn from(id: Option<u32>) -> Self {
        Self(Arc::new(AtomicU32::new(id.unwrap_or(0))))
    }
}

/// A process that does not outlive this value.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    id: ProcessId,
}

impl Running {
    /// A process that has just been started.
    pub(super) fn new(child: Child, id: &ProcessId) -> Self {
        id.set(child.id());
        Self {
            child,
            id: id.clone(),
        }
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(process::how_it_ended(status))
    }

    /// The same, when it is known to be ending.
    pub(super) fn ended_soon(&mut self) -> Option<String> {
        process::wait(&mut self.child, REPORT_LIMIT).map(process::how_it_ended)
    }

    /// Asks it to end, and waits at most `limit`; otherwise as [`process::finish`].
    pub(super) fn stop(
        &mut self,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Option<ExitStatus>, LabError> {
        process::terminate(&mut self.child);
        process::finish(&mut self.child, limit, interrupted)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        process::kill(&mut self.child);
        self.id.set(0);
    }
}
