//! Who is told what happens in trials, and whether they are to stop.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::Observer;

pub struct Run<'a> {
    pub observer: &'a mut dyn Observer,
    /// Becomes true when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

impl Run<'_> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
