//! The agents of a trial, and the part of each in its loads.

use std::sync::atomic::AtomicBool;

use client::route::Route;
use engine::ServerDatabase;
use fleet::{Control, Identity};
use load::{LoadError, LoadOutcome, Part};

use super::drive::FleetLoad;
use super::part::LoadPart;
use super::{Fleet, gather, out_of_reach};
use crate::drive::trial_loop::TrialMessage;
use crate::trial::default_workers;
use crate::{Database, Failure, Trial};

/// The agents of a trial.
pub(crate) struct Team<'a> {
    fleet: &'a Fleet,
    agents: Vec<Identity>,
}

impl<'a> Team<'a> {
    /// The agents of a trial, once they are there and free; `None` if its load comes from this process.
    /// `tell` gets what they are waited for.
    pub(crate) fn of(
        trial: &'a Trial,
        tell: &mut dyn FnMut(&str),
        interrupted: &AtomicBool,
    ) -> Result<Option<Self>, Failure> {
        if trial.planned.load.fleet.is_none() {
            return Ok(None);
        }
        let fleet = trial.fleet.as_deref();
        let fleet = fleet.ok_or_else(|| Failure::internal("the trial has no fleet"))?;
        let agents = gather(|| fleet.muster(&trial.planned), tell, interrupted)?;
        Ok(Some(Self { fleet, agents }))
    }

    /// The agents that run on this host.
    pub(crate) fn processes_here(&self) -> Vec<u32> {
        let machine = &self.fleet.own.machine;
        let here = self.agents.iter().filter(|agent| agent.machine == *machine);
        here.map(|agent| agent.process).collect()
    }

    /// An order for each agent, whose load is scripted.
    #[cfg(test)]
    pub(super) fn scripted(&self, of: impl Fn(&Identity) -> serde_json::Value) -> Parts<'_> {
        let agents = self.agents.iter();
        Parts {
            team: self,
            index: 0,
            orders: agents.map(|agent| (agent.clone(), of(agent))).collect(),
        }
    }

    /// The part of each agent, of the load on the database with this index.
    pub(crate) fn parts(
        &self,
        trial: &Trial,
        index: usize,
        database: &Database,
        route: &Route,
    ) -> Result<Parts<'_>, Failure> {
        let server = database.server();
        let server = server.ok_or_else(|| Failure::usage("agents cannot reach this database"))?;
        let of = self.agents.len() as u32;
        let orders = (0..).zip(&self.agents).map(|(number, agent)| {
            let part = Part { number, of };
            let handover = self.handover(server, agent)?;
            let workers = self.workers(trial, agent);
            let part = LoadPart::of(trial, index, handover, route, part, workers);
            let order = serde_json::to_value(&part).map_err(Failure::internal)?;
            Ok((agent.clone(), order))
        });
        Ok(Parts {
            team: self,
            index,
            orders: orders.collect::<Result<_, Failure>>()?,
        })
    }

    fn handover(
        &self,
        server: &dyn ServerDatabase,
        agent: &Identity,
    ) -> Result<engine::Handover, Failure> {
        let handover = server.handover()?;
        match handover.local_server() {
            Some(local) if !self.fleet.is_near(agent) => Err(out_of_reach(agent, local)),
            _ => Ok(handover),
        }
    }

    /// Agents of one machine share its CPUs.
    fn workers(&self, trial: &Trial, agent: &Identity) -> u32 {
        let is_here = |other: &&Identity| other.machine == agent.machine;
        let here = self.agents.iter().filter(is_here).count() as u32;
        let loads = trial.planned.topology.instances.max(1) * here;
        let share = default_workers(agent.cpus as usize, loads);
        trial.run_options.workers.unwrap_or(share)
    }
}

/// The part of each agent in a load.
pub(crate) struct Parts<'a> {
    team: &'a Team<'a>,
    index: usize,
    orders: Vec<(Identity, serde_json::Value)>,
}

impl Parts<'_> {
    /// Runs the load to its end. `send` passes on what is not an event of the load.
    pub(crate) fn drive(
        self,
        load: engine::Load<'_>,
        send: &dyn Fn(TrialMessage),
    ) -> Result<LoadOutcome, LoadError> {
        let barrier = load.barrier;
        let driven = self.try_drive(load, send);
        // The other loads must not wait for this one.
        driven.inspect_err(|_| barrier.break_off())
    }

    fn try_drive(
        self,
        load: engine::Load<'_>,
        send: &dyn Fn(TrialMessage),
    ) -> Result<LoadOutcome, LoadError> {
        let control = Control {
            open: load.route.open(),
            ..Control::default()
        };
        let Fleet { fleet, run, .. } = self.team.fleet;
        let drive = fleet.order(run, self.team.fleet.next_load(), self.orders, control);
        let drive = drive.map_err(LoadError::Agents)?;
        let agents = &self.team.agents;
        let mut load = FleetLoad::new(drive, agents, self.index, load, send);
        load.connect()?;
        let offsets = fleet.offsets(agents);
        load.start(&offsets)?;
        load.run();
        load.into_outcome()
    }
}
