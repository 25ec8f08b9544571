//! Checks, before the first trial, that hosts can have what a study needs of them.

use std::sync::atomic::AtomicBool;

use plan::{EngineSpec, SiteKind, Topology};

use super::servers;
use crate::home::Home;
use crate::hosts::{Host, check_each, check_room, connect, together};
use crate::setup::needs::Needs;
use crate::setup::place::placed;
use crate::setup::spec::{config, installed};
use crate::{Failure, Lab, Target, Trial, site, volume};

impl Lab {
    /// Checks that each host has the disk space and the memory that its servers need. Without other
    /// hosts, does nothing.
    pub fn check_room(
        &self,
        spec: &EngineSpec,
        topology: &Topology,
        needs: &Needs,
    ) -> Result<(), Failure> {
        let checked = check_room(topology, &self.hosts.borrow(), needs);
        checked.map_err(|failure| placed(failure, spec, topology))
    }

    /// Connects to the other hosts of all trials, and checks that they have the programs and can provide
    /// what the trials ask for. All that they lack is one failure.
    pub fn check_hosts(&self, trials: &[Trial], interrupted: &AtomicBool) -> Result<(), Failure> {
        let elsewhere = trials.iter().filter_map(|trial| match &trial.target {
            Target::Private(spec) if trial.is_elsewhere() => {
                Some((&**spec, &trial.planned.topology))
            }
            _ => None,
        });
        let mut unchecked: Vec<(&EngineSpec, &Topology)> = Vec::new();
        for (spec, topology) in elsewhere {
            if !self.is_checked(spec, topology) && !unchecked.contains(&(spec, topology)) {
                unchecked.push((spec, topology));
            }
        }
        let Some((spec, topology)) = unchecked.first() else {
            return Ok(());
        };
        let mut hosts = self.hosts.borrow_mut();
        let topologies = unchecked.iter().map(|(_, topology)| *topology);
        let lacks = connect(self.home()?, topologies, &mut hosts, interrupted).into_iter();
        let mut lacks: Vec<_> = lacks.map(|lack| placed(lack, spec, topology)).collect();
        for (spec, topology) in &unchecked {
            let installed = installed(spec)?;
            let others = check_each(topology, &hosts, spec, &installed, interrupted).into_iter();
            lacks.extend(others.map(|lack| placed(lack, spec, topology)));
        }
        together(lacks)?;
        let checked = unchecked.into_iter();
        let checked = checked.map(|(spec, topology)| (spec.clone(), topology.clone()));
        self.checked.borrow_mut().extend(checked);
        Ok(())
    }

    /// Checks that this host can provide the CPU quota, network, and disk that a study asks for.
    pub fn check_platform(
        &self,
        spec: &EngineSpec,
        topology: &Topology,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let home = self.home()?;
        if self.is_checked(spec, topology) {
            return Ok(());
        }
        can_have(home, spec, topology, interrupted)
            .map_err(|failure| placed(failure, spec, topology))?;
        let checked = (spec.clone(), topology.clone());
        self.checked.borrow_mut().push(checked);
        Ok(())
    }

    fn is_checked(&self, spec: &EngineSpec, topology: &Topology) -> bool {
        let checked = self.checked.borrow();
        checked
            .iter()
            .any(|known| (&known.0, &known.1) == (spec, topology))
    }

    /// Checks that the programs of the private servers accept the settings of every trial. Starts
    /// no server.
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
            let config = config(spec);
            if config.is_empty() || checked.contains(&spec) {
                continue;
            }
            let accepted = servers::check(self.home()?, &installed(spec)?, &config, interrupted);
            accepted.map_err(|failure| placed(failure, spec, &trial.planned.topology))?;
            checked.push(spec);
        }
        Ok(())
    }
}

/// Checks that the study's sites and volumes can be created.
fn can_have(
    home: &Home,
    spec: &EngineSpec,
    topology: &Topology,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    match topology.node.site.kind.value {
        SiteKind::Vm => {
            let guest = Host::guest(home, 1, topology, interrupted)?;
            guest.check(spec, &installed(spec)?, topology, interrupted)?;
        }
        _ => drop(site::set_up(home, topology, 1)?),
    }
    volume::check(&topology.node, home.account())?;
    volume::fillable::check_all(topology, home.root())
}
