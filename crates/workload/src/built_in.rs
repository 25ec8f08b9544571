//! All workloads behind one type: which of them runs is known only at run time, and decided once
//! for each transaction.

use std::ops::Range;
use std::sync::Arc;

use crate::bulk_insert::{self, BulkUser};
use crate::catalog::{Catalog, Label};
use crate::dialect::Dialect;
use crate::mix::Mix;
use crate::oltp::{self, OltpUser, Shared};
use crate::options::{Options, OptionsError};
use crate::program::{Script, ScriptUser};
use crate::session::{Connections, SessionError};
use crate::virtual_user::{Done, NewUsers, VirtualUser, Workload};

/// A workload that is built in, or a script, ready to run.
#[derive(Debug)]
pub struct BuiltIn {
    catalog: Arc<Catalog>,
    users: Users,
}

/// What the virtual users are made of.
#[derive(Debug, Clone)]
enum Users {
    Oltp(Arc<Shared>),
    BulkInsert(Label),
    Script(Arc<dyn Script>),
}

pub enum BuiltInUser {
    Oltp(OltpUser),
    BulkInsert(BulkUser),
    Script(ScriptUser),
}

impl Users {
    fn create(&self, indexes: Range<u32>) -> Result<Vec<BuiltInUser>, OptionsError> {
        match self {
            Self::Oltp(shared) => {
                let user = |index| OltpUser::new(shared, index).map(BuiltInUser::Oltp);
                Ok(indexes.map(user).collect::<Result<_, _>>()?)
            }
            Self::BulkInsert(label) => {
                let user = |index| BuiltInUser::BulkInsert(BulkUser::new(*label, index));
                Ok(indexes.map(user).collect())
            }
            Self::Script(script) => {
                let programs = script.programs(indexes)?.into_iter();
                let users = programs.map(ScriptUser::new).map(BuiltInUser::Script);
                Ok(users.collect())
            }
        }
    }
}

impl BuiltIn {
    /// Prepares the workload of a name, or a mix, for `users` virtual users.
    pub fn new(
        mix: impl Into<Mix>,
        options: &Options,
        dialect: &Dialect,
        seed: u64,
        users: u32,
    ) -> Result<BuiltIn, OptionsError> {
        let mix = mix.into();
        mix.validate(options)?;
        let (catalog, users) = match mix.steps() {
            Some(kinds) => {
                let (catalog, shared) = oltp::prepare(&kinds, options, dialect, seed, users)?;
                (catalog, Users::Oltp(Arc::new(shared)))
            }
            None => {
                let (catalog, label) = bulk_insert::catalog();
                (catalog, Users::BulkInsert(label))
            }
        };
        Ok(BuiltIn {
            catalog: Arc::new(catalog),
            users,
        })
    }

    /// A script as a workload.
    pub fn of_script(script: Arc<dyn Script>) -> Self {
        Self {
            catalog: Arc::new(script.catalog()),
            users: Users::Script(script),
        }
    }
}

impl Workload for BuiltIn {
    type User = BuiltInUser;

    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    fn kinds(&self) -> usize {
        match &self.users {
            Users::Oltp(shared) => shared.kinds(),
            Users::BulkInsert(_) => 1,
            Users::Script(script) => script.kinds(),
        }
    }

    fn users(&self, indexes: Range<u32>) -> NewUsers<BuiltInUser> {
        let users = self.users.clone();
        Box::new(move || users.create(indexes))
    }
}

impl VirtualUser for BuiltInUser {
    async fn start<S: Connections>(&mut self, session: &mut S) -> Result<(), SessionError> {
        match self {
            Self::Oltp(user) => user.start(session).await,
            Self::BulkInsert(user) => user.start(session).await,
            // Boxed, as below, because it would reserve its larger space in the futures of all users.
            Self::Script(user) => Box::pin(user.start(session)).await,
        }
    }

    async fn transaction<S: Connections>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        match self {
            Self::Oltp(user) => user.transaction(session).await,
            Self::BulkInsert(user) => user.transaction(session).await,
            Self::Script(user) => Box::pin(user.transaction(session)).await,
        }
    }

    #[inline]
    fn unsent(&self) -> usize {
        match self {
            Self::Oltp(_) | Self::Script(_) => 0,
            Self::BulkInsert(user) => user.unsent(),
        }
    }

    async fn finish<S: Connections>(&mut self, session: &mut S) -> Result<(), SessionError> {
        match self {
            Self::Oltp(_) => Ok(()),
            Self::BulkInsert(user) => user.finish(session).await,
            Self::Script(user) => user.finish(session).await,
        }
    }
}
