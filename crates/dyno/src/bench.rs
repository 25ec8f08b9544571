//! `dyno bench URL`: one benchmark of one server.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use client::mysql::StatementProtocol;
use data::Mode;
use lab::{Database, EarlyEnd, Lab, Place, Trial};
use load::{Arrivals, LoadSpec, Pace};
use measure::ended::Until;
use measure::result::Design;
use measure::setup::ReplyTime;
use study::{FindMax, Limited};
use workload::options::Options;

use crate::as_study::as_study;
use crate::cli::{ArrivalsArg, BenchArgs, PrepareArg, ProtocolArg, ReplyTimeArg};
use crate::failure::{Exit, Failure};
use crate::progress::{Detail, Screen};
use crate::results::{About, Results};
use crate::server;
use crate::signals;
use crate::thresholds::Thresholds;

/// How long running transactions may take to end after the load's end.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
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
    let access = server::access(Some(&args.connection.login))?;
    let options = options(args);
    options
        .validate_for(args.workload)
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    if let (Some(_), Some(longest)) = (args.until_ci, longest_time(args))
        && longest < least_time(args)
    {
        let message = "the least length, --time, is more than the longest, --max-time";
        return Err(Failure::new(Exit::Usage, message));
    }
    let database = server::open(&args.url, &access, &lab)?;
    let mut screen = Screen::new(match args.find_max {
        true => Detail::Bar,
        false => Detail::Seconds,
    });
    screen.line(&format!("{} at {}", database.engine(), database.shown()));
    let title = format!("{} on {}", args.workload, database.engine());
    let trial = describe(args, options, database.clone());
    let study = as_study(args, &trial, &title);
    if args.prepare == PrepareArg::Only {
        return prepare(&trial, &database, &mut screen, &interrupted);
    }
    // Made before the data is, so that a place that cannot be used shows at once.
    let about = About {
        title: &title,
        description: None,
        study: &study,
        design: Design {
            trials: if args.find_max { lab::most_trials() } else { 1 },
            repeats: 1,
            ..Design::default()
        },
    };
    let places: Vec<_> = database.file().into_iter().collect();
    let mut results = Results::create(args.out.as_deref(), about, &places, screen)?;
    let server = database.target().map(|target| target.shown());
    let of: Vec<&str> = server.iter().map(String::as_str).collect();
    thresholds.note_what_is_missing(std::slice::from_ref(&trial), &results.screen);
    results.look(std::slice::from_ref(&trial), &of);
    if args.find_max {
        return search(&mut lab, &trial, results, args.json, &interrupted);
    }
    let ran = match lab::run_trial(&mut lab, &trial, &mut results, &interrupted) {
        Ok(ran) => ran,
        Err(failure) => {
            results.discard_if_empty();
            return Err(failure.into());
        }
    };
    let judged = results.judge(&thresholds);
    let text = ::report::text::trial(&ran.summary) + &results.thresholds_as_text();
    let concluded = results.conclude(&text, args.json);
    // What ended the load says more than what that led to.
    let ended = ran.failure.map_or(Ok(()), |failure| Err(failure.into()));
    ended
        .and(judged)
        .and(concluded)
        .and(results.outcome(args.undecided))
}

/// Searches the highest rate, and tells what was found.
fn search(
    lab: &mut Lab,
    trial: &Trial,
    mut results: Results,
    as_json: bool,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    results.screen.line(&format!(
        "searching the highest rate: at most {} trials, {} under load",
        lab::most_trials(),
        study::format_duration(trial.load_time())
    ));
    let ran = lab::find_max(
        lab,
        std::slice::from_ref(trial),
        &[],
        &mut results,
        interrupted,
    );
    results.screen.finish_stage();
    if results.trials().is_empty() {
        results.discard_if_empty();
        return Ok(ran?);
    }
    let searched = results.searched();
    let concluded = results.conclude(&results.as_text(), as_json);
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
pub(crate) fn describe(args: &BenchArgs, options: Options, database: Database) -> Trial {
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
            users: args.threads,
            // Known once the engine is.
            workers: 1,
            warmup: args.warmup,
            time: longest_time(args),
            events: args.events,
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

fn least_time(args: &BenchArgs) -> Duration {
    args.time.unwrap_or(DEFAULT_LEAST)
}

/// The length of the measurement, at most.
fn longest_time(args: &BenchArgs) -> Option<Duration> {
    match args.until_ci {
        _ if args.find_max => Some(args.time.unwrap_or(DEFAULT_STEP)),
        Some(_) => Some(args.max_time.unwrap_or(DEFAULT_MAX)),
        None => args.time.or(args.events.is_none().then_some(DEFAULT_TIME)),
    }
}
