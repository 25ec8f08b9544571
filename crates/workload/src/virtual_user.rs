//! The traits that a workload implements.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::options::OptionsError;
use crate::session::{Connections, SessionError};

/// The statements of a load, and the virtual users that execute them.
pub trait Workload {
    type User: VirtualUser + 'static;

    /// Its statements and their labels. Every connection is opened with them.
    fn catalog(&self) -> &Arc<Catalog>;

    /// The number of its kinds of transactions, whose response times are also recorded apart; one
    /// if it does not tell them apart.
    fn kinds(&self) -> usize {
        1
    }

    /// Virtual users, by their numbers from 0. The same seed and number result in the same
    /// transactions.
    fn users(&self, indexes: Range<u32>) -> NewUsers<Self::User>;
}

/// Creates virtual users on the thread that runs them, which they need not leave.
pub type NewUsers<U> = Box<dyn FnOnce() -> Result<Vec<U>, OptionsError> + Send>;

/// One virtual user. Small, because a load may have thousands of them.
pub trait VirtualUser {
    /// What the user does before the load begins: it opens its connections, mostly one. An error
    /// ends the load.
    fn start<S: Connections>(
        &mut self,
        session: &mut S,
    ) -> impl Future<Output = Result<(), SessionError>> {
        async move { session.open().await.map(drop) }
    }

    fn transaction<S: Connections>(
        &mut self,
        session: &mut S,
    ) -> impl Future<Output = Result<Done, SessionError>>;

    /// Transactions that returned but still have to be sent, by a later
    /// [`VirtualUser::transaction`] or by [`VirtualUser::finish`]; they end when they
    /// are. If a failure makes this number smaller, the difference is lost.
    #[inline]
    fn unsent(&self) -> usize {
        0
    }

    /// Sends what [`VirtualUser::unsent`] counts, at the end of the load.
    fn finish<S: Connections>(
        &mut self,
        _session: &mut S,
    ) -> impl Future<Output = Result<(), SessionError>> {
        std::future::ready(Ok(()))
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Statements that look up one row by its id.
    pub lookups: u32,
    /// Those of them that found none.
    pub misses: u32,
    /// Which kind of transaction it was, below [`Workload::kinds`].
    pub kind: u32,
    /// Whether this was the user's last transaction, which does not count.
    pub is_last: bool,
}
