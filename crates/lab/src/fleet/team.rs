//! The agents of a trial, and the part of each in its loads.

use std::sync::atomic::{AtomicBool, Ordering};

use client::clock::monotonic_ns_of;
use client::route::Route;
use fleet::{Control, Drive, Fleet, Identity};
use load::{LoadError, LoadOutcome, Part};
use plan::Fact;
use serde_json::Value;

use super::drive::FleetLoad;
use super::part::LoadPart;
use super::{GATHER_LIMIT, gather, is_near, muster, out_of_reach};
use crate::drive::trial_loop::TrialMessage;
use crate::trial::default_workers;
use crate::{Database, Failure, RunOptions, Trial};

/// The agents of a trial.
pub(crate) struct Team<'a> {
    trial: &'a Trial,
    fleet: &'a Fleet,
    pub(super) agents: Vec<Identity>,
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
        let check = || muster(fleet, &trial.planned);
        let is_interrupted = || interrupted.load(Ordering::Relaxed);
        let agents = gather(GATHER_LIMIT, check, tell, &is_interrupted)?;
        Ok(Some(Self {
            trial,
            fleet,
            agents,
        }))
    }

    /// The agents that run on this host.
    pub(crate) fn processes_here(&self) -> Vec<u32> {
        let machine = &self.fleet.own.machine;
        let here = self.agents.iter().filter(|agent| agent.machine == *machine);
        here.map(|agent| agent.process).collect()
    }

    /// Runs the load on the database with this index to its end. `send` passes on what is not an
    /// event of the load.
    pub(crate) fn drive(
        &self,
        index: usize,
        database: &Database,
        load: engine::Load<'_>,
        send: &dyn Fn(TrialMessage),
    ) -> Result<LoadOutcome, LoadError> {
        let of = self.agents.len() as u32;
        let orders = (0..).zip(&self.agents).map(|(number, agent)| {
            let part = Part { number, of };
            self.order(index, database, load.route, agent, part)
        });
        let orders: Result<Vec<_>, Failure> = orders.collect();
        self.run(&orders.map_err(LoadError::Agents)?, index, load, send)
    }

    /// Runs a load, of which each agent runs what its order says.
    pub(super) fn run(
        &self,
        orders: &[Value],
        index: usize,
        load: engine::Load<'_>,
        send: &dyn Fn(TrialMessage),
    ) -> Result<LoadOutcome, LoadError> {
        let drive = self.take(orders, &load, send)?;
        let mut load = FleetLoad::new(drive, index, load, send);
        load.connect()?;
        load.start()?;
        load.run();
        load.into_outcome()
    }

    /// Has the agents run their parts. Other runs may want some of them at the same time, so this
    /// waits for them again if not all can be had.
    fn take(
        &self,
        orders: &[Value],
        load: &engine::Load<'_>,
        send: &dyn Fn(TrialMessage),
    ) -> Result<Drive<'a>, LoadError> {
        let control = Control {
            open: load.route.open(),
            ..Control::default()
        };
        let origin_ns = monotonic_ns_of(load.barrier.origin());
        let mut is_repeated = false;
        let take = || {
            if std::mem::replace(&mut is_repeated, true) {
                muster(self.fleet, &self.trial.planned)?;
            }
            let (fleet, agents) = (self.fleet, &self.agents);
            match fleet.order(origin_ns, agents, orders, &control) {
                Err(failure) if failure.is(Fact::Busy) => Err(failure),
                // Waiting would not change it.
                ordered => Ok(ordered),
            }
        };
        let mut tell = |why: &str| send(TrialMessage::Note(format!("waiting for agents: {why}")));
        let is_interrupted = || load.stop.is_interrupted();
        let taken = gather(GATHER_LIMIT, take, &mut tell, &is_interrupted).flatten();
        taken.map_err(|failure| match failure.is_interrupted() {
            true => LoadError::Interrupted,
            false => LoadError::Agents(failure),
        })
    }

    /// An agent's part of the load on the database with this index.
    fn order(
        &self,
        index: usize,
        database: &Database,
        route: &Route,
        agent: &Identity,
        part: Part,
    ) -> Result<Value, Failure> {
        let server = database.server();
        let server = server.ok_or_else(|| Failure::usage("agents cannot reach this database"))?;
        let handover = server.handover()?;
        if let Some(local) = handover.local_server()
            && !is_near(self.fleet, agent)
        {
            return Err(out_of_reach(agent, local));
        }
        let trial = self.trial;
        let scripts = trial.planned.load.scripts.iter();
        let of_all = &trial.run_options;
        let part = LoadPart {
            planned: trial.planned.clone(),
            texts: scripts.map(|script| script.text.to_string()).collect(),
            load_seed: trial.load_seed,
            run_options: RunOptions {
                connect_limit: of_all.connect_limit.div_ceil(part.of.max(1)),
                workers: Some(self.workers(agent)),
                ..of_all.clone()
            },
            database: handover,
            route: route.copy(),
            index,
            part,
        };
        serde_json::to_value(&part).map_err(Failure::internal)
    }

    /// Agents of one machine share its CPUs.
    fn workers(&self, agent: &Identity) -> u32 {
        let is_here = |other: &&Identity| other.machine == agent.machine;
        let here = self.agents.iter().filter(is_here).count() as u32;
        let loads = self.trial.planned.topology.instances.max(1) * here;
        let share = default_workers(agent.cpus as usize, loads);
        self.trial.run_options.workers.unwrap_or(share)
    }
}
