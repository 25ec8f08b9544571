//! The traits that a workload implements.

use std::future::Future;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::options::OptionsError;
use crate::session::{Session, SessionError};

/// The statements of a load, and the virtual users that execute them.
pub trait Workload {
    type User: VirtualUser + Send + 'static;

    /// Its statements and their labels. Every connection is opened with them.
    fn catalog(&self) -> &Arc<Catalog>;

    /// Virtual user number `index`, from 0. The same seed and number result in the
    /// same transactions.
    fn user(&self, index: u32) -> Result<Self::User, OptionsError>;
}

/// One virtual user. Small, because a load may have thousands of them.
pub trait VirtualUser {
    fn transaction<S: Session>(
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
    fn finish<S: Session>(
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
}
