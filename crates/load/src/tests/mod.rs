//! Whole loads on scripted servers, in simulated time.

mod ends;
mod errors;
mod open_loop;
mod own_workload;
mod phases;
mod programs;
mod properties;
mod pulse;
mod reconnect;
pub(crate) mod script;
mod seconds;
mod simulation;
mod size;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use measure::slice::{Phase, Second, Slice};
use plan::{Think, ThinkDistribution};
use workload::built_in::BuiltIn;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;
use workload::session::SessionError;
use workload::virtual_user::Workload;

use crate::clock::Clock;
use crate::run::run_on;
use crate::{End, LoadError, LoadEvent, LoadOutcome, LoadSpec, Pace, Part, Pulse, Stop};
use script::{Asked, Scripted};
use simulation::Simulation;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// How long a statement takes.
const SERVICE: u64 = 2 * MS;
/// When the clock of a simulation starts.
const START: u64 = 7 * MS;

/// Four users in a closed loop, for an hour.
fn spec() -> LoadSpec {
    LoadSpec {
        part: Part::WHOLE,
        users: 4,
        workers: 1,
        warmup: Duration::ZERO,
        time: Some(Duration::from_secs(3600)),
        events: None,
        pace: Pace::Closed,
        phases: None,
        think: constant(Duration::ZERO),
        seed: 1,
        ignored_errors: Vec::new(),
        batch_scheduling: false,
        turn: None,
        connect_limit: 4,
        stall_limit: Duration::from_secs(60),
        grace: Duration::from_secs(5),
        tally: None,
    }
}

/// Pauses of this length.
fn constant(mean: Duration) -> Think {
    let distribution = ThinkDistribution::Constant;
    Think { mean, distribution }
}

/// Like [`spec`], for this many seconds.
fn lasting_s(seconds: u64) -> LoadSpec {
    LoadSpec {
        time: Some(Duration::from_secs(seconds)),
        ..spec()
    }
}

fn simulation() -> Simulation {
    Simulation::new(START)
}

struct Driven {
    ended: Result<LoadOutcome, LoadError>,
    seconds: Vec<Second>,
    ended_ns: u64,
}

impl Driven {
    fn outcome(&self) -> &LoadOutcome {
        self.ended.as_ref().unwrap()
    }

    /// When the server was lost, and why.
    fn server_lost(&self) -> (u64, &SessionError) {
        match &self.outcome().end {
            End::ServerLost { at_ns, error } => (*at_ns, error),
            other => panic!("{other:?}"),
        }
    }

    fn phase(&self, phase: Phase) -> Vec<&Second> {
        let seconds = self.seconds.iter();
        seconds.filter(|second| second.phase == phase).collect()
    }

    /// Everything that a phase recorded.
    fn total(&self, phase: Phase) -> Slice {
        let seconds = self.phase(phase);
        let kinds = seconds.first().map_or(0, |s| s.slice.statements.len());
        let mut total = Slice::new(kinds);
        seconds.iter().for_each(|second| total.merge(&second.slice));
        total
    }

    fn measured(&self) -> Slice {
        self.total(Phase::Measure)
    }
}

/// Drives point selects: one statement per transaction.
fn drive(spec: &LoadSpec, server: &Scripted) -> Driven {
    drive_until(spec, server, &Stop::default(), |_, _| {})
}

/// Like [`drive`]; `on_event` can use the stop.
fn drive_until(
    spec: &LoadSpec,
    server: &Scripted,
    stop: &Stop,
    on_event: impl FnMut(&LoadEvent, &Stop),
) -> Driven {
    let name = WorkloadName::OltpPointSelect;
    drive_workload(name, spec, server, stop, on_event)
}

/// Like [`drive_until`], with one of the built-in workloads.
fn drive_workload(
    name: WorkloadName,
    spec: &LoadSpec,
    server: &Scripted,
    stop: &Stop,
    on_event: impl FnMut(&LoadEvent, &Stop),
) -> Driven {
    let options = Options::default();
    let workload = BuiltIn::new(name, &options, &Dialect::STANDARD, spec.seed, spec.users).unwrap();
    drive_own(&workload, spec, server, stop, on_event)
}

/// Like [`drive_until`], with any workload.
fn drive_own<W: Workload>(
    workload: &W,
    spec: &LoadSpec,
    server: &Scripted,
    stop: &Stop,
    on_event: impl FnMut(&LoadEvent, &Stop),
) -> Driven {
    let pulse = Arc::default();
    drive_watched(workload, spec, server, stop, &pulse, on_event)
}

/// Like [`drive_own`], with a pulse.
#[expect(
    clippy::arc_with_non_send_sync,
    reason = "the engine takes an Arc; a simulation has one thread"
)]
fn drive_watched<W: Workload>(
    workload: &W,
    spec: &LoadSpec,
    server: &Scripted,
    stop: &Stop,
    pulse: &Arc<Pulse>,
    mut on_event: impl FnMut(&LoadEvent, &Stop),
) -> Driven {
    let mut seconds = Vec::new();
    let mut tell = |event: LoadEvent| {
        on_event(&event, stop);
        if let LoadEvent::Second(second) = event {
            seconds.push(*second);
        }
    };
    let runtime = server.simulation().clone();
    let connector = Arc::new(server.clone());
    let ended = run_on(
        runtime,
        spec,
        &connector,
        workload,
        stop,
        Some(pulse),
        &mut tell,
    );
    Driven {
        ended,
        seconds,
        ended_ns: server.simulation().now_ns(),
    }
}

/// When requests of one kind were made.
fn times(server: &Scripted, asked: Asked) -> Vec<u64> {
    let requests = server.requests(asked).into_iter();
    requests.map(|entry| entry.request.at_ns).collect()
}

fn gaps(times: &[u64]) -> Vec<u64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
