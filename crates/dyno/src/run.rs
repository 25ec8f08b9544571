//! `dyno run STUDY`: the trials of a study, one after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use client::mysql::StatementProtocol;
use data::Mode;
use load::{Arrivals, LoadSpec, Pace};
use study::{Engine, Plan, ServerSpec, Study};
use workload::distribution::Distribution;
use workload::name::WorkloadName;
use workload::options::Options;

use crate::bench::GRACE;
use crate::cli::RunArgs;
use crate::failure::{Exit, Failure};
use crate::progress::{Detail, Length, Screen};
use crate::results::Results;
use crate::server::{Access, Server};
use crate::signals;
use crate::trial::{Trial, workers};

/// Longest study file that is read: one more byte than `study` accepts.
const READ_LIMIT_BYTES: u64 = study::MAX_FILE_BYTES as u64 + 1;
/// Connections that load data side by side.
const LOAD_CONNECTIONS: u32 = 2;
/// Connections that are opened at once.
const CONNECT_LIMIT: u32 = 64;

/// Reads the study, runs its trials, writes the report.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let study = read(args)?;
    let plan = study.plan().map_err(usage)?;
    let trials = mean(&study, &plan)?;
    let interrupted = signals::interruption()?;
    let mut screen = Screen::new(Detail::Bar);
    let mut text = study.source_redacted().to_owned();
    for change in study.overrides_redacted() {
        text = format!("# --set {change}\n{text}");
    }
    let description = plan.description.as_deref().map(str::trim);
    let mut results = Results::create(args.out.as_deref(), &plan.title, description, &text)?;
    screen.line(&plan.title);
    screen.line(&format!(
        "{} trials, about {} under load; results go to {}",
        trials.len(),
        study::format_duration(plan.duration_estimate()),
        results.path().display()
    ));
    let ended = run_all(&plan, trials, &mut results, &interrupted, &mut screen);
    screen.finish_stage();
    if results.trials().is_empty() {
        results.discard_if_empty();
        return ended;
    }
    let text = report::text::sweep(results.trials());
    let concluded = results.conclude(&text, args.json, &mut screen);
    // What ended the run says more than what that led to.
    ended.and(concluded)
}

fn run_all(
    plan: &Plan,
    trials: Vec<Trial>,
    results: &mut Results,
    interrupted: &AtomicBool,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let count = trials.len();
    for (mut trial, planned) in trials.into_iter().zip(&plan.trials) {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new(
                Exit::Interrupted,
                "interrupted between two trials",
            ));
        }
        let title = format!("[{}/{count}] {}  ", planned.number, trial.label);
        let load = Length {
            warmup: trial.load.warmup,
            time: trial.load.time,
        };
        screen.trial(title.clone(), load);
        let server = open(&planned.server)?;
        trial.load.workers = workers(&server, trial.load.users, None);
        trial.prepare(&server, Mode::Missing, interrupted, screen)?;
        let writer = results.begin(&trial.label)?;
        let ran = trial.run(&server, writer, interrupted, screen)?;
        screen.finish_stage();
        screen.line(&format!("{title}{}", brief(&ran.summary)));
        let added = results.add(ran.summary);
        ran.failure.map_or(Ok(()), Err).and(added)?;
    }
    Ok(())
}

fn brief(summary: &measure::summary::TrialSummary) -> String {
    let tps = summary.transactions.per_s.map_or(0.0, |rate| rate.value);
    let p99 = summary.response_ms.map_or(0.0, |response| response.p99);
    format!(
        "{tps:.1} tps, p99 {p99:.2} ms, {} warnings",
        summary.warnings.len()
    )
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Usage, error)
}

fn read(args: &RunArgs) -> Result<Study, Failure> {
    use std::io::Read;
    let path = args.study.display().to_string();
    let mut text = String::new();
    std::fs::File::open(&args.study)
        .and_then(|file| file.take(READ_LIMIT_BYTES).read_to_string(&mut text))
        .map_err(|error| {
            usage(format!("cannot read the study {path}: {error}")).remedy(Some(
                "give the path of a study file, like studies/quickstart.toml",
            ))
        })?;
    let overrides: Vec<(&str, &str)> = args
        .overrides
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let study = Study::parse_with_overrides(&path, &text, &overrides).map_err(usage)?;
    let workloads = WorkloadName::ALL.map(WorkloadName::name);
    study
        .check_words(&[("load.workload", &workloads)])
        .map_err(usage)?;
    Ok(study)
}

/// The trials as this program runs them.
fn mean(study: &Study, plan: &Plan) -> Result<Vec<Trial>, Failure> {
    let mut trials = Vec::new();
    for planned in &plan.trials {
        let load = &planned.load;
        let word = &load.workload;
        let workload: WorkloadName = word.parse().map_err(usage)?;
        let distribution: Distribution = load.distribution.parse().map_err(|error| {
            let help = "one of uniform, special, gaussian, pareto, zipfian, with parameters like zipfian:exp=0.99";
            let message = format!("{error}");
            usage(study.error_at(load.distribution.span, message, help))
        })?;
        let trial = Trial {
            label: planned.label.clone(),
            point: planned.point.clone(),
            workload,
            options: Options {
                tables: planned.data.tables,
                rows: planned.data.rows,
                distribution,
                ..Options::default()
            },
            seed: planned.data.seed,
            protocol: StatementProtocol::Prepared,
            load: LoadSpec {
                users: load.threads,
                // Known once the engine is.
                workers: 1,
                warmup: load.warmup,
                time: Some(load.time),
                events: load.events,
                pace: pace(load.pace),
                think: load.think,
                seed: planned.data.seed,
                ignored_errors: Vec::new(),
                batch_scheduling: true,
                connect_limit: CONNECT_LIMIT,
                grace: GRACE,
            },
            load_connections: LOAD_CONNECTIONS,
        };
        trial.check()?;
        trials.push(trial);
    }
    Ok(trials)
}

fn pace(pace: study::Pace) -> Pace {
    match pace {
        study::Pace::Closed => Pace::Closed,
        study::Pace::Open {
            rate_per_s,
            arrivals,
        } => Pace::Open {
            per_s: rate_per_s,
            arrivals: match arrivals {
                study::Arrivals::Poisson => Arrivals::Poisson,
                study::Arrivals::Constant => Arrivals::Constant,
            },
        },
    }
}

/// Each trial on SQLite gets a database of its own.
fn open(server: &ServerSpec) -> Result<Server, Failure> {
    match server {
        ServerSpec::Engine(Engine::Sqlite) => Server::open("sqlite:", &Access::default()),
        ServerSpec::Url(url) => Server::open(url.expose(), &Access::default()),
    }
}
