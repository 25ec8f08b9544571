//! Turns an installed program into instances, each with its own data and node.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use engine::Installed;
use engine::data::{Listener, Mode};
use measure::instance::{Reset, ResetHow};
use plan::EngineSpec;

use crate::home::Home;
use crate::hosts::{Data, FarNode, MemberNode, ServerStart, Source, Spot, on_each, own_address};
use crate::port::several;
use crate::servers::{MemberPlace, Membership, NodeSpec, Services};
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
        spots: &[Spot],
    ) -> Result<(Vec<Data>, Reset), Failure> {
        let began = Instant::now();
        let wanted = self.trial.wanted(Mode::Missing);
        let mut data = Vec::new();
        let mut each = Duration::ZERO;
        for (number, spot) in (1..).zip(spots) {
            let mut listener = Listener {
                tell: &mut |news| self.run.observer.progress(Progress::Preparing(&news)),
                interrupted: self.run.interrupted,
            };
            let node = self.trial.planned.topology.node_of(number - 1);
            let here = plan::Node::default();
            let volumes = spot.host().map_or(&node, |_| &here);
            let templates = Templates::new(home, &self.installed, &self.config)?;
            let built = templates.build(&wanted, volumes, &mut listener)?;
            each = built.took;
            data.push(match spot.host() {
                None => Data::Here(built.data),
                Some(host) => {
                    let received = host.receive(&built.data.data(), self.run.interrupted)?;
                    let from = received.source();
                    let filled = host.fill(number, self.spec, node, from, self.run.interrupted);
                    Data::There(filled?)
                }
            });
        }
        let reset = reset(ResetHow::Rebuilt, began.elapsed(), each);
        let settle_s = self.settle(spots, &data)?;
        Ok((data, Reset { settle_s, ..reset }))
    }

    /// Copies each server's data from a template, which is built if it does not exist.
    pub(crate) fn copied(
        &mut self,
        home: &Home,
        spots: &[Spot],
        held: &mut Option<Template>,
    ) -> Result<(Vec<Data>, Reset), Failure> {
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
        let about = template.about()?;
        let (topology, spec) = (&self.trial.planned.topology, self.spec);
        let interrupted = self.run.interrupted;
        let copies = on_each(spots, |number, spot| {
            let node = topology.node_of(number - 1);
            let Some(host) = spot.host() else {
                let here = ThisHost::default();
                let copy = template.copy_to(number, &node, here.files(), interrupted);
                return Ok(Data::Here(copy?.0));
            };
            let filled = if host.is_guest() {
                // It does not outlive the trial.
                let received = host.receive(&template.data(), interrupted)?;
                host.fill(number, spec, node, received.source(), interrupted)
            } else {
                host.hold((&template, &about), spec, interrupted)?;
                let from = Source::Template(Box::new(about.clone()));
                host.fill(number, spec, node, from, interrupted)
            };
            filled.map(Data::There)
        })?;
        let how = match template.was_built {
            true => ResetHow::BuiltAndCopied,
            false => ResetHow::Copied,
        };
        let reset = reset(how, began.elapsed(), template.build_time);
        let reset = Reset {
            bytes: template.bytes,
            checksum: template.checksum.clone(),
            load_s,
            settle_s: self.settle(spots, &copies)?,
            ..reset
        };
        *held = Some(template);
        Ok((copies, reset))
    }

    /// Deduplicates blocks if the study asks for it, writes new data to disk, and drops it from the page
    /// cache unless the study wants a warm cache. Returns how long that took, in seconds.
    fn settle(&mut self, spots: &[Spot], data: &[Data]) -> Result<Option<f64>, Failure> {
        let interrupted = self.run.interrupted;
        for one in data {
            if let Data::Here(one) = one {
                one.deduplicate(interrupted)?;
            }
        }
        self.run.observer.stage("writing the data to disk");
        let (began, cold) = (Instant::now(), self.spec.cold_data);
        on_each(spots, |number, _| match &data[number as usize - 1] {
            Data::There(one) => one.settle(cold, interrupted),
            Data::Here(one) => {
                let mut directories = one.directories().into_iter();
                directories.try_for_each(|one| settle(&one, cold, interrupted))
            }
        })?;
        Ok(Some(began.elapsed().as_secs_f64()))
    }

    /// Starts a node with its data on each site and forms a cluster of each instance's nodes. If a
    /// step fails, the earlier ones are undone in reverse order.
    pub(crate) fn instances(
        &mut self,
        home: &Home,
        spots: Vec<Spot>,
        data: Vec<Data>,
    ) -> Result<Vec<Instance>, Failure> {
        self.run.observer.stage("starting the servers");
        let topology = &self.trial.planned.topology;
        let mut places = (1..).zip(spots.iter().cloned().zip(data)).peekable();
        let mut formed = Vec::new();
        for _ in 0..topology.instances {
            let Some((first, _)) = places.peek() else {
                break;
            };
            let first = *first;
            let began = Instant::now();
            // The services are declared before the nodes, so that the nodes end first if one of
            // them does not start.
            let (memberships, services) = self.cluster(first, &spots, home)?;
            let mut nodes = Vec::new();
            for (membership, (number, (spot, data))) in memberships.into_iter().zip(&mut places) {
                let mut node = self.node(number, spot, data, membership)?;
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
    /// they share. An instance that is a single server has one node that is no member. `spots` are
    /// those of all servers.
    fn cluster(
        &mut self,
        first: u32,
        spots: &[Spot],
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
        let shared = match spots.first() {
            Some(spot) if replication.traits().service_ports > 0 => {
                Some(site::beside(&*spot.site, home, own_address(spot))?)
            }
            _ => None,
        };
        let address = shared.as_ref().map(|site| site.address().addr());
        let address = address.unwrap_or(Ipv4Addr::LOCALHOST);
        let places = (1..).zip(spots).skip(first as usize - 1);
        let count = Membership::ports(replication);
        let place = |(number, spot): (u32, &Spot)| {
            let ip = spot.site.address().addr();
            Ok(MemberPlace {
                ip,
                port: port(self.spec, number),
                free: match spot.host() {
                    None => several(count, ip)?,
                    Some(host) => host.ports(count)?,
                },
            })
        };
        let places = places.take(cluster.members as usize).map(place);
        let places = places.collect::<Result<Vec<_>, Failure>>()?;
        let members = Membership::of_cluster(replication, places, address, cluster.ttl)?;
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
        spot: Spot,
        data: Data,
        membership: Option<Membership>,
    ) -> Result<MemberNode, Failure> {
        let keep = self.run.observer.server_dir(number)?;
        let topology = &self.trial.planned.topology;
        let interrupted = self.run.interrupted;
        let node = topology.node_of(number - 1);
        let spec = NodeSpec {
            config: self.config.clone(),
            port: port(self.spec, number),
            membership,
            ..NodeSpec::new(number, self.trial.connections(), spot.site, &keep)
        };
        let node = match (data, spot.far) {
            (Data::There(data), Some(far)) => {
                let server = ServerStart::new(&spec, self.spec, node, topology.limits_io());
                let engine = self.installed.engine;
                let started = FarNode::start(data, server, spec, far, engine, interrupted);
                MemberNode::There(Box::new(started?))
            }
            (Data::There(_), None) => return Err(Failure::internal("data without its host")),
            (Data::Here(data), _) => {
                data.limit_io(&*spec.site, &node)?;
                servers::start(&self.installed, spec, data, interrupted)?.into()
            }
        };
        for note in node.notes() {
            self.run.observer.note(note);
        }
        Ok(node)
    }
}
