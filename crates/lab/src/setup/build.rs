//! Turns an installed program into instances, each with its own data and node.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::Installed;
use engine::data::{Listener, Mode};
use measure::instance::{Reset, ResetHow};
use plan::EngineSpec;

use crate::home::Home;
use crate::servers::{DataDir, Membership, Node, NodeSpec, Services};
use crate::setup::data::settle;
use crate::setup::rig::reset;
use crate::setup::spec::port;
use crate::site::{Site, ThisHost};
use crate::template::{Template, Templates};
use crate::{Cluster, Failure, Instance, Progress, Run, Trial, servers, site};

/// What every step from loading data to starting nodes needs.
pub(crate) struct Building<'a, 'r> {
    pub(crate) spec: &'a EngineSpec,
    pub(crate) trial: &'a Trial,
    pub(crate) installed: Installed,
    pub(crate) config: Vec<(String, String)>,
    pub(crate) run: &'a mut Run<'r>,
}

impl Building<'_, '_> {
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
            let mut listener = Listener {
                tell: &mut |news| self.run.observer.progress(Progress::Preparing(&news)),
                interrupted: self.run.interrupted,
            };
            let node = &self.trial.planned.topology.node;
            let templates = Templates::new(home, &self.installed, &self.config)?;
            let built = templates.build(&wanted, node, &mut listener)?;
            each = built.took;
            data.push(built.data);
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
            tell: &mut |news| self.run.observer.progress(Progress::Preparing(&news)),
            interrupted: self.run.interrupted,
        };
        let templates = Templates::new(home, &self.installed, &self.config)?;
        let began = Instant::now();
        let template = templates.obtain(&wanted, listener)?;
        let load_s = template.was_built.then(|| began.elapsed().as_secs_f64());
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
            load_s,
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
            one.place(machine, self.run.interrupted)?;
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
        let mut places = (1..).zip(sites.iter().cloned().zip(data)).peekable();
        let mut formed = Vec::new();
        for _ in 0..topology.instances {
            let Some((first, (_, data))) = places.peek() else {
                break;
            };
            let (first, home) = (*first, data.home().clone());
            let began = Instant::now();
            // The services are declared before the nodes, so that the nodes end first if one of
            // them does not start.
            let (memberships, services) = self.cluster(first, &sites, &home)?;
            let mut nodes = Vec::new();
            for (membership, (number, (site, data))) in memberships.into_iter().zip(&mut places) {
                let mut node = self.node(number, site, data, membership)?;
                node.join(self.run.interrupted)?;
                nodes.push(node);
            }
            let mut cluster = Cluster::of(nodes, self.run.interrupted)?;
            let formation = cluster.replication.map(|_| began.elapsed());
            cluster.services = services;
            let instance = Instance::on(cluster);
            formed.extend(instance.map(|instance| Instance {
                formation,
                ..instance
            }));
        }
        Ok(formed)
    }

    /// What makes the servers from number `first` on members of one cluster, and the services that
    /// they share. An instance that is a single server has one node that is no member. `sites` are
    /// those of all servers.
    fn cluster(
        &mut self,
        first: u32,
        sites: &[Arc<dyn Site>],
        home: &Home,
    ) -> Result<(Vec<Option<Membership>>, Option<Services>), Failure> {
        let Some(cluster) = &self.trial.planned.topology.cluster else {
            return Ok((vec![None], None));
        };
        let replication = self.installed.engine.replicates_as(&cluster.kind);
        let replication = replication.ok_or_else(|| {
            let engine = self.installed.engine.name();
            let message = format!("{engine} cannot form the cluster {}", cluster.kind.value);
            Failure::usage(message).span(cluster.kind.span)
        })?;
        let shared = match sites.first() {
            Some(site) if replication.traits().service_ports > 0 => {
                Some(site::beside(&**site, home)?)
            }
            _ => None,
        };
        let address = shared.as_ref().map(|site| site.address().addr());
        let address = address.unwrap_or(Ipv4Addr::LOCALHOST);
        let places = (1..).zip(sites).skip(first as usize - 1);
        let places = places.map(|(number, site)| (site.address().addr(), port(self.spec, number)));
        let places: Vec<_> = places.take(cluster.members as usize).collect();
        let members = Membership::of_cluster(replication, &places, address, cluster.ttl)?;
        let services = match (shared, members.first()) {
            (Some(site), Some(member)) => {
                let keep = self.run.observer.server_dir(first)?;
                let interrupted = self.run.interrupted;
                Some(Services::start(member, site, home, &keep, interrupted)?)
            }
            _ => None,
        };
        Ok((members.into_iter().map(Some).collect(), services))
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
        let spec = NodeSpec {
            config: self.config.clone(),
            port: port(self.spec, number),
            membership,
            ..NodeSpec::new(number, self.trial.connections(), site, &keep)
        };
        let node = servers::start(&self.installed, spec, data, self.run.interrupted)?;
        for note in node.notes() {
            self.run.observer.note(note);
        }
        Ok(node)
    }
}
