//! What an agent needs to run its part of a load: the trial as planned, so that the same code builds
//! the same load, and what only the coordinator knows.

use client::route::RouteCopy;
use engine::Handover;
use load::{LoadSpec, Part};
use serde::{Deserialize, Serialize};
use workload::options::Options;

use crate::drive::allow_files;
use crate::trial::OWN_FILES;
use crate::{Database, Failure, RunOptions, Target, Trial, Workload};

#[derive(Serialize, Deserialize)]
pub(super) struct LoadPart {
    pub(super) planned: plan::Trial,
    /// Of its scripts.
    pub(super) texts: Vec<String>,
    pub(super) load_seed: u64,
    pub(super) run_options: RunOptions,
    pub(super) database: Handover,
    pub(super) route: RouteCopy,
    /// The index of the database among those of the trial.
    pub(super) index: usize,
    pub(super) part: Part,
}

impl LoadPart {
    /// The trial whose load is this part, its database, and the load.
    pub(super) fn ready(mut self) -> Result<(Trial, Database, LoadSpec), Failure> {
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
        Ok((trial, database, spec))
    }
}
