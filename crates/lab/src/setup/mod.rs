//! Sets up what a trial drives: existing databases, temporary ones, or private servers.

pub(crate) mod build;
mod check;
pub(crate) mod cluster;
pub(crate) mod data;
pub mod needs;
mod place;
pub(crate) mod rig;
pub(crate) mod server_process;
pub mod servers;
pub(crate) mod spec;
pub mod template;

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::data::Mode;
use engine::{Access, InProcess};
use measure::finding::Finding;
use measure::instance::{Reset, ResetHow};
use plan::{EngineSpec, Follow, Topology};

use crate::doctor::{Subject, examine_all};
use crate::home::{Cleaned, Home};
use crate::hosts::{Data, Hosts, spots};
use crate::observe::probe;
use crate::setup::build::Building;
use crate::setup::data::prepare_for;
use crate::setup::place::placed;
use crate::setup::rig::{ReuseKey, reset};
use crate::setup::spec::{config, installed};
use crate::site::{Site, ThisHost};
use crate::template::{Recipe, Template};
use crate::{Database, Failure, Instance, Observer, Rig, Run, Target, Trial, home};

/// Where trials run: dyno's cache on this host, and what lasts from one trial to the next.
#[derive(Debug, Default)]
pub struct Lab {
    /// The servers of the previous trial, if the study reuses servers.
    kept: Option<Rig>,
    /// The last template that was copied, held so that no other dyno removes it between trials.
    template: Option<Template>,
    /// The hosts that servers run on.
    hosts: RefCell<Hosts>,
    /// Opened when first needed: a benchmark of a running server needs no cache.
    home: OnceCell<Home>,
    /// What [`Lab::check_platform`] and [`Lab::check_hosts`] have checked, since that takes time.
    checked: RefCell<Vec<(EngineSpec, Topology)>>,
    /// Whether the leftovers of earlier runs have been reported.
    is_sweep_reported: bool,
}

impl Lab {
    /// The first call opens the cache and removes what dead runs left behind.
    pub fn home(&self) -> Result<&Home, Failure> {
        if let Some(home) = self.home.get() {
            return Ok(home);
        }
        let home = Home::open(servers::account()?)?;
        Ok(self.home.get_or_init(|| home))
    }

    /// Examines this host and those that are connected.
    pub fn examine(&self, subject: &Subject<'_>) -> Vec<Finding> {
        let hosts = self.hosts.borrow();
        let elsewhere = hosts.values().map(|host| Subject {
            elsewhere: Some(host.name()),
            servers: &[],
            directories: &[],
            files: &**host,
            ..*subject
        });
        let all: Vec<Subject<'_>> = std::iter::once(*subject).chain(elsewhere).collect();
        examine_all(&all)
    }

    /// A temporary database of an in-process engine is removed with the laboratory.
    pub fn open(&self, url: &str, access: &Access) -> Result<Database, Failure> {
        let engine = engine::of_url(url)?;
        let directory = match engine.in_process() {
            Some(_) => Some(self.home()?.run_dir()),
            None => None,
        };
        engine.open(url, access, directory)
    }

    pub(crate) fn set_up(&mut self, trial: &Trial, run: &mut Run<'_>) -> Result<Rig, Failure> {
        let mut rig = match &trial.target {
            Target::Given(database) => found(trial, database, run),
            Target::Temporary(engine) => self.temporary(*engine, trial, run),
            Target::Private(spec) => self
                .private(spec, trial, run)
                .map_err(|failure| placed(failure, spec, &trial.planned.topology)),
        }?;
        self.report_leftovers(run.observer);
        let host = ThisHost::default();
        for instance in &mut rig.instances {
            let database = &instance.database;
            if trial.planned.monitors && !database.is_in_process() {
                // A server that cannot list its settings can still be driven.
                let settings = database.server().map(|server| server.changed_settings());
                instance.settings = settings.and_then(Result::ok).unwrap_or_default();
                instance.cluster.find_processes(host.files());
            }
        }
        Ok(rig)
    }

    /// Reports, once, what earlier runs left behind and this one could not remove.
    fn report_leftovers(&mut self, observer: &mut dyn Observer) {
        let Some(home) = self.home.get().filter(|_| !self.is_sweep_reported) else {
            return;
        };
        for leftover in &home.swept().left {
            observer.note(&format!("an earlier run left something behind: {leftover}"));
        }
        for host in self.hosts.borrow().values() {
            let name = host.name();
            for left in host.left() {
                let text = format!("an earlier run left something behind on host {name}: {left}");
                observer.note(&text);
            }
        }
        self.is_sweep_reported = true;
    }

    /// Ends a trial's servers, unless the study reuses them.
    pub(crate) fn take_down(&mut self, rig: Rig, observer: &mut dyn Observer) {
        let is_reused = |reuse_key: &ReuseKey| reuse_key.spec.reset == plan::Reset::None;
        match rig.reuse_key.as_ref().is_some_and(is_reused) {
            true => self.kept = Some(rig),
            false => rig.end(observer),
        }
    }

    /// An in-process database for each instance, in a temporary file.
    fn temporary(
        &self,
        engine: InProcess,
        trial: &Trial,
        run: &mut Run<'_>,
    ) -> Result<Rig, Failure> {
        let began = Instant::now();
        let mut instances: Vec<Instance> = Vec::new();
        for number in 1..=trial.planned.topology.instances {
            let database = self.open(engine.temporary_url, &Access::default())?;
            prepare_for(trial, &database, Mode::Missing, run)?;
            instances.push(Instance::found(database, number));
        }
        let first = instances.first();
        let file = first.and_then(|instance| instance.database.file());
        let bytes = file.and_then(|file| std::fs::metadata(file).ok());
        Ok(Rig {
            reset: Some(Reset {
                bytes: bytes.map_or(0, |file| file.len()),
                ..reset(ResetHow::Rebuilt, began.elapsed(), began.elapsed())
            }),
            instances,
            reuse_key: None,
        })
    }

