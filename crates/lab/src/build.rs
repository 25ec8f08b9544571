//! From an installed program to running servers, each on data of its own.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::Installed;
use engine::data::{Listener, Mode};
use measure::instance::{Reset, ResetHow};
use plan::EngineSpec;

use crate::cluster::Cluster;
use crate::error::LabError;
use crate::failure::Failure;
use crate::home::Home;
use crate::instance::Instance;
use crate::observer::Observer;
use crate::rig::reset;
use crate::servers::{self, DataDir};
use crate::settle::settle;
use crate::site;
use crate::spec::{placed, port};
use crate::template::{self, DATABASE, Template};
use crate::trial::Trial;

/// What is given to every step on the way to a running server.
pub(crate) struct Building<'a> {
    pub(crate) spec: &'a EngineSpec,
    pub(crate) trial: &'a Trial,
    pub(crate) installed: Installed,
    pub(crate) config: Vec<(String, String)>,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) interrupted: &'a AtomicBool,
}

impl Building<'_> {
    /// Loads the data of each server anew.
    pub(crate) fn rebuilt(&mut self, home: &Home) -> Result<(Vec<DataDir>, Reset), Failure> {
        let began = Instant::now();
        let wanted = self.trial.wanted(Mode::Missing);
        let mut data = Vec::new();
        let mut each = Duration::ZERO;
        for _ in 0..self.trial.planned.topology.instances {
            let listener = Listener {
                tell: &mut |news| self.observer.preparing(&news),
                interrupted: self.interrupted,
            };
            let volume = &self.trial.planned.topology.node.volume;
            let built = template::rebuild(
                home,
                &self.installed,
                &wanted,
                &self.config,
                volume,
                listener,
            );
            let (built, took) = built.map_err(|error| self.placed(error))?;
            each = took;
            data.push(built);
        }
        let reset = reset(ResetHow::Rebuilt, began.elapsed(), each);
        let settle_s = self.settle(&data)?;
        Ok((data, Reset { settle_s, ..reset }))
    }

    /// Copies the data of each server from a template, which is built if need be.
    pub(crate) fn copied(
        &mut self,
        home: &Home,
        held: &mut Option<Template>,
    ) -> Result<(Vec<DataDir>, Reset), Failure> {
        let wanted = self.trial.wanted(Mode::Missing);
        let listener = Listener {
            tell: &mut |news| self.observer.preparing(&news),
            interrupted: self.interrupted,
        };
        let template = template::obtain(home, &self.installed, &wanted, &self.config, listener)
            .map_err(|error| self.placed(error))?;
        self.observer.stage("copying the data");
        let began = Instant::now();
        let volume = &self.trial.planned.topology.node.volume;
        let copies = (1..=self.trial.planned.topology.instances).map(|number| {
            let copy = template.copy_to(number, volume);
            Ok(copy.map_err(|error| self.placed(error))?.0)
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
            settle_s: self.settle(&copies)?,
            ..reset
        };
        *held = Some(template);
        Ok((copies, reset))
    }

    fn placed(&self, error: LabError) -> Failure {
        placed(self.spec, &self.trial.planned.topology.node, error)
    }

    /// Lets no server start while its data is still being written, unless the study wants
    /// that; gives the seconds that it took.
    fn settle(&mut self, data: &[DataDir]) -> Result<Option<f64>, Failure> {
        if !self.spec.cold_data {
            return Ok(None);
        }
        self.observer.stage("writing the data to disk");
        let began = Instant::now();
        for one in data {
            settle(&one.data(), self.interrupted)?;
        }
        Ok(Some(began.elapsed().as_secs_f64()))
    }

    /// Starts a server on each directory.
    pub(crate) fn start(&mut self, data: Vec<DataDir>) -> Result<Vec<Instance>, Failure> {
        self.observer.stage("starting the servers");
        let mut instances = Vec::new();
        for (number, data) in (1..).zip(data) {
            let keep = self.observer.server_dir(number)?;
            let site = site::set_up(data.home(), &self.trial.planned.topology.node.site);
            let site = site.map_err(|error| self.placed(error))?;
            let wanted = servers::Wanted {
                number,
                data,
                config: &self.config,
                port: port(self.spec, number),
                connections: self.trial.planned.load.threads,
                site,
                keep: &keep,
                interrupted: self.interrupted,
            };
            let node = servers::start(&self.installed, wanted);
            let node = node.map_err(|error| self.placed(error))?;
            for note in node.notes() {
                self.observer.note(note);
            }
            let database = node.open(DATABASE)?;
            instances.push(Instance::on(Cluster::single(node), database));
        }
        Ok(instances)
    }
}
