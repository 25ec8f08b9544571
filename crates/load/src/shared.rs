//! What the users of one worker have in common.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use client::reactor::Semaphore;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::catalog::Catalog;

use crate::control::Control;
use crate::record::Recorder;

/// What all users of a worker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) control: Arc<Control>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) is_open_loop: bool,
}

/// The same, and how connections are opened.
#[derive(Debug)]
pub(crate) struct Worker<C> {
    pub(crate) shared: Rc<Shared>,
    pub(crate) connector: Arc<C>,
    /// Limits how many connections are opened at once.
    pub(crate) connecting: Semaphore,
    pub(crate) ignored_errors: Arc<[u32]>,
    pub(crate) think: Duration,
    /// For what need not be the same in each run.
    pub(crate) rng: RefCell<Xoshiro256PlusPlus>,
}

impl Shared {
    pub(crate) fn ended_guard(&self) -> EndedGuard {
        EndedGuard(Arc::clone(&self.control))
    }
}

/// Counts a user as ended when it is dropped.
pub(crate) struct EndedGuard(Arc<Control>);

impl Drop for EndedGuard {
    fn drop(&mut self) {
        self.0.user_ended();
    }
}
