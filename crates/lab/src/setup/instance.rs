//! An instance: a cluster with data and a load of its own.

use std::time::Duration;

use crate::Database;
use crate::faults::ActiveFaults;
use crate::setup::cluster::Cluster;

#[derive(Debug)]
pub(crate) struct Instance {
    /// What its load connects to: all members.
    pub(crate) database: Database,
    pub(crate) cluster: Cluster,
    /// Server settings that differ from the defaults.
    pub(crate) settings: Vec<(String, String)>,
    /// How long the cluster took to form; `None` for a single server, or if dyno formed no cluster.
    pub(crate) formation: Option<Duration>,
    /// What the study has broken of it.
    pub(crate) faults: ActiveFaults,
}

impl Instance {
    /// A database of servers that dyno did not start; `number` is the instance's.
    pub(crate) fn found(database: Database, number: u32) -> Self {
        Self::new(Cluster::found(&database, number), database)
    }

    /// The database of a cluster that dyno started; `None` if a member has another protocol.
    pub(crate) fn on(cluster: Cluster) -> Option<Self> {
        let members = cluster.members().iter();
        let databases: Vec<Database> = members.map(|member| member.database.clone()).collect();
        let primary = cluster.primary().database.server()?;
        let database = primary.with_members(&databases)?;
        Some(Self::new(cluster, database))
    }

    fn new(cluster: Cluster, database: Database) -> Self {
        Self {
            database,
            cluster,
            settings: Vec::new(),
            formation: None,
            faults: ActiveFaults::default(),
        }
    }
}
