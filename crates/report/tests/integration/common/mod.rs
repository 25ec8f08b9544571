//! A study's results to report on, made without a server.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod made;
pub(crate) mod platforms;
pub(crate) mod scale_up;
pub(crate) mod search;

use measure::result::{Environment, RunResult};
use measure::series::SeriesPoint;
use measure::setup::{Setup, StatementKind, Unfinished};
use measure::slice::{Busy, ErrorCount, Phase, Second, Slice};
use measure::summarize::summarize;
use measure::summary::TrialSummary;
use plan::StatementClass;
use plan::{Point, Value};
use report::Report;
use report::text::Layout;

/// Holds a text against the one that is kept; `UPDATE_GOLDEN=1` keeps it.
pub(crate) fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, kept, "{name} changed; UPDATE_GOLDEN=1 accepts it");
}

/// All that a terminal shows of a result.
pub(crate) fn outline(result: &RunResult) -> String {
    report::study::outline(result).text(Layout::DEFAULT)
}

/// A report without series.
pub(crate) fn report_of(result: &RunResult) -> Report<'_> {
    Report {
        result,
        series: Vec::new(),
        monitors: Vec::new(),
        faults: Vec::new(),
        study: None,
    }
}

/// Asserts that a text holds all of these.
pub(crate) fn says(text: impl AsRef<str>, words: &[&str]) {
    let text = text.as_ref();
    for words in words {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

/// The words of a text on one line, with plain spaces.
pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Gives a trial another value of a key.
pub(crate) fn set(trial: &mut TrialSummary, key: &str, value: impl Into<Value>) {
    trial.setup.planned.point.insert(key.into(), value.into());
}

pub(crate) fn json(answer: &impl report::Answer) -> serde_json::Value {
    serde_json::from_str(&answer.json().unwrap()).unwrap()
}

/// A value as a study reads it.
pub(crate) fn typed(text: &str) -> Value {
    let number = || text.parse().map_or(text.into(), Value::Number);
    text.parse().map_or_else(|_| number(), Value::Integer)
}

fn kinds() -> Vec<StatementKind> {
    let kind = |(name, class): (&str, StatementClass)| StatementKind {
        name: name.into(),
        class,
    };
    let kinds = [
        ("begin", StatementClass::Other),
        ("point_select", StatementClass::Read),
        ("index_update", StatementClass::Write),
        ("commit", StatementClass::Other),
    ];
    kinds.map(kind).to_vec()
}

/// A number that wanders but is the same each time.
fn wander(number: u64) -> u64 {
    number
        .wrapping_mul(6_364_136_223_846_793_005)
        .rotate_left(23)
        >> 32
}

fn second(threads: u64, number: u64, phase: Phase) -> Second {
    let mut slice = Slice::new(4);
    let transactions =
        130 * threads / (1 + threads / 24) + wander(number * 7 + threads) % (9 * threads);
    for i in 0..transactions {
        let noise = wander(number * 100_003 + i * 17 + threads);
        let tail = if noise.is_multiple_of(97) {
            9_000_000
        } else {
            0
        };
        let response_ns = 5_000_000 + 130_000 * threads + noise % 3_000_000 + tail;
        slice.response.record(response_ns);
        for (kind, share) in [(0, 20), (1, 4), (2, 3), (3, 5)] {
            slice.statements[kind].record(response_ns / share);
        }
    }
    slice.lookups = transactions;
    if number % 9 == 4 {
        let error = ErrorCount {
            count: threads / 4,
            example: "Deadlock found when trying to get lock; try restarting transaction".into(),
            action: "restarted".into(),
        };
        slice.errors.insert("1213".to_owned(), error);
    }
    Second {
        start_ns: number * 1_000_000_000,
        end_ns: (number + 1) * 1_000_000_000,
        phase,
        slice,
        backlog: None,
        workers: vec![Busy {
            running: 0.04 * threads as f64,
            waiting: 0.02,
        }],
    }
}

/// An engine that a study can start.
const ANY: plan::EngineTraits = plan::EngineTraits {
    name: "any",
    schemes: &["any"],
    is_process: true,
    clusters: &[],
    reserved_setting: |_| None,
};

/// The only trial of a study with these keys.
pub(crate) fn planned(keys: &str) -> plan::Trial {
    let text = format!("title = 't'\nserver.engine = 'any'\n{keys}");
    let study = study::Study::parse("test", &text, &[ANY]).unwrap();
    study.plan().trials.remove(0)
}

/// One trial with so many virtual users, and its series.
pub(crate) fn trial(threads: u32) -> (TrialSummary, Vec<SeriesPoint>) {
    let phase = |number| match number {
        0..10 => Phase::Warmup,
        10..70 => Phase::Measure,
        _ => Phase::Drain,
    };
    let seconds: Vec<Second> = (0..71)
        .map(|number| second(threads.into(), number, phase(number)))
        .collect();
    let mut planned = planned(&format!(
        "[data]\ntables = 4\nrows = 500_000\nseed = 42\n[load]\nthreads = {threads}\ndistribution = 'uniform'\nreply_time = 'program'\nwarmup = '10s'\ntime = '60s'"
    ));
    planned.label = format!("threads={threads}");
    planned.point = Point::from_iter([("threads", threads)]);
    let setup = Setup {
        engine: "MariaDB 10.11.14".into(),
        server: "mysql://sbtest@127.0.0.1:3306/sbtest".into(),
        tls: Some("TLSv1.3, TLS_AES_256_GCM_SHA384".into()),
        workers: 1,
        ..Setup::new(&planned)
    };
    let input = TrialSummary {
        started_at: Some("2024-01-17T09:30:05.250+00:00".into()),
        unfinished: Unfinished {
            count: 1,
            oldest_ms: Some(4.2),
            cancelled: 0,
        },
        ..TrialSummary::new(setup)
    };
    let series = seconds.iter().map(SeriesPoint::from).collect();
    (summarize(input, &kinds(), &seconds), series)
}

/// A sweep over virtual users.
pub(crate) fn study(threads: &[u32]) -> (RunResult, Vec<Vec<SeriesPoint>>) {
    let (trials, series) = threads.iter().map(|threads| trial(*threads)).unzip();
    let result = RunResult {
        schema_version: measure::summary::SCHEMA_VERSION,
        title: "How many virtual users should one MariaDB server take?".into(),
        question: Some("Where does throughput stop growing, and what does the tail pay?".into()),
        description: Some(
            "A read-write transaction on four tables that fit in memory, with one client on the \
             same host."
                .into(),
        ),
        design: measure::result::Design::default(),
        environment: Environment {
            dyno_version: "0.1.0".into(),
            started: "2024-01-17T09:30:00Z".into(),
            command: "dyno run scale-up.toml --set load.time=60s".into(),
            hostname: Some("bench-1".into()),
            os: Some("Debian GNU/Linux 12 (bookworm)".into()),
            kernel: Some("Linux 6.1.0 x86_64".into()),
            cpu_model: Some("AMD EPYC 9354".into()),
            cores: Some(8),
            memory_bytes: Some(32 << 30),
            governor: None,
            ..Environment::default()
        },
        findings: Vec::new(),
        trials,
        searches: Vec::new(),
        thresholds: Vec::new(),
    };
    (result, series)
}