    /// Private servers, each with a copy of the data of its own.
    fn private(
        &mut self,
        spec: &EngineSpec,
        trial: &Trial,
        run: &mut Run<'_>,
    ) -> Result<Rig, Failure> {
        let (installed, config) = (installed(spec)?, config(spec));
        let topology = &trial.planned.topology;
        let reuse_key = ReuseKey {
            spec: spec.clone(),
            node: topology.node.clone(),
            network: topology.network(),
            recipe: Recipe::with_data(&installed, &config, &trial.wanted(Mode::Missing)),
            instances: topology.nodes(),
        };
        let kept = self.kept.take();
        let kept = kept.and_then(|kept| reusable(kept, &reuse_key, trial, run.observer));
        let kept = match kept {
            Some(kept) if kept.reuse_key.as_ref() == Some(&reuse_key) => return Ok(kept),
            Some(kept) => {
                run.observer
                    .stage("restarting the servers with other settings");
                let reset = kept.reset.clone();
                let data = kept.into_data(run.interrupted)?;
                Some(data.into_iter().map(Data::Here).collect()).zip(reset)
            }
            None => None,
        };
        let home = self.home()?.clone();
        let mut building = Building {
            spec,
            trial,
            installed,
            config,
            run,
        };
        let began = Instant::now();
        let interrupted = building.run.interrupted;
        let spots = spots(&home, topology, &mut self.hosts.borrow_mut(), interrupted)?;
        let sites_took = began.elapsed();
        let (data, reset) = match kept {
            Some(kept) => kept,
            None if spec.reset == plan::Reset::Rebuild => building.rebuilt(&home, &spots)?,
            None => building.copied(&home, &spots, &mut self.template)?,
        };
        let began = Instant::now();
        let instances = building.instances(&home, spots, data)?;
        let startup_s = Some((sites_took + began.elapsed()).as_secs_f64());
        Ok(Rig {
            instances,
            reset: Some(Reset { startup_s, ..reset }),
            reuse_key: Some(reuse_key),
        })
    }
}

/// The previous trial's servers, if all are alive and their data is what the next trial needs;
/// otherwise ends them.
fn reusable(kept: Rig, next: &ReuseKey, trial: &Trial, observer: &mut dyn Observer) -> Option<Rig> {
    let before = kept.reuse_key.as_ref();
    let is_reused = next.spec.reset == plan::Reset::None;
    let has_data = is_reused && before.is_some_and(|before| before.has_same_data(next));
    let mut faults = trial.planned.topology.faults.iter();
    let has_devices = !faults.any(|fault| fault.kind().has("device"));
    if has_data && has_devices && kept.is_alive() {
        let reset = kept.reset.as_ref().map(|reset| Reset {
            how: ResetHow::Kept,
            took_s: 0.0,
            settle_s: None,
            startup_s: None,
            load_s: None,
            ..reset.clone()
        });
        return Some(Rig { reset, ..kept });
    }
    if has_data {
        observer.note(&format!(
            "trial {} starts with a new copy of the data: a server that it should have reused died, changed its role, or lost a device",
            trial.planned.number
        ));
    }
    kept.end(observer);
    None
}

/// An existing database; loads the rows that are missing.
fn found(trial: &Trial, database: &Database, run: &mut Run<'_>) -> Result<Rig, Failure> {
    let began = Instant::now();
    let instance = Instance::found(database.clone(), 1);
    let cluster = &instance.cluster;
    if cluster.is_replicated() {
        probe::find_primary(cluster, run.interrupted)?;
    }
    let mut load_s = None;
    if let Some(mode) = trial.run_options.mode {
        let prepared = prepare_for(trial, &cluster.primary().database, mode, run)?;
        let has_data = trial
            .workload
            .data()
            .is_none_or(|data| data.prepare.is_some());
        let follows_any = trial.planned.topology.follow == Follow::Any;
        if cluster.is_replicated() && follows_any && has_data {
            run.observer
                .stage("waiting for the replicas to have the tables");
            probe::wait_for_tables(cluster, run)?;
        }
        // Otherwise, each trial loads them.
        let is_once = mode == Mode::Missing && prepared.loaded > 0;
        load_s = is_once.then(|| began.elapsed().as_secs_f64());
    }
    let reset = reset(ResetHow::Found, began.elapsed(), Duration::ZERO);
    Ok(Rig {
        instances: vec![instance],
        reset: Some(Reset { load_s, ..reset }),
        reuse_key: None,
    })
}

/// Removes what dead runs left behind; with `templates`, also every template that no process uses.
pub fn clean(templates: bool) -> Result<Cleaned, Failure> {
    clean_in(&home::place()?, templates)
}

/// Like [`clean`], in the directory `root`. Creates nothing, so that it works on a full disk.
pub fn clean_in(root: &Path, templates: bool) -> Result<Cleaned, Failure> {
    let Some((root, mut cleaned)) = home::remove_dead_runs(root, &servers::account()?)? else {
        return Ok(Cleaned::default());
    };
    if templates {
        template::cache::remove_unused(&home::templates_in(&root), &mut cleaned)?;
    }
    Ok(cleaned)
}

/// The cache's directory, or the nearest existing one above it.
pub fn disk_of_cache() -> Result<PathBuf, Failure> {
    let cache = home::place()?;
    let there = cache.ancestors().find(|path| path.is_dir());
    Ok(there.unwrap_or(Path::new("/")).to_owned())
}
