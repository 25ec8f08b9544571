//! Builds the servers of a trial: theirs, or our own from templates.

use std::cell::OnceCell;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::data::Mode;
use engine::{Access, InProcess};
use measure::instance::{Reset, ResetHow};
use plan::{EngineSpec, Node};

use crate::Database;
use crate::build::Building;
use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::home::Home;
use crate::instance::Instance;
use crate::observer::Observer;
use crate::prepare::prepare_for;
use crate::rig::{DataFor, MadeFor, Rig, reset};
use crate::server_process;
use crate::servers;
use crate::site::{self, Site, ThisHost};
use crate::spec::{config, installed, placed};
use crate::template::{Recipe, Template};
use crate::trial::{Target, Trial};
use crate::volume;

/// Where trials are run: dyno's place on this host, and what lasts from one trial to
/// the next.
#[derive(Debug, Default)]
pub struct Lab {
    /// The servers of the trial before, where the study keeps them.
    kept: Option<Rig>,
    /// The data that was copied last: nobody may take it away in between.
    template: Option<Template>,
    /// Taken when it is needed: a benchmark of somebody's server needs none.
    home: OnceCell<Home>,
    /// What could not be swept has been reported.
    is_sweep_reported: bool,
}

impl Lab {
    /// dyno's place on this host. At the first call it is taken, and swept of what dead
    /// dynos left there.
    ///
    /// # Errors
    /// When the place cannot be made or is not ours.
    pub fn home(&self) -> Result<&Home, Failure> {
        if let Some(home) = self.home.get() {
            return Ok(home);
        }
        let home = Home::open()?;
        Ok(self.home.get_or_init(|| home))
    }

    /// Makes sure that this host can give the servers of a study the CPUs and the disk
    /// that it wants for them.
    ///
    /// # Errors
    /// What is missing, at its place in the study.
    pub fn check_platform(&self, spec: &EngineSpec, node: &Node) -> Result<(), Failure> {
        let home = self.home()?;
        let failed = |error| placed(spec, node, error);
        site::set_up(home, &node.site).map_err(failed)?;
        volume::check(&node.volume, home.account()).map_err(failed)
    }

    /// Makes sure that the programs of the private servers take the settings of every trial;
    /// no server is started.
    ///
    /// # Errors
    /// The first setting that is refused, in the program's own words and at its place in the
    /// study.
    pub fn check_settings(
        &self,
        trials: &[Trial],
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut checked = Vec::new();
        for trial in trials {
            let Target::Private(spec) = &trial.target else {
                continue;
            };
            let asked = (
                &spec.engine.value,
                &spec.basedir,
                &spec.version,
                config(spec),
            );
            if asked.3.is_empty() || checked.contains(&asked) {
                continue;
            }
            let taken = servers::check(self.home()?, &installed(spec)?, &asked.3, interrupted);
            taken.map_err(|error| match error {
                LabError::RejectedSetting { .. } => Failure {
                    cause: Cause::Usage,
                    ..placed(spec, &trial.planned.topology.node, error)
                },
                other => placed(spec, &trial.planned.topology.node, other),
            })?;
            checked.push(asked);
        }
        Ok(())
    }

    /// Makes sure that somebody answers at a URL. A temporary database of an engine in process
    /// goes when the laboratory does.
    ///
    /// # Errors
    /// When the URL names no database, or nobody answers.
    pub fn open(&self, url: &str, access: &Access) -> Result<Database, Failure> {
        let engine = engine::of_url(url)?;
        let directory = match engine.in_process() {
            Some(_) => Some(self.home()?.run_dir()),
            None => None,
        };
        Ok(engine.open(url, access, directory)?)
    }

    /// Starts a trial's servers with their data.
    pub(crate) fn set_up(
        &mut self,
        trial: &Trial,
        observer: &mut dyn Observer,
        interrupted: &AtomicBool,
    ) -> Result<Rig, Failure> {
        let mut rig = match &trial.target {
            Target::Given(database) => found(trial, database, observer, interrupted),
            Target::Temporary(engine) => self.files(*engine, trial, observer, interrupted),
            Target::Private(spec) => self.private(spec, trial, observer, interrupted),
        }?;
        self.report_leftovers(observer);
        let host = ThisHost::default();
        for instance in &mut rig.instances {
            let endpoint = &mut instance.endpoint;
            if trial.planned.monitors && !endpoint.database.is_in_process() {
                // A server that does not list them is driven all the same.
                instance.settings = endpoint.database.changed_settings().unwrap_or_default();
                if instance.cluster.is_none() {
                    endpoint.process =
                        Some(server_process::find(host.files(), &*endpoint.database));
                }
            }
        }
        Ok(rig)
    }

    /// Names what earlier dynos left and this one could not remove, once.
    fn report_leftovers(&mut self, observer: &mut dyn Observer) {
        let Some(home) = self.home.get().filter(|_| !self.is_sweep_reported) else {
            return;
        };
        for leftover in &home.swept().left {
            observer.note(&format!("an earlier dyno left something: {leftover}"));
        }
        self.is_sweep_reported = true;
    }

