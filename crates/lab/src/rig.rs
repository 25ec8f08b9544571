//! The instances of a trial, with their data, ready to be driven.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use measure::instance::{Reset, ResetHow};
use plan::EngineSpec;

use crate::Database;
use crate::cluster::{Cluster, try_lock};
use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::instance::Instance;
use crate::monitors::Monitored;
use crate::servers::{DataDir, Node};
use crate::site::ThisHost;
use crate::template::Recipe;

/// The instances of one trial.
#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) instances: Vec<Instance>,
    /// How they got their data.
    pub(crate) reset: Option<Reset>,
    /// What a later trial must ask for to reuse these nodes.
    pub(crate) made_for: Option<MadeFor>,
}

/// What nodes were started for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MadeFor {
    pub(crate) spec: EngineSpec,
    pub(crate) site: plan::Site,
    pub(crate) data: DataFor,
}

/// What their data was prepared for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DataFor {
    pub(crate) recipe: Recipe,
    pub(crate) instances: u32,
    pub(crate) volume: plan::Volume,
}

impl Rig {
    pub(crate) fn databases(&self) -> impl Iterator<Item = &Database> {
        let endpoints = self.instances.iter().map(|instance| &instance.endpoint);
        endpoints.map(|endpoint| &endpoint.database)
    }

    /// Every node that dyno started.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Mutex<Node>> {
        let clusters = self.instances.iter().filter_map(|i| i.cluster.as_ref());
        clusters.flat_map(Cluster::nodes)
    }

    /// What is driven, for people.
    pub(crate) fn shown(&self) -> String {
        let mut databases = self.databases();
        let first = databases.next().map(|database| database.shown());
        match databases.count() {
            0 => first.unwrap_or_default(),
            more => format!("{} and {more} more", first.unwrap_or_default()),
        }
    }

    /// What the monitors sample.
    pub(crate) fn monitored(&self) -> Monitored {
        let instances = (1..).zip(&self.instances);
        Monitored {
            site: Arc::new(ThisHost::default()),
            servers: instances
                .flat_map(|(number, i)| i.monitored(number))
                .collect(),
        }
    }

    /// The number of the first node that died and that dyno did not end, and how. With
    /// `is_likely` each has a moment to end, because a connection to one of them broke.
    pub(crate) fn death(&self, is_likely: bool) -> Option<(u32, Failure)> {
        self.nodes().find_map(|node| {
            let mut node = try_lock(node)?;
            let how = node.died(is_likely)?;
            let remedy = "its whole log is kept in the result directory";
            let failure = Failure::new(Cause::Server, how).remedy(Some(remedy));
            Some((node.number(), failure))
        })
    }

    /// Whether every node runs.
    pub(crate) fn is_alive(&self) -> bool {
        let mut nodes = self.nodes();
        nodes.all(|node| try_lock(node).is_some_and(|mut node| node.exited().is_none()))
    }

    /// Stops the nodes and keeps their data.
    pub(crate) fn into_data(self, interrupted: &AtomicBool) -> Result<Vec<DataDir>, LabError> {
        let clusters = self.instances.into_iter().filter_map(|i| i.cluster);
        let nodes = clusters.flat_map(Cluster::into_nodes);
        nodes
            .map(|node| node.stop_and_keep_data(interrupted))
            .collect()
    }
}

/// How the instances of a trial got their data.
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
