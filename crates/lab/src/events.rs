//! Performs the events of a study on nodes during the measurement.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use load::Barrier;
use measure::event::NodeEvent;
use plan::{Action, Event};

use crate::cluster::Member;
use crate::error::LabError;
use crate::failure::{Cause, Failure};
use crate::rig::Rig;
use crate::trial::Trial;
use crate::trial_monitor::TrialMessage;

/// How often to check whether the trial is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// When the events of a trial happen.
#[derive(Clone, Copy)]
pub(crate) struct Schedule<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) barrier: &'a Barrier,
    /// Becomes true when the loads have ended: later events do not happen.
    pub(crate) over: &'a AtomicBool,
}

/// Starts a thread for each node that has events; they end once the trial is over.
///
/// # Errors
/// When the operating system refuses a thread.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    schedule: Schedule<'env>,
    rig: &'env Rig,
    sender: &Sender<TrialMessage>,
) -> Result<Vec<ScopedJoinHandle<'scope, ()>>, Failure> {
    let mut threads = Vec::new();
    for member in rig.members() {
        let number = member.number;
        let all = schedule.trial.planned.topology.events.iter();
        let events: Vec<&Event> = all.filter(|event| event.node == number).collect();
        if events.is_empty() {
            continue;
        }
        let sender = sender.clone();
        let thread = std::thread::Builder::new()
            .name(format!("dyno-events-{number}"))
            .spawn_scoped(scope, move || schedule.run(member, &events, &sender));
        threads.push(thread.map_err(|error| Failure::new(Cause::Internal, error))?);
    }
    Ok(threads)
}

impl Schedule<'_> {
    fn run(self, member: &Member, events: &[&Event], sender: &Sender<TrialMessage>) {
        for event in events {
            if !self.wait(event.at) {
                return;
            }
            // Without a receiver the trial is over.
            let _ = sender.send(self.perform(member, event));
        }
    }

    /// Waits until this time of the measurement; false if the trial ends before.
    fn wait(self, at: Duration) -> bool {
        while !self.over.load(Ordering::Relaxed) {
            let begun = self.barrier.begun();
            let due = begun.map(|begun| begun + self.trial.planned.load.warmup + at);
            let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
            match wait {
                Some(Duration::ZERO) => return true,
                wait => sleep(wait.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL)),
            }
        }
        false
    }

    fn perform(self, member: &Member, event: &Event) -> TrialMessage {
        let mut node = member.lock();
        let at_s = self.elapsed_s();
        let result = match event.action {
            Action::Kill => {
                node.kill();
                Ok(())
            }
            Action::Restart => node.restart(self.over),
        };
        let done_s = result.is_ok().then(|| self.elapsed_s());
        let happened = NodeEvent {
            at_s,
            done_s,
            node: event.node,
            what: event.action.into(),
            reason: "an event of the study".to_owned(),
        };
        let failure = match result {
            // The trial ended meanwhile.
            Ok(()) | Err(LabError::Interrupted) => None,
            Err(error) => Some(Failure::from(error)),
        };
        TrialMessage::Event(happened, failure)
    }

    fn elapsed_s(self) -> f64 {
        self.barrier.origin().elapsed().as_secs_f64()
    }
}
