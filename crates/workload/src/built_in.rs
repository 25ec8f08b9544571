//! The workloads that are built in, behind one type: which of them runs is known only
//! at run time, and decided once for each transaction.

use std::sync::Arc;

use crate::bulk_insert::{self, BulkUser};
use crate::catalog::{Catalog, Label};
use crate::dialect::Dialect;
use crate::name::{Body, WorkloadName};
use crate::oltp::{self, OltpUser, Shared};
use crate::options::{Options, OptionsError};
use crate::session::{Session, SessionError};
use crate::virtual_user::{Done, VirtualUser, Workload};

/// A workload that is built in, ready to run.
#[derive(Debug)]
pub struct BuiltIn {
    catalog: Arc<Catalog>,
    users: Users,
}

/// What the virtual users are made of.
#[derive(Debug)]
enum Users {
    Oltp(Arc<Shared>),
    BulkInsert(Label),
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
        let (catalog, users) = match name.body() {
            Body::Oltp(steps) => {
                let (catalog, shared) = oltp::prepare(steps, options, dialect, seed, users)?;
                (catalog, Users::Oltp(Arc::new(shared)))
            }
            Body::BulkInsert => {
                let (catalog, label) = bulk_insert::catalog();
                (catalog, Users::BulkInsert(label))
            }
        };
        Ok(BuiltIn {
            catalog: Arc::new(catalog),
            users,
        })
    }
}

impl Workload for BuiltIn {
    type User = BuiltInUser;

    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    fn user(&self, index: u32) -> Result<BuiltInUser, OptionsError> {
        Ok(match &self.users {
            Users::Oltp(shared) => BuiltInUser::Oltp(OltpUser::new(shared, index)?),
            Users::BulkInsert(label) => BuiltInUser::BulkInsert(BulkUser::new(*label, index)),
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
