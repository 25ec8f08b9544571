//! The state that the users of one worker share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use client::reactor::Semaphore;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::catalog::Catalog;
use workload::session::SessionError;

use crate::control::Control;
use crate::record::Recorder;
use crate::spec::{ANY_ERROR, LoadSpec};

/// The part that does not depend on the type of the connection.
#[derive(Debug)]
pub(crate) struct LoadContext<K> {
    pub(crate) clock: K,
    pub(crate) control: Arc<Control>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) is_open_loop: bool,
}

/// A worker, from the point of view of its users.
#[derive(Debug)]
pub(crate) struct Worker<C, K> {
    pub(crate) context: Rc<LoadContext<K>>,
    pub(crate) connector: Arc<C>,
    /// Limits how many connections are opened at once.
    pub(crate) connecting: Semaphore,
    /// The settings of the load, with this worker's own seed and limit of connections.
    pub(crate) spec: LoadSpec,
    /// For think times and for jitter. The order in which users draw from it varies between runs.
    pub(crate) rng: RefCell<Xoshiro256PlusPlus>,
}

impl<C, K> Worker<C, K> {
    pub(crate) fn ignores(&self, error: &SessionError) -> bool {
        let mut ignored = self.spec.ignored_errors.iter();
        ignored.any(|code| code == ANY_ERROR || error.has_code(code))
    }
}

/// Counts a user as ended when dropped.
pub(crate) struct EndedGuard(pub(crate) Arc<Control>);

impl Drop for EndedGuard {
    fn drop(&mut self) {
        self.0.user_ended();
    }
}
