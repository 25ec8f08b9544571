//! Turns an installed program into instances, each with its own data and node.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Installed;
use engine::data::{Listener, Mode};
use engine::replication::Replication;
use measure::instance::{Reset, ResetHow};
use plan::{DiskLimits, EngineSpec};

use crate::failure::Failure;
use crate::home::Home;
use crate::run::Run;
use crate::setup::cluster::Cluster;
use crate::setup::instance::Instance;
use crate::setup::rig::reset;
use crate::setup::servers::{self, DataDir, Membership, Node, Services};
use crate::setup::settle::settle;
use crate::setup::spec::{guest_image, port};
use crate::setup::template::{self, Template};
use crate::site::{self, Site, ThisHost};
use crate::trial::Trial;

/// What every step from loading data to starting nodes needs.
pub(crate) struct Building<'a, 'r> {
    pub(crate) spec: &'a EngineSpec,
    pub(crate) trial: &'a Trial,
    pub(crate) installed: Installed,
    pub(crate) config: Vec<(String, String)>,
    pub(crate) run: &'a mut Run<'r>,
}

impl Building<'_, '_> {
    /// One site for each node of each instance.
    pub(crate) fn sites(&self, home: &Home) -> Result<Vec<Arc<dyn Site>>, Failure> {
        let topology = &self.trial.planned.topology;
        site::set_up(home, topology, topology.nodes(), &guest_image())
    }

    /// Loads each server's data from scratch.
    pub(crate) fn rebuilt(
        &mut self,
        home: &Home,
        sites: &[Arc<dyn Site>],
    ) -> Result<(Vec<DataDir>, Reset), Failure> {
        let began = Instant::now();
        let wanted = self.trial.wanted(Mode::Missing);
        let mut data = Vec::new();
        let mut each = Duration::ZERO;
        for _ in 0..self.trial.planned.topology.instances {
            let listener = Listener {
                tell: &mut |news| self.run.observer.preparing(&news),
                interrupted: self.run.interrupted,
            };
            let node = &self.trial.planned.topology.node;
            let built =
                template::rebuild(home, &self.installed, &wanted, &self.config, node, listener);
            let (built, took) = built?;
            each = took;
            data.push(built);
        }
        let reset = reset(ResetHow::Rebuilt, began.elapsed(), each);
        let settle_s = self.place(sites, &data)?;
        Ok((data, Reset { settle_s, ..reset }))
    }

    /// Copies each server's data from a template, which is built if it does not exist.
    pub(crate) fn copied(
        &mut self,
        home: &Home,
        sites: &[Arc<dyn Site>],
        held: &mut Option<Template>,
    ) -> Result<(Vec<DataDir>, Reset), Failure> {
        let wanted = self.trial.wanted(Mode::Missing);
        let listener = Listener {
            tell: &mut |news| self.run.observer.preparing(&news),
            interrupted: self.run.interrupted,
        };
        let template = template::obtain(home, &self.installed, &wanted, &self.config, listener)?;
        self.run.observer.stage("copying the data");
        let began = Instant::now();
        let node = &self.trial.planned.topology.node;
        let this_host = ThisHost::default();
        let copies = (1..).take(sites.len()).map(|number| {
            let copy = template.copy_to(number, node, this_host.files(), self.run.interrupted);
            Ok(copy?.0)
        });
        let copies: Vec<DataDir> = copies.collect::<Result<_, Failure>>()?;
        let how = match template.was_built {
            true => ResetHow::BuiltAndCopied,
            false => ResetHow::Copied,
        };
        let reset = reset(how, began.elapsed(), template.build_time);
        let reset = Reset {
            bytes: template.bytes,
            checksum: template.checksum.clone(),
            settle_s: self.place(sites, &copies)?,
            ..reset
        };
        *held = Some(template);
        Ok((copies, reset))
    }

    /// Deduplicates blocks if the study asks for it, copies new data to sites on other machines,
    /// writes it to disk, and drops it from the page cache unless the study wants a warm cache.
    /// Returns how long that took, in seconds.
    fn place(&mut self, sites: &[Arc<dyn Site>], data: &[DataDir]) -> Result<Option<f64>, Failure> {
        for one in data {
            one.deduplicate(self.run.interrupted)?;
        }
        for (site, one) in sites.iter().zip(data) {
            let Some(machine) = site.machine() else {
                continue;
            };
            self.run.observer.stage("copying the data to the hosts");
            servers::place(machine, one, self.run.interrupted)?;
        }
        self.run.observer.stage("writing the data to disk");
        let began = Instant::now();
        for (site, one) in sites.iter().zip(data) {
            match site.machine() {
                None => {
                    for directory in one.directories() {
                        settle(&directory, self.spec.cold_data, self.run.interrupted)?;
                    }
                }
                Some(machine) => {
                    machine.settle(&one.data(), self.spec.cold_data, self.run.interrupted)?
                }
            }
        }
        Ok(Some(began.elapsed().as_secs_f64()))
    }

