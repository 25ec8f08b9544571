//! Loads on scripted servers, whose answers are a function of the test.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "the benchmark uses its part, and may fail loudly"
)]

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::reactor::sleep_until;
use load::{Barrier, LoadError, LoadEvent, LoadOutcome, LoadSpec, Pace, Stop, run};
use measure::slice::{Phase, Second, Slice};
use plan::{Think, ThinkDistribution};
use workload::built_in::BuiltIn;
use workload::catalog::{Catalog, Label};
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;
use workload::session::{Connect, Param, Reply, Session, SessionError};

/// Longer than any test may take.
pub const LONG: Duration = Duration::from_secs(3600);

/// What a load asks of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Connection,
    Statement,
    Rollback,
}

pub type Answer = Pin<Box<dyn Future<Output = Result<Reply, SessionError>>>>;

/// A server that answers as a test says.
#[derive(Clone)]
pub struct Scripted(Arc<dyn Fn(Asked) -> Answer + Send + Sync>);

impl Scripted {
    pub fn new(script: impl Fn(Asked) -> Answer + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Arc::new(script)))
    }

    /// Every statement takes this long.
    pub fn taking(service: Duration) -> Arc<Self> {
        Self::new(move |asked| match asked {
            Asked::Statement => after(service, Ok(Reply::default())),
            Asked::Connection | Asked::Rollback => now(Ok(Reply::default())),
        })
    }
}

/// An answer at once.
pub fn now(answer: Result<Reply, SessionError>) -> Answer {
    Box::pin(std::future::ready(answer))
}

/// An answer after a while.
pub fn after(delay: Duration, answer: Result<Reply, SessionError>) -> Answer {
    Box::pin(async move {
        sleep_until(Instant::now() + delay).await;
        answer
    })
}

/// No answer, ever.
pub fn never() -> Answer {
    Box::pin(std::future::pending())
}

impl Connect for Scripted {
    type Session = Self;

    async fn connect(&self, _: &Arc<Catalog>) -> Result<Self, SessionError> {
        (self.0)(Asked::Connection).await.map(|_| self.clone())
    }
}

impl Session for Scripted {
    async fn execute(&mut self, _: u32, _: &[Param<'_>]) -> Result<Reply, SessionError> {
        (self.0)(Asked::Statement).await
    }

    async fn query(&mut self, _: Label, _: &str) -> Result<Reply, SessionError> {
        (self.0)(Asked::Statement).await
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        (self.0)(Asked::Rollback).await.map(drop)
    }
}

/// Four users in a closed loop, until something ends them.
pub fn spec() -> LoadSpec {
    LoadSpec {
        part: load::Part::WHOLE,
        users: 4,
        workers: 1,
        warmup: Duration::ZERO,
        time: Some(LONG),
        events: None,
        pace: Pace::Closed,
        phases: None,
        think: Think {
            mean: Duration::ZERO,
            distribution: ThinkDistribution::Constant,
        },
        seed: 1,
        ignored_errors: Vec::new(),
        batch_scheduling: false,
        turn: None,
        connect_limit: 4,
        grace: Duration::from_secs(5),
        stall_limit: LONG,
        tally: None,
    }
}

/// Point selects: one statement for each transaction.
pub fn drive(
    spec: &LoadSpec,
    server: &Arc<Scripted>,
    tell: &mut dyn FnMut(LoadEvent),
) -> Result<LoadOutcome, LoadError> {
    let (name, options) = (WorkloadName::OltpPointSelect, Options::default());
    let workload = BuiltIn::new(name, &options, &Dialect::STANDARD, spec.seed, spec.users).unwrap();
    let (barrier, stop) = (Barrier::new(1), Stop::default());
    run(spec, server, &workload, &barrier, &stop, None, tell)
}

/// Drives a load to its end; returns the seconds of its measurement.
pub fn measured(spec: &LoadSpec, server: &Arc<Scripted>) -> (LoadOutcome, Vec<Second>) {
    let mut seconds = Vec::new();
    let ended = drive(spec, server, &mut |event| {
        if let LoadEvent::Second(second) = event
            && second.phase == Phase::Measure
        {
            seconds.push(*second);
        }
    });
    (ended.unwrap(), seconds)
}

/// All of them as one slice.
pub fn total(seconds: &[Second]) -> Slice {
    let mut total = Slice::new(seconds.first().map_or(0, |s| s.slice.statements.len()));
    seconds.iter().for_each(|second| total.merge(&second.slice));
    total
}
