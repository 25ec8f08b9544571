//! What virtual users connect to: servers, or nothing.

use std::sync::Arc;

use ::load::{Barrier, LoadError, LoadEvent, LoadOutcome, LoadSpec, Stop};
use client::route::Route;
use engine::Load;
use lab::{Access, Database};
use sysbench::options::{OptionError, Targets};
use workload::built_in::BuiltIn;
use workload::catalog::{Catalog, Label};
use workload::session::{Connect, Param, Reply, Rows, Session, SessionError};

use crate::failure::Failure;
use crate::server;

/// The servers of a command line, which take connections in turn.
pub(super) struct Servers {
    pub(super) targets: Targets,
    /// `None` in a dry run. That they cannot be reached is an error only for who uses them.
    database: Result<Option<Database>, Failure>,
}

impl Servers {
    pub(super) fn open(targets: Targets) -> Self {
        Self {
            database: open(&targets),
            targets,
        }
    }

    pub(super) fn reached(&self) -> Result<Option<&Database>, Failure> {
        let database = self.database.as_ref().map(Option::as_ref);
        database.map_err(Failure::clone)
    }

    pub(super) fn drive(
        &self,
        spec: &LoadSpec,
        workload: &BuiltIn,
        stop: &Stop,
        tell: &mut dyn FnMut(LoadEvent),
    ) -> Result<LoadOutcome, LoadError> {
        let barrier = &Barrier::new(1);
        let reached = self.reached();
        let Ok(Some(database)) = reached else {
            let nowhere = Arc::new(Nowhere(reached.err()));
            return ::load::run(spec, &nowhere, workload, barrier, stop, None, tell);
        };
        let servers = self.targets.urls.len();
        database.drive(Load {
            spec,
            workload,
            protocol: self.targets.protocol,
            stamp_replies: true,
            barrier,
            route: &Arc::new(Route::new(servers, |_| true, false)),
            stop,
            pulse: None,
            tell,
        })
    }

    /// The error that ended a load, as sysbench logs it, and what to do about it.
    pub(super) fn explain(&self, error: &SessionError) -> OptionError {
        let remedy = match &self.database {
            Ok(database) => database.as_ref().and_then(|one| one.remedy(error)),
            Err(failure) => failure.remedy.as_deref(),
        };
        let failure = Failure::server(self.targets.fatal(error));
        failure.perhaps(remedy).into()
    }
}

/// Opens each server, and makes them one database.
fn open(targets: &Targets) -> Result<Option<Database>, Failure> {
    if targets.is_dry_run {
        return Ok(None);
    }
    let access = server::access(&targets.login, None)?;
    let given = Some(targets.password.clone()).filter(|password| !password.is_empty());
    let access = Access {
        user: targets.user.clone(),
        password: given.or(access.password),
        ..access
    };
    let open = |url: &String| engine::of_url(url)?.open(url, &access, None);
    let members = targets.urls.iter().map(open);
    let members = members.collect::<Result<Vec<Database>, _>>()?;
    let first = members.first();
    let all = first.and_then(|first| first.server()?.with_members(&members));
    all.map(Some)
        .ok_or_else(|| Failure::usage("no server is named"))
}

/// Opens connections on which every statement succeeds, or none for the reason that there is.
struct Nowhere(Option<Failure>);

/// Counts the statements that are prepared.
struct DrySession(u32);

impl Connect for Nowhere {
    type Session = DrySession;

    async fn connect(&self, catalog: &Arc<Catalog>) -> Result<DrySession, SessionError> {
        match &self.0 {
            Some(failure) => Err(SessionError::of_script(failure.message.clone())),
            None => Ok(DrySession(catalog.statements.len() as u32)),
        }
    }
}

impl Session for DrySession {
    async fn execute(&mut self, _: u32, _: &[Param<'_>]) -> Result<Reply, SessionError> {
        Ok(Reply::default())
    }

    async fn query(&mut self, _: Label, _: &str) -> Result<Reply, SessionError> {
        Ok(Reply::default())
    }

    async fn fetch(&mut self, _: &str, _: &mut Rows) -> Result<Reply, SessionError> {
        Ok(Reply::default())
    }

    async fn prepare(&mut self, _: &Arc<str>) -> Result<u32, SessionError> {
        self.0 += 1;
        Ok(self.0 - 1)
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}
