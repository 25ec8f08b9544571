//! The agents of a trial, and the part of each in its loads.

use client::route::Route;
use engine::ServerDatabase;
use fleet::{Control, Identity};
use load::{LoadError, LoadOutcome, Part};

use super::drive::{FleetLoad, Sides};
use super::part::LoadPart;
use super::{Fleet, out_of_reach};
use crate::trial::default_workers;
use crate::{Database, Failure, Trial};

/// The agents of a trial.
pub(crate) struct Team<'a> {
    fleet: &'a Fleet,
    agents: Vec<Identity>,
}

impl<'a> Team<'a> {
    /// The agents of a trial; `None` if its load comes from this process.
    pub(crate) fn of(trial: &'a Trial) -> Result<Option<Self>, Failure> {
        if trial.planned.load.fleet.is_none() {
            return Ok(None);
        }
        let fleet = trial.fleet.as_deref();
        let fleet = fleet.ok_or_else(|| Failure::internal("the trial has no fleet"))?;
        let agents = fleet.muster(&trial.planned)?;
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
    pub(super) fn orders(
        &self,
        of: impl Fn(&Identity) -> serde_json::Value,
    ) -> Vec<(Identity, serde_json::Value)> {
        let agents = self.agents.iter();
        agents.map(|agent| (agent.clone(), of(agent))).collect()
    }

    /// The part of each agent, of the load on the database with this index.
    pub(crate) fn parts(
        &self,
        trial: &Trial,
        index: usize,
        database: &Database,
        route: &Route,
    ) -> Result<Vec<(Identity, serde_json::Value)>, Failure> {
        let server = database.server();
        let server = server.ok_or_else(|| Failure::usage("agents cannot reach this database"))?;
        let of = self.agents.len() as u32;
        let parts = (0..).zip(&self.agents).map(|(number, agent)| {
            let part = Part { number, of };
            let handover = self.handover(server, agent)?;
            let workers = self.workers(trial, agent);
            let part = LoadPart::of(trial, index, handover, route, part, workers);
            let order = serde_json::to_value(&part).map_err(Failure::internal)?;
            Ok((agent.clone(), order))
        });
        parts.collect()
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

    /// Runs the load to its end.
    pub(crate) fn drive(
        &self,
        index: usize,
        parts: Vec<(Identity, serde_json::Value)>,
        sides: &Sides<'_>,
    ) -> Result<LoadOutcome, LoadError> {
        let driven = self.try_drive(index, parts, sides);
        // The other loads must not wait for this one.
        driven.inspect_err(|_| sides.barrier.break_off())
    }

    fn try_drive(
        &self,
        index: usize,
        parts: Vec<(Identity, serde_json::Value)>,
        sides: &Sides<'_>,
    ) -> Result<LoadOutcome, LoadError> {
        let control = Control {
            open: sides.route.open(),
            ..Control::default()
        };
        let (fleet, load) = (&self.fleet.fleet, self.fleet.next_load());
        let drive = fleet.order(&self.fleet.run, load, parts, control);
        let drive = drive.map_err(|failure| LoadError::Agents(failure.to_string()))?;
        let mut load = FleetLoad::new(drive, &self.agents, index, sides);
        load.connect()?;
        let offsets = fleet.offsets(&self.agents);
        load.start(&offsets)?;
        load.run();
        load.into_outcome()
    }
}