    /// The trial is over: the next one begins from its own bytes, unless the study
    /// wants it otherwise.
    pub(crate) fn take_down(&mut self, rig: Rig) {
        let goes_on = |made_for: &MadeFor| made_for.spec.reset == plan::Reset::None;
        if rig.made_for.as_ref().is_some_and(goes_on) {
            self.kept = Some(rig);
        }
    }

    /// A temporary database in process for each instance.
    fn files(
        &self,
        engine: InProcess,
        trial: &Trial,
        observer: &mut dyn Observer,
        interrupted: &AtomicBool,
    ) -> Result<Rig, Failure> {
        let began = Instant::now();
        let mut instances = Vec::new();
        for _ in 0..trial.planned.topology.instances {
            let database = self.open(engine.temporary_url, &Access::default())?;
            prepare_for(observer, trial, &database, Mode::Missing, interrupted)?;
            instances.push(Instance::of(database));
        }
        let first = instances
            .first()
            .map(|instance: &Instance| &instance.endpoint);
        let file = first.and_then(|endpoint| endpoint.database.file());
        let bytes = file.and_then(|file| std::fs::metadata(file).ok());
        Ok(Rig {
            reset: Some(Reset {
                bytes: bytes.map_or(0, |file| file.len()),
                ..reset(ResetHow::Rebuilt, began.elapsed(), began.elapsed())
            }),
            instances,
            made_for: None,
        })
    }

    /// Servers of our own, each on data of its own.
    fn private(
        &mut self,
        spec: &EngineSpec,
        trial: &Trial,
        observer: &mut dyn Observer,
        interrupted: &AtomicBool,
    ) -> Result<Rig, Failure> {
        let (installed, config) = (installed(spec)?, config(spec));
        let node = &trial.planned.topology.node;
        let made_for = MadeFor {
            spec: spec.clone(),
            site: node.site.clone(),
            data: DataFor {
                recipe: Recipe::with_data(&installed, &config, &trial.wanted(Mode::Missing)),
                instances: trial.planned.topology.nodes(),
                volume: node.volume.clone(),
            },
        };
        let kept = self.kept.take();
        let kept = kept.filter(|kept| goes_on_from(kept, &made_for));
        let kept = kept.and_then(|kept| living(kept, trial, observer));
        let (data, reset) = match kept {
            Some(kept) if kept.made_for.as_ref() == Some(&made_for) => return Ok(still(kept)),
            Some(kept) => {
                observer.stage("stopping the servers to start them with other settings");
                let reset = still_reset(kept.reset.as_ref());
                (Some(kept.into_data(interrupted)?), reset)
            }
            None => (None, None),
        };
        let home = self.home()?.clone();
        let mut building = Building {
            spec,
            trial,
            installed,
            config,
            observer,
            interrupted,
        };
        let sites = building.sites(&home)?;
        let (data, reset) = match (data, reset) {
            (Some(data), Some(reset)) => (data, reset),
            _ if spec.reset == plan::Reset::Rebuild => building.rebuilt(&home)?,
            _ => building.copied(&home, &sites, &mut self.template)?,
        };
        Ok(Rig {
            instances: building.instances(sites, data)?,
            reset: Some(reset),
            made_for: Some(made_for),
        })
    }
}

/// Whether the next trial goes on with the data of servers that were kept.
fn goes_on_from(kept: &Rig, next: &MadeFor) -> bool {
    let before = kept.made_for.as_ref();
    next.spec.reset == plan::Reset::None && before.is_some_and(|before| before.data == next.data)
}

/// The servers that were kept, if all of them live. What a dead one left is nothing that
/// a trial can go on with.
fn living(kept: Rig, trial: &Trial, observer: &mut dyn Observer) -> Option<Rig> {
    if kept.is_alive() {
        return Some(kept);
    }
    observer.note(&format!(
        "trial {} begins with a copy of the data: a server that it was to go on with died",
        trial.planned.number
    ));
    None
}

fn still(kept: Rig) -> Rig {
    Rig {
        reset: still_reset(kept.reset.as_ref()),
        ..kept
    }
}

fn still_reset(before: Option<&Reset>) -> Option<Reset> {
    before.map(|before| Reset {
        how: ResetHow::Kept,
        took_s: 0.0,
        settle_s: None,
        ..before.clone()
    })
}

/// A database that is there, with the rows that were missing.
fn found(
    trial: &Trial,
    database: &Database,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<Rig, Failure> {
    let began = Instant::now();
    if let Some(mode) = trial.run_options.mode {
        prepare_for(observer, trial, database, mode, interrupted)?;
    }
    Ok(Rig {
        instances: vec![Instance::of(database.clone())],
        reset: Some(reset(ResetHow::Found, began.elapsed(), Duration::ZERO)),
        made_for: None,
    })
}
