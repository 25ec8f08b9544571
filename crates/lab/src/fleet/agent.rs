//! The side of an agent: runs its part of a load as the coordinator says.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::clock::monotonic_ns;
use client::route::Route;
use fleet::agent::Link;
use fleet::{Control, Ending};
use load::{Barrier, LoadError, Pulse, Stop};
use plan::ReplyTime;

use super::message::{Ended, PulseReport, Report};
use super::part::LoadPart;
use crate::Failure;
use crate::drive::catching_panics;

/// How often the load and its coordinator hear of each other.
const RELAY_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the part of a load that an order contains.
pub fn run_order(order: serde_json::Value, link: &Link) {
    let part = serde_json::from_value::<LoadPart>(order).map_err(Failure::internal);
    let ended = part.and_then(|part| run(part, link));
    let ended = ended.unwrap_or_else(|failure| Ended {
        how: Err(LoadError::Agents(failure)),
        began_ns: None,
    });
    report(link, &Report::Ended(ended));
}

fn report(link: &Link, report: &Report) {
    // Nothing in a report can fail to be written.
    link.report(&serde_json::to_vec(report).unwrap_or_default());
}

/// Runs a part on the coordinator's clock, so that all reported times are on it.
fn run(part: LoadPart, link: &Link) -> Result<Ended, Failure> {
    let route = part.route.build(part.part.number as usize);
    let (trial, database, spec) = part.ready()?;
    let dialect = database.engine().about().dialect;
    let workload = trial.workload.ready(&trial.options, dialect, &spec);
    let workload = workload.map_err(Failure::usage)?;
    let age = monotonic_ns().saturating_sub(link.origin_ns());
    let origin = Instant::now().checked_sub(Duration::from_nanos(age));
    let relay = Relay {
        barrier: Barrier::held(origin.ok_or_else(|| Failure::internal("no such time"))?),
        stop: Stop::default(),
        route: Arc::new(route),
        pulse: trial.has_faults().then(Arc::default),
        is_over: AtomicBool::new(false),
        link,
    };
    let how = std::thread::scope(|scope| {
        scope.spawn(|| relay.run());
        let load = engine::Load {
            spec: &spec,
            workload: &workload,
            protocol: trial.planned.load.protocol,
            stamp_replies: trial.planned.load.reply_time == ReplyTime::Kernel,
            barrier: &relay.barrier,
            route: &relay.route,
            stop: &relay.stop,
            pulse: relay.pulse.as_ref(),
            tell: &mut |event| report(link, &Report::Event(event)),
        };
        let how = catching_panics(|| database.drive(load));
        relay.is_over.store(true, Ordering::Relaxed);
        how
    });
    let barrier = &relay.barrier;
    Ok(Ended {
        how,
        began_ns: barrier.passed().map(|at| barrier.ns(at)),
    })
}

/// Passes on what the coordinator says to the load, and what the load shows to the coordinator.
struct Relay<'a> {
    barrier: Barrier,
    stop: Stop,
    route: Arc<Route>,
    pulse: Option<Arc<Pulse>>,
    is_over: AtomicBool,
    link: &'a Link,
}

impl Relay<'_> {
    /// Returns when the load has ended.
    fn run(&self) {
        let (mut known, mut alerts, mut is_ready) = (0, 0, false);
        let mut told = PulseReport::default();
        while !self.is_over.load(Ordering::Relaxed) {
            let control = self.link.control();
            if control.version > known {
                known = control.version;
                self.obey(&control);
            }
            if self.link.alone().is_some() {
                self.stop.interrupt();
            }
            if !is_ready && self.barrier.is_ready() {
                is_ready = true;
                report(self.link, &Report::Ready);
            }
            self.tell_pulse(&mut told);
            let now = self.route.wait_for_alert(alerts, RELAY_INTERVAL);
            if now != alerts {
                alerts = now;
                report(self.link, &Report::Alert);
            }
        }
        self.tell_pulse(&mut told);
    }

    fn obey(&self, control: &Control) {
        if let Some(start_ns) = control.start_ns {
            let origin = self.barrier.origin();
            self.barrier
                .begin_at(origin + Duration::from_nanos(start_ns));
        }
        match control.ending {
            Ending::None => {}
            Ending::Enough => self.stop.enough(),
            // Over before its end if another agent could not start.
            Ending::Interrupt | Ending::Over => self.stop.interrupt(),
        }
        let open = &control.open;
        self.route
            .set(|server| open.get(server).copied().unwrap_or(false));
        if let Some(pulse) = &self.pulse {
            let known = pulse.firsts().len();
            for awaited_ns in control.awaited_ns.iter().skip(known) {
                pulse.await_first(*awaited_ns);
            }
        }
    }

    /// Reports what the pulse shows unless that is what was `told` last.
    fn tell_pulse(&self, told: &mut PulseReport) {
        let (Some(pulse), Some(_)) = (&self.pulse, self.barrier.begun()) else {
            return;
        };
        let firsts = pulse.firsts().into_iter();
        let now = PulseReport {
            completed: pulse.completed(),
            errors: pulse.take_errors(),
            firsts_ns: firsts.map(|first| first.end_ns).collect(),
        };
        if now != *told {
            *told = PulseReport {
                errors: Vec::new(),
                ..now.clone()
            };
            report(self.link, &Report::Pulse(now));
        }
    }
}
