//! When the faults of a trial are injected.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use plan::{Chaos, Fault};

use super::injection::{Injected, Injection};
use super::target;
use crate::drive::clock::Clock;
use crate::drive::threads;
use crate::drive::trial_loop::TrialMessage;
use crate::failure::Failure;
use crate::observe::watch::Watch;
use crate::setup::rig::Rig;
use crate::trial::Trial;

/// How often to check whether the trial is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// When the faults of a trial are injected.
#[derive(Clone, Copy)]
pub(crate) struct Schedule<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) rig: &'a Rig,
    /// What is watched of each instance.
    pub(crate) watches: &'a [Watch],
    /// The directory for the output of commands.
    pub(crate) outputs: &'a Path,
    /// When the loads have ended, later faults are omitted, and those that must not outlive the
    /// load are ended.
    pub(crate) clock: Clock<'a>,
    /// Becomes true when the trial is interrupted.
    pub(crate) interrupted: &'a AtomicBool,
}

/// Starts a thread for the faults of a trial, unless it has none. It ends once the trial is over.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    schedule: Schedule<'env>,
    sender: &Sender<TrialMessage>,
) -> Result<Option<ScopedJoinHandle<'scope, ()>>, Failure> {
    if !schedule.trial.has_faults() {
        return Ok(None);
    }
    let sender = sender.clone();
    let run = move || schedule.run(&sender);
    threads::spawn(scope, "dyno-faults".to_owned(), run).map(Some)
}

impl<'a> Schedule<'a> {
    /// Each fault has a thread in each instance that it hits: it may take long to heal.
    fn run(self, sender: &Sender<TrialMessage>) {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, fault) in (1..).zip(&self.trial.planned.topology.faults) {
                let due = self.due(fault, &threads);
                for (instance_number, instance) in target::instances(fault.target, self.rig) {
                    let injection = Injection {
                        schedule: self,
                        number,
                        step: 0,
                        fault: fault.clone(),
                        at: due.unwrap_or(fault.at),
                        instance_number,
                        instance,
                        watch: self.watch(instance_number),
                        sender: sender.clone(),
                    };
                    if due.is_none() {
                        injection.omit("too little time was left");
                        continue;
                    }
                    let name = format!("dyno-fault-{number}");
                    match threads::spawn(scope, name, move || injection.run_steps()) {
                        Ok(thread) => threads.push(thread),
                        // Without a receiver the trial is over.
                        Err(refused) => drop(sender.send(TrialMessage::Failed(refused))),
                    }
                }
            }
            self.wait_until_over();
            let injected: Vec<_> = threads.into_iter().map(threads::join).collect();
            injected.into_iter().flatten().for_each(Injected::end);
        });
    }

    /// Waits until this time of the measurement; false if the trial ends before.
    pub(super) fn wait(self, at: Duration) -> bool {
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
    pub(super) fn measured(self, at: Instant) -> Option<Duration> {
        let begun = self.clock.barrier.begun()? + self.trial.planned.load.warmup;
        Some(at.saturating_duration_since(begun))
    }

    /// What is watched of the instance of this number.
    fn watch(self, instance: u32) -> Option<&'a Watch> {
        self.watches
            .get(usize::try_from(instance).ok()?.checked_sub(1)?)
    }

    fn wait_until_over(self) {
        while !self.clock.is_over() {
            sleep(POLL_INTERVAL);
        }
    }

    /// A time on the trial's clock.
    pub(super) fn seconds(self, at: Instant) -> f64 {
        self.clock.seconds(at)
    }
}
