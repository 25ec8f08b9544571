//! Breaks what a study asks to break, and heals it: when faults are due, each in a thread of its own.

mod active;
mod context;
mod effect;
mod group;
mod injection;
pub(crate) mod links;
mod operator;
mod program;
mod rolling;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use plan::{ActsOn, Chaos, Fault};

use crate::drive::clock::Clock;
use crate::drive::trial_loop::TrialMessage;
use crate::observe::watch::Watch;
use crate::{Failure, Observer, Rig, Trial, threads};

pub(crate) use active::ActiveFaults;
use injection::Injection;

/// How often to check whether the trial is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The directory of the result for the output of commands; none if the trial runs no command.
pub(crate) fn outputs(trial: &Trial, observer: &mut dyn Observer) -> Result<PathBuf, Failure> {
    let mut faults = trial.planned.topology.faults.iter();
    match faults.any(|fault| fault.kind().rules().acts_on == ActsOn::Anything) {
        true => observer.server_dir(1),
        false => Ok(PathBuf::new()),
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Schedule<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) rig: &'a Rig,
    pub(crate) watches: &'a [Watch],
    pub(crate) outputs: &'a Path,
    /// When the loads have ended, later faults are omitted, and those that must not outlive the
    /// load are ended.
    pub(crate) clock: Clock<'a>,
    pub(crate) sender: &'a Sender<TrialMessage>,
    /// Becomes true when the trial is interrupted.
    pub(crate) interrupted: &'a AtomicBool,
}

/// Starts a thread for the faults of a trial, unless it has none. It ends once the trial is over.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    schedule: Schedule<'env>,
) -> Result<Option<ScopedJoinHandle<'scope, ()>>, Failure> {
    if !schedule.trial.has_faults() {
        return Ok(None);
    }
    let run = move || schedule.run();
    threads::spawn(scope, "dyno-faults".to_owned(), run).map(Some)
}

impl<'a> Schedule<'a> {
    /// Each fault has a thread in each instance that it hits: it may take long to heal.
    fn run(self) {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, fault) in (1..).zip(&self.trial.planned.topology.faults) {
                let due = self.due(fault, &threads);
                let instances = self.rig.instances.iter().zip(self.watches);
                for (instance_number, (instance, watch)) in (1..).zip(instances) {
                    if !context::has(instance, fault.target) {
                        continue;
                    }
                    let injection = Injection {
                        schedule: self,
                        number,
                        step: 0,
                        fault: fault.clone(),
                        at: due.unwrap_or(fault.at),
                        instance_number,
                        instance,
                        watch,
                    };
                    if due.is_none() {
                        injection.omit("too little time was left");
                        continue;
                    }
                    let name = format!("dyno-fault-{number}");
                    match threads::spawn(scope, name, move || injection.run_steps()) {
                        Ok(thread) => threads.push(thread),
                        // Without a receiver the trial is over.
                        Err(refused) => drop(self.sender.send(TrialMessage::Failed(refused))),
                    }
                }
            }
            while !self.clock.is_over() {
                sleep(POLL_INTERVAL);
            }
            let effects: Vec<_> = threads.into_iter().map(threads::join).collect();
            // Ends what must not outlive the load.
            effects
                .into_iter()
                .flatten()
                .for_each(|mut effect| effect.end(self.interrupted));
        });
    }

    /// Waits until this time of the measurement; false if the trial ends before.
    fn wait(self, at: Duration) -> bool {
        let begun = self.clock.begun();
        begun.is_some_and(|begun| self.clock.wait(begun + self.trial.planned.load.warmup + at))
    }

    /// When a fault is injected. Random ones wait until the servers have recovered from the earlier ones,
    /// which may take longer than the schedule allows for. `None` if the trial ends before, or a fault
    /// that had to wait could not be healed in time.
    fn due<T>(self, fault: &Fault, earlier: &[ScopedJoinHandle<'_, T>]) -> Option<Duration> {
        let planned = &self.trial.planned;
        if !self.wait(fault.at) || planned.chaos.is_none() {
            return (!self.clock.is_over()).then_some(fault.at);
        }
        let mut has_waited = false;
        while !earlier.iter().all(ScopedJoinHandle::is_finished) {
            if self.clock.is_over() {
                return None;
            }
            has_waited = true;
            sleep(POLL_INTERVAL);
        }
        let at = self.measured(Instant::now())?.max(fault.at);
        let healed = at + fault.heal.unwrap_or_default() + Chaos::HEALED_BEFORE_END;
        (!has_waited || healed <= planned.load.time).then_some(at)
    }

    /// A time of the measurement; `None` if it has not begun.
    fn measured(self, at: Instant) -> Option<Duration> {
        let begun = self.clock.barrier.begun()? + self.trial.planned.load.warmup;
        Some(at.saturating_duration_since(begun))
    }
}
