//! Instances: endpoints with data and a load.

use std::sync::{Arc, MutexGuard};

use client::route::Route;
use measure::instance::ServerProcess;
use plan::Follow;

use crate::Database;
use crate::cluster::{Cluster, Member};
use crate::faults::Disturbance;
use crate::monitors::MonitoredServer;
use crate::server_process::FoundProcess;
use crate::servers::Node;
use crate::site::ThisHost;

/// What a load connects to.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) database: Database,
    /// The process of a server that dyno did not start, or why it was not found; `None` if it was not
    /// searched for.
    pub(crate) process: Option<Result<FoundProcess, String>>,
}

/// An endpoint with its own data and load.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) endpoint: Endpoint,
    /// The nodes behind it, if dyno started them.
    pub(crate) cluster: Option<Cluster>,
    /// The server's settings that differ from the defaults.
    pub(crate) settings: Vec<(String, String)>,
    /// What the study has broken of it.
    pub(crate) disturbance: Disturbance,
}

impl Instance {
    /// A database whose server dyno did not start.
    pub(crate) fn of(database: Database) -> Self {
        Self {
            endpoint: Endpoint {
                database,
                process: None,
            },
            cluster: None,
            settings: Vec::new(),
            disturbance: Disturbance::default(),
        }
    }

    /// The database of a cluster, at its primary; `None` without members.
    pub(crate) fn on(cluster: Cluster) -> Option<Self> {
        let members = cluster.members().iter();
        let databases: Vec<Database> = members.map(|member| member.database.clone()).collect();
        let database = cluster.primary()?.database.with_members(&databases)?;
        Some(Self {
            cluster: Some(cluster),
            ..Self::of(database)
        })
    }

    /// The route of a load, before anything happens to the servers.
    pub(crate) fn route(&self, follow: Follow) -> Route {
        let of_cluster = self.cluster.as_ref().map(|cluster| cluster.route(follow));
        of_cluster.unwrap_or_else(Route::fixed)
    }

    /// The node that serves it, if dyno started it.
    fn node(&self) -> Option<MutexGuard<'_, Node>> {
        self.cluster.as_ref()?.primary().map(Member::lock)
    }

    /// The server's process, for the result.
    pub(crate) fn process(&self) -> Option<ServerProcess> {
        let found = |pid| ServerProcess::Found { pid };
        match (self.node(), &self.endpoint.process) {
            (Some(node), _) => node.pid().map(found),
            (None, Some(Ok(process))) => Some(found(process.pid)),
            (None, Some(Err(reason))) => Some(ServerProcess::NotFound {
                reason: reason.clone(),
            }),
            (None, None) => None,
        }
    }

    /// What the monitors sample of it: every node, or the server that was found. `number` is the
    /// instance's.
    pub(crate) fn monitored(&self, number: u32) -> Vec<MonitoredServer> {
        let database = Some(self.endpoint.database.clone());
        match &self.cluster {
            Some(cluster) => cluster.members().iter().map(Member::monitored).collect(),
            None => vec![self.other_server(number, database)],
        }
    }

    fn other_server(&self, number: u32, database: Option<Database>) -> MonitoredServer {
        let found = self.endpoint.process.as_ref().and_then(|p| p.as_ref().ok());
        let data_dir = found.and_then(|found| found.data_dir.clone());
        let file = self.endpoint.database.file();
        MonitoredServer {
            number,
            site: Arc::new(ThisHost::default()),
            process: found.map(|found| found.pid).into(),
            data_dir: data_dir.or_else(|| file.map(ToOwned::to_owned)),
            database,
        }
    }
}
