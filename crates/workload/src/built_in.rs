//! The workloads that are built in, behind one type: which of them runs is known only
//! at run time, and decided once for each transaction.

use std::sync::Arc;

use crate::bulk_insert::{BulkInsert, BulkUser};
use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::name::{Body, WorkloadName};
use crate::oltp::{Oltp, OltpUser};
use crate::options::{Options, OptionsError};
use crate::session::{Session, SessionError};
use crate::virtual_user::{Done, VirtualUser, Workload};

/// A workload that is built in, ready to run.
#[derive(Debug)]
pub enum BuiltIn {
    Oltp(Oltp),
    BulkInsert(BulkInsert),
}

#[derive(Debug)]
pub enum BuiltInUser {
    Oltp(OltpUser),
    BulkInsert(BulkUser),
}

impl BuiltIn {
    /// Prepares the workload of that name for `users` virtual users.
    pub fn new(
        name: WorkloadName,
        options: &Options,
        dialect: &Dialect,
        seed: u64,
        users: u32,
    ) -> Result<BuiltIn, OptionsError> {
        name.validate(options)?;
        Ok(match name.body() {
            Body::Oltp(steps) => BuiltIn::Oltp(Oltp::new(steps, options, dialect, seed, users)?),
            Body::BulkInsert => BuiltIn::BulkInsert(BulkInsert::new()),
        })
    }
}

impl Workload for BuiltIn {
    type User = BuiltInUser;

    fn catalog(&self) -> &Arc<Catalog> {
        match self {
            BuiltIn::Oltp(workload) => workload.catalog(),
            BuiltIn::BulkInsert(workload) => workload.catalog(),
        }
    }

    fn user(&self, index: u32) -> Result<BuiltInUser, OptionsError> {
        Ok(match self {
            BuiltIn::Oltp(workload) => BuiltInUser::Oltp(workload.user(index)?),
            BuiltIn::BulkInsert(workload) => BuiltInUser::BulkInsert(workload.user(index)?),
        })
    }
}

impl VirtualUser for BuiltInUser {
    async fn transaction<S: Session>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        match self {
            BuiltInUser::Oltp(user) => user.transaction(session).await,
            BuiltInUser::BulkInsert(user) => user.transaction(session).await,
        }
    }

    #[inline]
    fn unsent(&self) -> usize {
        match self {
            BuiltInUser::Oltp(user) => user.unsent(),
            BuiltInUser::BulkInsert(user) => user.unsent(),
        }
    }

    async fn finish<S: Session>(&mut self, session: &mut S) -> Result<(), SessionError> {
        match self {
            BuiltInUser::Oltp(user) => user.finish(session).await,
            BuiltInUser::BulkInsert(user) => user.finish(session).await,
        }
    }
}