    /// Starts a node with its data on each site and forms a cluster of each instance's nodes. If a
    /// step fails, the earlier ones are undone in reverse order.
    pub(crate) fn instances(
        &mut self,
        sites: Vec<Arc<dyn Site>>,
        data: Vec<DataDir>,
    ) -> Result<Vec<Instance>, Failure> {
        self.run.observer.stage("starting the servers");
        let topology = &self.trial.planned.topology;
        let (instances, members) = (topology.instances, topology.members());
        let mut places = (1..).zip(sites.iter().cloned().zip(data)).peekable();
        let mut formed = Vec::new();
        for instance in 0..instances {
            let first = instance * members + 1;
            let began = Instant::now();
            let home = places.peek().map(|(_, (_, data))| data.home().clone());
            let shared = self.shared_site(&sites, home.as_ref())?;
            let memberships = self.memberships(first, &sites, shared.as_ref())?;
            // Declared before the nodes, so that the nodes end first if one of them does not start.
            let services = self.services(first, home.as_ref(), shared, &memberships)?;
            let mut nodes = Vec::new();
            for membership in memberships {
                let Some((number, (site, data))) = places.next() else {
                    break;
                };
                let mut node = self.node(number, site, data, membership)?;
                let joined = node.join(self.run.interrupted);
                joined?;
                nodes.push(node);
            }
            let cluster = Cluster::of(nodes, self.run.interrupted);
            let cluster = cluster?;
            let formation = cluster.replication().map(|_| began.elapsed());
            let instance = Instance::on(cluster.with_services(services));
            formed.extend(instance.map(|instance| Instance {
                formation,
                ..instance
            }));
        }
        Ok(formed)
    }

    /// How the members of a cluster of this kind replicate.
    fn replication(&self, cluster: &plan::Cluster) -> Result<&'static dyn Replication, Failure> {
        let replication = self.installed.engine.replicates_as(&cluster.kind);
        replication.ok_or_else(|| {
            let engine = self.installed.engine.name();
            let message = format!("{engine} cannot form the cluster {}", cluster.kind.value);
            Failure::usage(message).span(cluster.kind.span)
        })
    }

    /// The site of the services that a cluster's members share; `None` if they share none.
    fn shared_site(
        &self,
        sites: &[Arc<dyn Site>],
        home: Option<&Home>,
    ) -> Result<Option<Arc<dyn Site>>, Failure> {
        let cluster = self.trial.planned.topology.cluster.as_ref();
        let replication = cluster.map(|cluster| self.replication(cluster));
        let Some(replication) = replication.transpose()? else {
            return Ok(None);
        };
        match (sites.first(), home) {
            (Some(site), Some(home)) if replication.traits().service_ports > 0 => {
                let site = site.beside(home)?;
                Ok(Some(site))
            }
            _ => Ok(None),
        }
    }

    /// What makes the servers from number `first` on members of one cluster; empty for an instance
    /// that is a single server. `sites` are those of all servers.
    fn memberships(
        &self,
        first: u32,
        sites: &[Arc<dyn Site>],
        shared: Option<&Arc<dyn Site>>,
    ) -> Result<Vec<Option<Membership>>, Failure> {
        let Some(cluster) = &self.trial.planned.topology.cluster else {
            return Ok(vec![None]);
        };
        let replication = self.replication(cluster)?;
        let places = (1..)
            .zip(sites)
            .map(|(number, site)| (site.address().addr(), port(self.spec, number)));
        let before = usize::try_from(first - 1).unwrap_or(usize::MAX);
        let count = usize::try_from(cluster.members).unwrap_or(usize::MAX);
        let places: Vec<_> = places.skip(before).take(count).collect();
        let shared = shared.map_or(Ipv4Addr::LOCALHOST, |site| site.address().addr());
        let members = Membership::of_cluster(replication, &places, shared, cluster.ttl)?;
        Ok(members.into_iter().map(Some).collect())
    }

    /// Starts the services that a cluster's members share.
    fn services(
        &mut self,
        first: u32,
        home: Option<&Home>,
        site: Option<Arc<dyn Site>>,
        members: &[Option<Membership>],
    ) -> Result<Option<Services>, Failure> {
        let (Some(home), Some(site), Some(Some(member))) = (home, site, members.first()) else {
            return Ok(None);
        };
        let keep = self.run.observer.server_dir(first)?;
        let started = Services::start(member, site, home, &keep, self.run.interrupted);
        started.map(Some)
    }

    fn node(
        &mut self,
        number: u32,
        site: Arc<dyn Site>,
        data: DataDir,
        membership: Option<Membership>,
    ) -> Result<Node, Failure> {
        let keep = self.run.observer.server_dir(number)?;
        let topology = &self.trial.planned.topology;
        data.limit_io(&*site, &topology.node)?;
        let mut faults = topology.faults.iter();
        if faults.any(|fault| fault.kind().has("limits")) {
            // A limit that comes later needs the processes to be in a group.
            site.limit_io(&[], &DiskLimits::default())?;
        }
        let spec = servers::NodeSpec {
            number,
            data,
            config: &self.config,
            port: port(self.spec, number),
            connections: self.trial.connections(),
            site,
            membership,
            keep: &keep,
            interrupted: self.run.interrupted,
        };
        let node = servers::start(&self.installed, spec);
        let node = node?;
        for note in node.notes() {
            self.run.observer.note(note);
        }
        Ok(node)
    }
}
