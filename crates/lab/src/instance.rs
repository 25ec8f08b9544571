//! Instances: endpoints with data and a load.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use client::route::Route;
use host::Files;
use measure::instance::ServerProcess;
use plan::Follow;

use crate::Database;
use crate::cluster::{Cluster, Member};
use crate::faults::ActiveFaults;
use crate::group::{Group, RunningCluster};
use crate::monitors::MonitoredServer;
use crate::server_process::{self, FoundProcess};
use crate::servers::Node;
use crate::site::ThisHost;

/// What a load connects to.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) database: Database,
    /// The process of a server that dyno did not start, or why it was not found; `None` before the
    /// search.
    pub(crate) process: Option<Result<FoundProcess, String>>,
}

impl Endpoint {
    pub(crate) fn of(database: Database) -> Self {
        Self {
            database,
            process: None,
        }
    }

    pub(crate) fn find_process(&mut self, files: &dyn Files) {
        self.process = Some(server_process::find(files, &*self.database));
    }

    /// What the monitors need to sample it as server `number` of the trial.
    fn monitored(&self, number: u32) -> MonitoredServer {
        let found = self.process.as_ref().and_then(|p| p.as_ref().ok());
        let data_dir = found.and_then(|found| found.data_dir.clone());
        let file = self.database.file();
        MonitoredServer {
            number,
            site: Arc::new(ThisHost::default()),
            process: found.map(|found| found.pid).into(),
            directories: data_dir
                .or_else(|| file.map(ToOwned::to_owned))
                .into_iter()
                .collect(),
            database: Some(self.database.clone()),
        }
    }
}

/// A database with a load of its own.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) endpoint: Endpoint,
    /// The nodes that serve it, if dyno started them.
    pub(crate) cluster: Option<Cluster>,
    /// The servers that serve it, if dyno did not start them and there are several.
    pub(crate) running: Option<RunningCluster>,
    /// Server settings that differ from the defaults.
    pub(crate) settings: Vec<(String, String)>,
    /// How long the cluster took to form; `None` for a single server, or if dyno formed no cluster.
    pub(crate) formation: Option<Duration>,
    /// What the study has broken of it.
    pub(crate) faults: ActiveFaults,
}

impl Instance {
    pub(crate) fn of(database: Database) -> Self {
        Self {
            running: RunningCluster::of(&database),
            endpoint: Endpoint::of(database),
            cluster: None,
            settings: Vec::new(),
            formation: None,
            faults: ActiveFaults::default(),
        }
    }

    /// The database of a cluster, at its primary; `None` without members.
    pub(crate) fn on(cluster: Cluster) -> Option<Self> {
        let members = cluster.members().iter();
        let databases: Vec<Database> = members.map(|member| member.database.clone()).collect();
        let primary = cluster.primary()?.database.server()?;
        let database = primary.with_members(&databases)?;
        Some(Self {
            cluster: Some(cluster),
            running: None,
            ..Self::of(database)
        })
    }

    /// The route of a load before anything happens to the servers.
    pub(crate) fn route(&self, follow: Follow) -> Route {
        let of_group = self.as_group().map(|group| group.route(follow));
        of_group.unwrap_or_else(Route::fixed)
    }

    /// The servers as a group whose primary virtual users follow; `None` for a single server.
    pub(crate) fn as_group(&self) -> Option<Group<'_>> {
        match &self.cluster {
            Some(cluster) => cluster.as_group(),
            None => self.running.as_ref().map(RunningCluster::as_group),
        }
    }

    pub(crate) fn primary(&self) -> &Endpoint {
        let running = self.running.as_ref().and_then(RunningCluster::primary);
        running.unwrap_or(&self.endpoint)
    }

    /// Searches for the processes of servers that dyno did not start.
    pub(crate) fn find_processes(&mut self, files: &dyn Files) {
        match &mut self.running {
            Some(running) => {
                let members = running.members.iter_mut();
                members.for_each(|member| member.find_process(files));
            }
            None if self.cluster.is_none() => self.endpoint.find_process(files),
            None => {}
        }
    }

    /// The primary's node; `None` if dyno did not start it.
    fn node(&self) -> Option<MutexGuard<'_, Node>> {
        self.cluster.as_ref()?.primary().map(Member::lock)
    }

    /// For the result.
    pub(crate) fn process(&self) -> Option<ServerProcess> {
        let found = |pid| ServerProcess::Found { pid };
        match (self.node(), &self.primary().process) {
            (Some(node), _) => node.pid().map(found),
            (None, Some(Ok(process))) => Some(found(process.pid)),
            (None, Some(Err(reason))) => Some(ServerProcess::NotFound {
                reason: reason.clone(),
            }),
            (None, None) => None,
        }
    }

    /// What the monitors need to sample every node, or every server that was found. `number` is the
    /// instance's.
    pub(crate) fn monitored(&self, number: u32) -> Vec<MonitoredServer> {
        match (&self.cluster, &self.running) {
            (Some(cluster), _) => cluster.members().iter().map(Member::monitored).collect(),
            (None, Some(running)) => {
                let members = (1..).zip(&running.members);
                members
                    .map(|(number, member)| member.monitored(number))
                    .collect()
            }
            (None, None) => vec![self.endpoint.monitored(number)],
        }
    }
}
