//! The side of an agent: runs its part of a load as the coordinator says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::route::Route;
use fleet::agent::{Link, Runner};
use fleet::{Control, Ending, Start, monotonic_ns};
use load::{Barrier, LoadError, LoadOutcome, Pulse, Stop};

use super::message::{Ended, PulseReport, Report, Shift};
use super::part::{LoadPart, ReadyPart};
use crate::drive::catching_panics;
use crate::{Failure, locked};

/// How often the load and its coordinator hear of each other…
const RELAY_INTERVAL: Duration = Duration::from_millis(25);
/// …and if its pulse is read, which shows a recovery.
const PULSE_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the parts of loads.
#[derive(Debug)]
pub struct AgentRunner;

impl Runner for AgentRunner {
    fn run(&self, order: serde_json::Value, link: &Link) {
        let part = serde_json::from_value::<LoadPart>(order).map_err(Failure::internal);
        let ended = match part.and_then(LoadPart::ready) {
            Ok(part) => run(part, link),
            Err(failure) => Ended {
                how: Err(LoadError::Agents(failure)),
                began_ns: None,
            },
        };
        report(link, &Report::Ended(ended));
    }
}

fn report(link: &Link, report: &Report) {
    // Nothing in a report can fail to be written.
    link.report(&serde_json::to_vec(report).unwrap_or_default());
}

fn run(part: ReadyPart, link: &Link) -> Ended {
    let relay = Relay {
        barrier: Barrier::held(1),
        stop: Stop::default(),
        route: Arc::new(part.route),
        pulse: part.has_faults.then(Arc::default),
        shift: std::sync::Mutex::new(None),
        is_over: AtomicBool::new(false),
        link,
    };
    let how = std::thread::scope(|scope| {
        let _ends = EndRelay(&relay.is_over);
        scope.spawn(|| relay.run());
        let load = engine::Load {
            spec: &part.spec,
            workload: &part.workload,
            protocol: part.protocol,
            stamp_replies: part.stamp_replies,
            barrier: &relay.barrier,
            route: &relay.route,
            stop: &relay.stop,
            pulse: relay.pulse.as_ref(),
            tell: &mut |event| report(link, &Report::Event(relay.shift().event(event))),
        };
        catching_panics(|| part.database.drive(load))
    });
    relay.ended(how)
}

struct EndRelay<'a>(&'a AtomicBool);

impl Drop for EndRelay<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Passes on what the coordinator says to the load, and what the load shows to the coordinator.
struct Relay<'a> {
    barrier: Barrier,
    stop: Stop,
    route: Arc<Route>,
    pulse: Option<Arc<Pulse>>,
    /// Once the start is known.
    shift: std::sync::Mutex<Option<Shift>>,
    is_over: AtomicBool,
    link: &'a Link,
}

impl Relay<'_> {
    fn shift(&self) -> Shift {
        locked(&self.shift).unwrap_or(Shift::between(0, 0))
    }

    /// Returns when the load has ended.
    fn run(&self) {
        let (mut known, mut alerts, mut is_ready) = (Control::default(), 0, false);
        let (mut told, mut completed) = (PulseReport::default(), 0);
        let interval = match self.pulse {
            Some(_) => PULSE_INTERVAL,
            None => RELAY_INTERVAL,
        };
        while !self.is_over.load(Ordering::Relaxed) {
            if self.link.has_news(known.version) {
                known = self.link.control();
                self.obey(&known);
            }
            if self.link.alone().is_some() {
                self.stop.interrupt();
            }
            if !is_ready && self.barrier.is_ready() {
                is_ready = true;
                report(self.link, &Report::Ready);
            }
            self.tell_pulse(&mut completed, &mut told.firsts_ns);
            let now = self.route.wait_for_alert(alerts, interval);
            if now != alerts {
                alerts = now;
                report(self.link, &Report::Alert);
            }
        }
        self.tell_pulse(&mut completed, &mut told.firsts_ns);
    }

    fn obey(&self, control: &Control) {
        if let Some(start) = &control.start {
            self.begin(start);
        }
        match control.ending {
            // Another agent could not start.
            _ if control.is_over => self.stop.interrupt(),
            Ending::None => {}
            Ending::Enough => self.stop.enough(),
            Ending::Interrupt => self.stop.interrupt(),
        }
        let open = &control.open;
        self.route
            .set(|server| open.get(server).copied().unwrap_or(false));
        if let Some(pulse) = &self.pulse {
            let known = pulse.firsts().len();
            for awaited_ns in control.awaited_ns.iter().skip(known) {
                pulse.await_first(self.shift().here_ns(*awaited_ns));
            }
        }
    }

    /// Opens the barrier at the common start.
    fn begin(&self, start: &Start) {
        let mut shift = locked(&self.shift);
        let at_ns = start.agents_ns.get(self.link.agent());
        let (Some(at_ns), None) = (at_ns, &*shift) else {
            return;
        };
        let (now, now_ns) = (Instant::now(), monotonic_ns());
        let wait = Duration::from_nanos(at_ns.saturating_sub(now_ns));
        let late = Duration::from_nanos(now_ns.saturating_sub(*at_ns));
        let origin = self.barrier.origin();
        let begin = (now + wait).checked_sub(late).unwrap_or(origin).max(origin);
        *shift = Some(Shift::between(start.at_ns, self.barrier.ns(begin)));
        drop(shift);
        self.barrier.begin_at(begin);
    }

    fn tell_pulse(&self, completed: &mut u64, firsts_ns: &mut Vec<Option<u64>>) {
        let (Some(pulse), Some(_)) = (&self.pulse, self.barrier.begun()) else {
            return;
        };
        let shift = self.shift();
        let errors = pulse
            .take_errors()
            .into_iter()
            .map(|error| shift.error(error));
        let firsts = pulse.firsts().into_iter();
        let firsts = firsts.map(|first| first.end_ns.map(|ns| shift.there_ns(ns)));
        let now = PulseReport {
            completed: pulse.completed().saturating_sub(*completed),
            errors: errors.collect(),
            firsts_ns: firsts.collect(),
        };
        if now.completed > 0 || !now.errors.is_empty() || now.firsts_ns != *firsts_ns {
            *completed += now.completed;
            firsts_ns.clone_from(&now.firsts_ns);
            report(self.link, &Report::Pulse(now));
        }
    }

    fn ended(&self, how: Result<LoadOutcome, LoadError>) -> Ended {
        let (shift, barrier) = (self.shift(), &self.barrier);
        let began = barrier.passed();
        Ended {
            how: how.map(|load| shift.outcome(load)),
            began_ns: began.map(|at| shift.there_ns(barrier.ns(at))),
        }
    }
}
