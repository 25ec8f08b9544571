//! `dyno bench URL`: one benchmark of one server.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use client::mysql::StatementProtocol;
use data::Mode;
use lab::{Access, Database, EarlyEnd, Lab, Place, Trial};
use load::{Arrivals, LoadSpec, Pace};
use measure::ended::Until;
use measure::result::Design;
use measure::setup::ReplyTime;
use plan::{FindMax, Limited};
use workload::options::Options;

use crate::as_study::as_study;
use crate::cli::{ArrivalsArg, BenchArgs, PrepareArg, ProtocolArg, ReplyTimeArg};
use crate::console::layout;
use crate::failure::{Exit, Failure};
use crate::progress::{Detail, Screen};
use crate::results::{About, Results};
use crate::server;
use crate::signals;
use crate::thresholds::Thresholds;

/// How long running transactions may take to end after the load's end.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// The study's key for the number of users.
const THREADS: &str = "load.threads";
/// Length of the measurement where neither time nor events are given.
const DEFAULT_TIME: Duration = Duration::from_secs(30);
/// Length of a step of a search.
const DEFAULT_STEP: Duration = Duration::from_secs(10);
/// Least length of a measurement that ends when it is sure…
const DEFAULT_LEAST: Duration = Duration::from_secs(measure::until::FIRST_LOOK as u64);
/// …and its longest.
const DEFAULT_MAX: Duration = Duration::from_secs(1800);

/// Prepare, warm up, run, report.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let interrupted = signals::interruption()?;
    let thresholds = Thresholds::of_bench(&args.thresholds, args.baseline.as_deref())?;
    let mut lab = Lab::default();
    let access = Access {
        create_database: args.create_database,
        ..server::access(&args.connection.login)?
    };
    let options = options(args);
    options
        .validate_for(args.workload)
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    if args.time.is_some_and(|time| time.is_zero()) && events(args).is_none() {
        let message = "--time 0 is no limit, and nothing else ends the run";
        let remedy = "give a length, or a number of transactions with --events";
        return Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)));
    }
    if let (Some(_), Some(longest)) = (args.until_ci, longest_time(args))
        && longest < least_time(args)
    {
        let message = "the least length, --time, is more than the longest, --max-time";
        return Err(Failure::new(Exit::Usage, message));
    }
    let database = server::open(&args.url, &access, &lab)?;
    let several = args.find_max || args.threads.len() > 1;
    let mut screen = match several {
        true => Screen::of_trials(args.output.detail(Detail::Bar)),
        false => Screen::new(args.output.detail(Detail::Seconds)),
    };
    screen.line(&format!("{} at {}", database.engine(), database.shown()));
    let title = format!("{} on {}", args.workload, database.engine());
    let trials = trials(args, &options, &database)?;
    let study = as_study(args, &trials[0], &title);
    if args.prepare == PrepareArg::Only {
        return prepare(&trials[0], &database, &mut screen, &interrupted);
    }
    // Made before the data is, so that a place that cannot be used shows at once.
    let about = About {
        title: &title,
        description: None,
        study: &study,
        design: Design {
            trials: planned(args, &trials),
            repeats: 1,
            axes: trials[0].point.iter().map(|(key, _)| key.clone()).collect(),
            ..Design::default()
        },
    };
    let places: Vec<_> = database.file().into_iter().collect();
    let mut results = Results::create(args.out.as_deref(), about, &places, screen)?;
    let server = database.target().map(|target| target.shown());
    let of: Vec<&str> = server.iter().map(String::as_str).collect();
    thresholds.note_what_is_missing(&trials, &results.screen);
    results.look(&trials, &of);
    if args.find_max {
        return search(&mut lab, &trials, results, args, &interrupted);
    }
    if several {
        return sweep(&mut lab, &trials, results, args, &thresholds, &interrupted);
    }
    let ran = match lab::run_trial(&mut lab, &trials[0], &mut results, &interrupted) {
        Ok(ran) => ran,
        Err(failure) => {
            results.discard_if_empty();
            return Err(failure.into());
        }
    };
    let judged = results.judge(&thresholds);
    let text = layout().apply(|| ::report::text::trial(&ran.summary));
    let text = text + &results.thresholds_as_text();
    let concluded = results.conclude(&text, args.json);
    // What ended the load says more than what that led to.
    let ended = ran.failure.map_or(Ok(()), |failure| Err(failure.into()));
    ended
        .and(judged)
        .and(concluded)
        .and(results.outcome(args.undecided))
}

