//! The servers of a trial, with their data, ready to be driven.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::instance::{Reset, ResetHow, ServerProcess};
use plan::EngineSpec;

use crate::Database;
use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::monitors::{Watched, WatchedServer};
use crate::server_process::Found;
use crate::servers::{DataDir, Node};
use crate::template::Recipe;

/// The servers of one trial.
#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) members: Vec<Member>,
    /// How they got their data.
    pub(crate) reset: Option<Reset>,
    /// What a later trial must want to find these servers good enough.
    pub(crate) made_for: Option<MadeFor>,
}

/// One database under load.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) database: Database,
    /// The server, where it is ours.
    pub(crate) server: Option<Node>,
    /// Its settings that are not the defaults.
    pub(crate) settings: Vec<(String, String)>,
    /// The process of a server that is not ours, or why it is not seen; `None` where nobody
    /// looked for it.
    pub(crate) found: Option<Result<Found, String>>,
}

/// What tells the private servers of one trial from those of another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MadeFor {
    pub(crate) spec: EngineSpec,
    pub(crate) data: DataFor,
}

/// What tells their data apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataFor {
    pub(crate) recipe: Recipe,
    pub(crate) instances: u32,
    pub(crate) node: plan::Node,
}

impl Member {
    /// A database that is not a server of ours.
    pub(crate) fn given(database: Database) -> Self {
        Self {
            database,
            server: None,
            settings: Vec::new(),
            found: None,
        }
    }

    /// Its process, for the result.
    pub(crate) fn process(&self) -> Option<ServerProcess> {
        let seen = |pid| ServerProcess::Seen { pid };
        match (&self.server, &self.found) {
            (Some(server), _) => server.pid().map(seen),
            (None, Some(Ok(found))) => Some(seen(found.pid)),
            (None, Some(Err(reason))) => Some(ServerProcess::Unseen {
                reason: reason.clone(),
            }),
            (None, None) => None,
        }
    }

    /// What the monitors are to look at.
    fn watched(&self, number: u32) -> WatchedServer {
        let found = self.found.as_ref().and_then(|found| found.as_ref().ok());
        WatchedServer {
            number,
            pid: match &self.server {
                Some(server) => server.pid(),
                None => found.map(|found| found.pid),
            },
            data_dir: match &self.server {
                Some(server) => Some(server.data_dir()),
                None => found
                    .and_then(|found| found.data_dir.clone())
                    .or_else(|| self.database.file().map(ToOwned::to_owned)),
            },
            group_dir: self
                .server
                .as_ref()
                .and_then(|server| Some(server.group_dir()?.to_owned())),
            database: Some(self.database.clone()),
        }
    }
}

impl Rig {
    pub(crate) fn databases(&self) -> impl Iterator<Item = &Database> {
        self.members.iter().map(|member| &member.database)
    }

    /// What is driven, for people.
    pub(crate) fn shown(&self) -> String {
        match self.members.as_slice() {
            [] => String::new(),
            [one] => one.database.shown(),
            [first, ..] => format!(
                "{} and {} more",
                first.database.shown(),
                self.members.len() - 1
            ),
        }
    }

    /// What the monitors are to look at.
    pub(crate) fn watched(&self) -> Watched {
        let members = (1..).zip(&self.members);
        Watched {
            servers: members
                .map(|(number, member)| member.watched(number))
                .collect(),
        }
    }

    /// How the first server of ours that is not alive any more ended. With
    /// `is_likely` one is given a moment to end, because a connection to it broke.
    pub(crate) fn dead_server(&mut self, is_likely: bool) -> Option<String> {
        let mut servers = self.members.iter_mut().filter_map(|m| m.server.as_mut());
        servers.find_map(|server| match is_likely {
            true => server.exited_soon(),
            false => server.exited(),
        })
    }

    /// The same as a failure.
    pub(crate) fn death(&mut self, is_likely: bool) -> Option<Failure> {
        let how = self.dead_server(is_likely)?;
        let remedy = "its whole log is kept in the result directory";
        Some(Failure::new(Cause::Server, how).remedy(Some(remedy)))
    }

    /// Ends the servers and keeps their data.
    pub(crate) fn into_data(self, interrupted: &AtomicBool) -> Result<Vec<DataDir>, LabError> {
        let servers = self.members.into_iter().filter_map(|member| member.server);
        let data = servers.map(|server| server.stop_and_keep_data(interrupted));
        data.collect()
    }
}

/// How data came about.
pub(crate) fn reset(how: ResetHow, took: Duration, build: Duration) -> Reset {
    Reset {
        how,
        took_s: took.as_secs_f64(),
        settle_s: None,
        build_s: build.as_secs_f64(),
        bytes: 0,
        checksum: None,
    }
}
