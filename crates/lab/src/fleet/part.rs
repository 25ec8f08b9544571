//! What an agent needs to run its part of a load: the trial as planned, so that the same code builds
//! the same load, and what only the coordinator knows.

use client::route::{Route, RouteCopy};
use engine::Handover;
use load::{LoadSpec, Part};
use serde::{Deserialize, Serialize};
use workload::options::Options;

use crate::drive::allow_files;
use crate::trial::OWN_FILES;
use crate::{Database, Failure, RunOptions, Target, Trial, Workload};

#[derive(Serialize, Deserialize)]
pub(super) struct LoadPart {
    planned: plan::Trial,
    /// Of its scripts.
    texts: Vec<String>,
    load_seed: u64,
    run_options: RunOptions,
    database: Handover,
    route: RouteCopy,
    /// The index of the database among those of the trial.
    index: usize,
    part: Part,
}

/// A part that can be run.
pub(super) struct ReadyPart {
    pub(super) trial: Trial,
    pub(super) database: Database,
    pub(super) spec: LoadSpec,
    pub(super) route: Route,
}

impl LoadPart {
    /// The part of a trial's load on the database with this index; `workers` are those that an agent
    /// with a number of CPUs has.
    pub(super) fn of(
        trial: &Trial,
        index: usize,
        database: Handover,
        route: &Route,
        part: Part,
        workers: u32,
    ) -> Self {
        let scripts = trial.planned.load.scripts.iter();
        let of_all = &trial.run_options;
        Self {
            planned: trial.planned.clone(),
            texts: scripts.map(|script| script.text.to_string()).collect(),
            load_seed: trial.load_seed,
            run_options: RunOptions {
                connect_limit: of_all.connect_limit.div_ceil(part.of.max(1)),
                workers: Some(workers),
                ..of_all.clone()
            },
            database,
            route: route.copy(),
            index,
            part,
        }
    }

    pub(super) fn ready(mut self) -> Result<ReadyPart, Failure> {
        for (script, text) in self.planned.load.scripts.iter_mut().zip(&self.texts) {
            script.text = text.as_str().into();
        }
        let database = self.database.open()?;
        let options = Options::of(&self.planned).map_err(Failure::usage)?;
        let workload = Workload::of(&self.planned, &options, database.engine())?;
        let trial = Trial {
            workload,
            options,
            load_seed: self.load_seed,
            target: Target::Given(database.clone()),
            longest_wait: None,
            run_options: self.run_options,
            fleet: None,
            planned: self.planned,
        };
        let mut spec = LoadSpec {
            part: self.part,
            ..trial.load(self.index, &database)
        };
        let users = spec.own_users().len() as u64;
        allow_files(trial.files_of(users) + OWN_FILES, users)?;
        spec.workers = spec.workers.min(users as u32);
        Ok(ReadyPart {
            route: self.route.build(self.part.number as usize),
            trial,
            database,
            spec,
        })
    }
}
