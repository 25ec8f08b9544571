//! The instances of a trial, with their data, ready to be driven.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::instance::{Reset, ResetHow, Space};
use measure::setup::Setup;
use measure::warning::Warning;
use plan::EngineSpec;

use crate::faults::ActiveFaults;
use crate::hosts::MemberNode;
use crate::process;
use crate::servers::{DataDir, REPORT_LIMIT, Services};
use crate::site::Site;
use crate::template::Recipe;
use crate::{Cluster, Database, Failure, Member, Observer, Trial};

#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) instances: Vec<Instance>,
    /// How the instances' data was prepared.
    pub(crate) reset: Option<Reset>,
    /// What a later trial must match to reuse these nodes.
    pub(crate) reuse_key: Option<ReuseKey>,
}

/// What nodes were started with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReuseKey {
    pub(crate) spec: EngineSpec,
    pub(crate) node: plan::Node,
    pub(crate) network: plan::Network,
    pub(crate) recipe: Recipe,
    pub(crate) instances: u32,
}

impl ReuseKey {
    /// Whether nodes with other settings have the same data.
    pub(crate) fn has_same_data(&self, other: &Self) -> bool {
        self.recipe == other.recipe
            && self.instances == other.instances
            && self.node.volumes().eq(other.node.volumes())
    }
}

/// A cluster with data and a load of its own.
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

impl Rig {
    pub(crate) fn databases(&self) -> impl Iterator<Item = &Database> {
        self.instances.iter().map(|instance| &instance.database)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.instances.iter().flat_map(|one| one.cluster.members())
    }

    /// Disk space of the data of all nodes; `None` without nodes, or if a node's space cannot be
    /// read.
    pub(crate) fn space(&self) -> Option<Space> {
        let started = self.members().filter(|member| member.site().is_some());
        let mut each = started.map(|member| member.try_lock()?.space());
        let mut all = each.next()??;
        for one in each {
            all.add(&one?);
        }
        Some(all)
    }

    /// Warns about foreign servers and logins that the running servers see or have refused.
    pub(crate) fn strangers(&self) -> Option<Warning> {
        let nodes = self.members().filter_map(|member| member.lock().ok());
        let seen: Vec<String> = nodes
            .flat_map(|mut node| {
                let (number, seen) = (node.number(), node.strangers());
                let words = move |what| format!("server {number}: {what}");
                seen.into_iter().map(words)
            })
            .collect();
        (!seen.is_empty()).then_some(Warning::Strangers { seen })
    }

    pub(crate) fn setup(&self, trial: &Trial) -> Setup {
        let Some(first) = self.databases().next() else {
            return trial.planned_setup();
        };
        let sites: Vec<_> = self.members().filter_map(Member::site).collect();
        let clocks = sites.iter().filter_map(|site| site.clock());
        let mut clocks: Vec<_> = clocks.collect();
        clocks.sort_by(|one, other| one.host.cmp(&other.host));
        clocks.dedup_by(|one, other| one.host == other.host);
        Setup {
            server: match self.instances.len() {
                1 => first.shown(),
                count => format!("{} and {} more", first.shown(), count - 1),
            },
            tls: first.server().and_then(|server| server.tls()),
            workers: trial.workers(first),
            platform: platform(&sites),
            clocks,
            emulated: sites.iter().any(|site| site.is_emulated()),
            ..trial.setup_of(first)
        }
    }

    /// The number of the first node that ended by itself, and how. With `is_likely`, waits briefly
    /// for one to end, because a connection to it broke.
    pub(crate) fn death(&self, is_likely: bool) -> Option<(u32, Failure)> {
        match is_likely {
            true => process::poll(REPORT_LIMIT, || self.first_dead()),
            false => self.first_dead(),
        }
    }

    fn first_dead(&self) -> Option<(u32, Failure)> {
        let mut members = self.instances.iter().flat_map(|instance| {
            let is_unexplained = |member: &&Member| !instance.faults.explains_end(member.number);
            instance.cluster.members().iter().filter(is_unexplained)
        });
        members.find_map(|member| {
            let mut node = member.try_lock()?;
            let how = node.died(false)?;
            let remedy = match node.is_lost() {
                true => {
                    "check the network and the host; the result directory has only the beginning of its log"
                }
                false => "its complete log is in the result directory",
            };
            let failure = Failure::server(how).remedy(remedy);
            Some((node.number(), failure))
        })
    }

    /// Whether all nodes run completely, in their initial roles.
    pub(crate) fn is_alive(&self) -> bool {
        let mut clusters = self.instances.iter().map(|instance| &instance.cluster);
        let mut members = self.members();
        clusters.all(|cluster| cluster.primary_index() == 0)
            && members.all(|member| {
                let node = member.try_lock();
                node.is_some_and(|mut node| node.is_whole())
            })
    }

    fn into_clusters(self) -> impl Iterator<Item = (Vec<MemberNode>, Option<Services>)> {
        let instances = self.instances.into_iter();
        instances.map(|instance| instance.cluster.into_parts())
    }

    /// Stops the nodes and keeps their data.
    pub(crate) fn into_data(self, interrupted: &AtomicBool) -> Result<Vec<DataDir>, Failure> {
        // Shared services end after the members.
        let (nodes, _services): (Vec<_>, Vec<_>) = self.into_clusters().unzip();
        let nodes = nodes.into_iter().flatten();
        nodes
            .map(|node| node.stop_and_keep_data(interrupted))
            .collect()
    }

    /// Ends all nodes, the last one first, and reports what could not be ended or removed.
    pub(crate) fn end(self, observer: &mut dyn Observer) {
        let mut report = |what: &str, ended: Result<(), Failure>| {
            if let Err(error) = ended {
                let remedy = error.remedy.as_ref();
                let remedy = remedy.map_or(String::new(), |remedy| format!(" ({remedy})"));
                observer.note(&format!("could not remove {what}: {error}{remedy}"));
            }
        };
        let clusters: Vec<_> = self.into_clusters().collect();
        for (nodes, services) in clusters.into_iter().rev() {
            for node in nodes.into_iter().rev() {
                report(&format!("server {}", node.number()), node.end());
            }
            if let Some(services) = services {
                report("what the members share", services.end());
            }
        }
    }
}

/// What dyno found out about the sites: once if that is the same of all.
fn platform(sites: &[&Arc<dyn Site>]) -> Option<String> {
    let mut found: Vec<String> = sites.iter().filter_map(|site| site.platform()).collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| found.join("; "))
}

pub(crate) fn reset(how: ResetHow, took: Duration, build: Duration) -> Reset {
    Reset {
        how,
        took_s: took.as_secs_f64(),
        settle_s: None,
        startup_s: None,
        load_s: None,
        build_s: build.as_secs_f64(),
        bytes: 0,
        checksum: None,
    }
}