/// One trial for each number of users.
fn trials(args: &BenchArgs, options: &Options, database: &Database) -> Result<Vec<Trial>, Failure> {
    let mut trials: Vec<Trial> = Vec::new();
    for users in &args.threads {
        let mut trial = describe(args, options.clone(), database.clone(), *users);
        if args.threads.len() > 1 {
            trial.number = u32::try_from(trials.len())
                .unwrap_or(u32::MAX)
                .saturating_add(1);
            trial.label = format!("threads={users}");
            trial.point = vec![(THREADS.to_owned(), users.to_string())];
        }
        if trials.iter().any(|known| known.load.users == *users) {
            let message = format!("--threads has {users} twice");
            let remedy = "a study repeats trials: load.repeats in docs/study.md";
            return Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)));
        }
        trials.push(trial);
    }
    Ok(trials)
}

fn planned(args: &BenchArgs, trials: &[Trial]) -> u32 {
    let count = u32::try_from(trials.len()).unwrap_or(u32::MAX);
    match args.find_max {
        true => count.saturating_mul(lab::most_trials()),
        false => count,
    }
}

/// Runs the trials one after the other, as a study does, and tells what was found.
fn sweep(
    lab: &mut Lab,
    trials: &[Trial],
    mut results: Results,
    args: &BenchArgs,
    thresholds: &Thresholds,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let ran = lab::run(lab, trials, &mut results, interrupted);
    results.screen.finish_stage();
    if results.trials().is_empty() {
        results.discard_if_empty();
        return Ok(ran?);
    }
    let judged = results.judge(thresholds);
    let concluded = results.conclude(&results.as_text(args.output.verbose), args.json);
    // What ended the run says more than what that led to.
    Ok(ran?)
        .and(judged)
        .and(concluded)
        .and(results.outcome(args.undecided))
}

/// Searches the highest rate, and tells what was found.
fn search(
    lab: &mut Lab,
    trials: &[Trial],
    mut results: Results,
    args: &BenchArgs,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let time: Duration = trials.iter().map(Trial::load_time).sum();
    results.screen.line(&format!(
        "searching the highest rate: at most {} trials, {} under load",
        planned(args, trials),
        plan::format_duration(time)
    ));
    let ran = lab::find_max(lab, trials, &[], &mut results, interrupted);
    results.screen.finish_stage();
    if results.trials().is_empty() {
        results.discard_if_empty();
        return Ok(ran?);
    }
    let searched = results.searched();
    let concluded = results.conclude(&results.as_text(args.output.verbose), args.json);
    // What ended the search says more than what that led to.
    Ok(ran?).and(searched).and(concluded)
}

/// Has the data in the database, and no more.
fn prepare(
    trial: &Trial,
    database: &Database,
    screen: &mut Screen,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mode = trial.mode.unwrap_or(Mode::Missing);
    let prepared = lab::prepare(
        trial,
        database,
        mode,
        &mut |news| screen.preparing(&news),
        interrupted,
    )?;
    screen.prepared(&prepared);
    if prepared.loaded == 0 {
        screen.line(&format!("data: all {} tables were there", prepared.found));
    }
    Ok(())
}

