//! A load whose own thread dies says so, and leaves nobody behind.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use load::{Barrier, Event, LoadError, LoadOutcome, LoadSpec, Pace, Stop, Work, run};
use measure::slice::Phase;
use workload::catalog::{Catalog, Kind};
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;
use workload::session::{Connect, Param, Reply, Session, SessionError};
use workload::user::Shared;

/// Longer than any test may take.
const LONG: Duration = Duration::from_secs(3600);

/// A connection to nothing, which has an error of ours at a statement of its load.
struct Faulty {
    statements: Arc<AtomicU32>,
    last: u32,
}

impl Faulty {
    /// That panics at statement `last` of all its connections together.
    fn at(last: u32) -> Arc<Self> {
        Arc::new(Self {
            statements: Arc::default(),
            last,
        })
    }
}

impl Connect for Faulty {
    type Session = Self;

    async fn connect(&self, _: &Arc<Catalog>) -> Result<Self, SessionError> {
        Ok(Self {
            statements: Arc::clone(&self.statements),
            last: self.last,
        })
    }
}

impl Session for Faulty {
    async fn execute(&mut self, _: u32, _: &[Param<'_>]) -> Result<Reply, SessionError> {
        // A reply takes a while, so that no user keeps the thread to itself.
        client::reactor::sleep_until(Instant::now() + Duration::from_millis(1)).await;
        let number = self.statements.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(number != self.last, "statement {number} is one too many");
        Ok(Reply::default())
    }

    async fn query(&mut self, _: Kind, _: &str) -> Result<Reply, SessionError> {
        self.execute(0, &[]).await
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        Ok(())
    }
}

fn spec(workers: u32, warmup: Duration) -> LoadSpec {
    LoadSpec {
        users: 4,
        workers,
        warmup,
        time: Some(LONG),
        events: None,
        pace: Pace::Closed,
        think: Duration::ZERO,
        seed: 1,
        ignored_errors: Vec::new(),
        batch_scheduling: false,
        connect_limit: 4,
        grace: Duration::from_secs(5),
    }
}

fn drive(
    spec: &LoadSpec,
    connector: &Arc<Faulty>,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<LoadOutcome, LoadError> {
    let (name, options) = (WorkloadName::OltpPointSelect, Options::default());
    let kinds = workload::kinds(name, &options);
    let work = Work {
        catalog: &Arc::new(Catalog::new(name, &options, Dialect::Mysql)),
        kinds: &kinds,
        users: &Arc::new(Shared::new(name, options, spec.seed, spec.users).unwrap()),
    };
    let (barrier, stop) = (Barrier::new(1), Stop::default());
    run(spec, connector, work, &barrier, &stop, tell)
}

#[test]
fn a_worker_that_dies_ends_the_load_with_its_own_words() {
    for workers in [1, 2, 4] {
        let mut phases = Vec::new();
        let ended = drive(
            &spec(workers, Duration::ZERO),
            &Faulty::at(100),
            &mut |event| {
                if let Event::Second(second) = event {
                    phases.push(second.phase);
                }
            },
        );
        let words = match ended {
            Err(LoadError::Panicked(words)) => words,
            other => panic!("{other:?}"),
        };
        assert_eq!(words, "statement 100 is one too many");
        // What was measured until then was told.
        assert!(phases.contains(&Phase::Measure), "{phases:?}");
    }
}

#[test]
fn a_load_that_fails_in_its_warm_up_measures_nothing() {
    let mut phases = Vec::new();
    let ended = drive(&spec(2, LONG), &Faulty::at(100), &mut |event| {
        if let Event::Second(second) = event {
            phases.push(second.phase);
        }
    });
    assert!(matches!(ended, Err(LoadError::Panicked(_))), "{ended:?}");
    assert!(phases.contains(&Phase::Warmup), "{phases:?}");
    assert!(!phases.contains(&Phase::Measure), "{phases:?}");
}

#[test]
fn workers_do_not_outlive_a_load_that_panics() {
    let connector = Faulty::at(u32::MAX);
    let deaf = std::panic::catch_unwind(|| {
        drive(&spec(2, Duration::ZERO), &connector, &mut |event| {
            assert!(!matches!(event, Event::Second(_)), "nobody listens");
        })
    });
    assert!(deaf.is_err());
    let sent = connector.statements.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(connector.statements.load(Ordering::Relaxed), sent);
}