pub(crate) fn options(args: &BenchArgs) -> Options {
    let transaction = &args.transaction;
    Options {
        tables: args.tables,
        rows: args.rows,
        key_range: transaction.key_range,
        range_size: transaction.range_size,
        point_selects: transaction.point_selects,
        simple_ranges: transaction.simple_ranges,
        sum_ranges: transaction.sum_ranges,
        order_ranges: transaction.order_ranges,
        distinct_ranges: transaction.distinct_ranges,
        index_updates: transaction.index_updates,
        non_index_updates: transaction.non_index_updates,
        delete_inserts: transaction.delete_inserts,
        range_selects: transaction.range_selects,
        skip_trx: transaction.skip_trx,
        secondary: transaction.secondary,
        create_secondary: transaction.create_secondary,
        auto_inc: transaction.auto_inc,
        storage_engine: transaction.storage_engine.clone(),
        random_points: transaction.random_points,
        number_of_ranges: transaction.number_of_ranges,
        delta: transaction.delta,
        distribution: args.distribution,
    }
}

/// What the arguments mean.
pub(crate) fn describe(
    args: &BenchArgs,
    options: Options,
    database: Database,
    users: u32,
) -> Trial {
    let connection = &args.connection;
    Trial {
        number: 1,
        label: "bench".to_owned(),
        point: Vec::new(),
        repeat: 1,
        place: Place::Given(database),
        instances: 1,
        workload: args.workload,
        options,
        mode: match args.prepare {
            PrepareArg::Always => Some(Mode::Always),
            PrepareArg::Missing | PrepareArg::Only => Some(Mode::Missing),
            PrepareArg::Never => None,
        },
        preload: false,
        monitors: !connection.no_monitors,
        workers: args.workers,
        seed: args.seed,
        protocol: match connection.protocol {
            ProtocolArg::Prepared => StatementProtocol::Prepared,
            ProtocolArg::Text => StatementProtocol::Text,
        },
        reply_time: match connection.reply_time {
            ReplyTimeArg::Kernel => ReplyTime::Kernel,
            ReplyTimeArg::Program => ReplyTime::Program,
        },
        early: args.until_ci.map(|ci| {
            EarlyEnd::Sure(Until {
                ci,
                least_s: least_time(args).as_secs_f64(),
            })
        }),
        find_max: find_max(args),
        load: LoadSpec {
            users,
            // Known once the engine is.
            workers: 1,
            warmup: args.warmup,
            time: longest_time(args),
            events: events(args),
            pace: args.rate.map_or(Pace::Closed, |per_s| Pace::Open {
                per_s,
                arrivals: match args.arrivals {
                    ArrivalsArg::Poisson => Arrivals::Poisson,
                    ArrivalsArg::Constant => Arrivals::Constant,
                },
            }),
            think: args.think,
            seed: args.seed,
            ignored_errors: connection.ignore_errors.clone(),
            batch_scheduling: !connection.no_batch_scheduling,
            connect_limit: connection.connect_limit,
            grace: GRACE,
            stall_limit: load::STALL_LIMIT,
        },
        load_connections: connection.load_connections,
    }
}

/// The search that was asked for.
fn find_max(args: &BenchArgs) -> Option<FindMax> {
    let limits = [
        (Limited::P99, args.p99),
        (Limited::P95, args.p95),
        (Limited::Mean, args.mean),
    ];
    let mut limits = limits.into_iter();
    limits.find_map(|(of, limit)| Some(FindMax { of, limit: limit? }))
}

/// The length that was asked for; 0 is none, as in sysbench.
fn time(args: &BenchArgs) -> Option<Duration> {
    args.time.filter(|time| !time.is_zero())
}

/// The transactions that were asked for; 0 is no limit, as in sysbench.
fn events(args: &BenchArgs) -> Option<u64> {
    args.events.filter(|events| *events > 0)
}

fn least_time(args: &BenchArgs) -> Duration {
    time(args).unwrap_or(DEFAULT_LEAST)
}

/// The length of the measurement, at most.
fn longest_time(args: &BenchArgs) -> Option<Duration> {
    match args.until_ci {
        _ if args.find_max => Some(time(args).unwrap_or(DEFAULT_STEP)),
        Some(_) => Some(args.max_time.unwrap_or(DEFAULT_MAX)),
        None => time(args).or(events(args).is_none().then_some(DEFAULT_TIME)),
    }
}
