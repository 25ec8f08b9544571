//! `dyno bench URL`: one benchmark of one server.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use client::mysql::StatementProtocol;
use data::Mode;
use load::{Arrivals, LoadSpec, Pace};
use workload::options::Options;

use crate::cli::{ArrivalsArg, BenchArgs, PrepareArg, ProtocolArg};
use crate::failure::Failure;
use crate::progress::{Detail, Length, Progress, Screen};
use crate::results::Results;
use crate::server::{Access, Server};
use crate::signals;
use crate::trial::{Trial, workers};

/// How long running transactions may take to end after the load's end.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// Length of the measurement where neither time nor events are given.
const DEFAULT_TIME: Duration = Duration::from_secs(30);

/// Prepare, warm up, run, report.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let interrupted = signals::interruption()?;
    let mut screen = Screen::new(Detail::Seconds);
    let access = Access::of(&args.connection)?;
    let mut trial = describe(args);
    trial.check()?;
    let server = Server::open(&args.url, &access)?;
    trial.load.workers = workers(&server, args.threads, args.workers);
    screen.line(&format!("{} at {}", server.engine(), server.shown()));
    if args.prepare == PrepareArg::Only {
        return prepare(args, &trial, &server, &interrupted, &mut screen);
    }
    // Made before the data is, so that a place that cannot be used shows at once.
    let title = format!("{} on {}", trial.workload, server.engine());
    let mut results = Results::create(args.out.as_deref(), &title, None, &as_study(args, &server))?;
    if args.prepare != PrepareArg::Never
        && let Err(failure) = prepare(args, &trial, &server, &interrupted, &mut screen)
    {
        results.discard_if_empty();
        return Err(failure);
    }
    let writer = results.begin(&trial.label)?;
    screen.trial(String::new(), Length::default());
    let ran = trial.run(&server, writer, &interrupted, &mut screen)?;
    screen.finish_stage();
    let text = report::text::trial(&ran.summary);
    let added = results.add(ran.summary);
    let concluded = results.conclude(&text, args.json, &mut screen);
    // What ended the load says more than what that led to.
    ran.failure.map_or(Ok(()), Err).and(added).and(concluded)
}

fn prepare(
    args: &BenchArgs,
    trial: &Trial,
    server: &Server,
    interrupted: &AtomicBool,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let mode = match args.prepare {
        PrepareArg::Always => Mode::Always,
        PrepareArg::Missing | PrepareArg::Only | PrepareArg::Never => Mode::Missing,
    };
    let prepared = trial.prepare(server, mode, interrupted, screen as &mut dyn Progress)?;
    if args.prepare == PrepareArg::Only && prepared.loaded == 0 {
        screen.line(&format!("data: all {} tables were there", prepared.found));
    }
    Ok(())
}

/// What the arguments mean.
fn describe(args: &BenchArgs) -> Trial {
    let (connection, transaction) = (&args.connection, &args.transaction);
    Trial {
        label: "bench".to_owned(),
        point: Vec::new(),
        workload: args.workload,
        options: Options {
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
        },
        seed: args.seed,
        protocol: match connection.protocol {
            ProtocolArg::Prepared => StatementProtocol::Prepared,
            ProtocolArg::Text => StatementProtocol::Text,
        },
        load: LoadSpec {
            users: args.threads,
            // Known once the engine is.
            workers: 1,
            warmup: args.warmup,
            time: args.time.or(args.events.is_none().then_some(DEFAULT_TIME)),
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
        },
        load_connections: connection.load_connections,
    }
}

/// The benchmark as a study file, for the record.
fn as_study(args: &BenchArgs, server: &Server) -> String {
    let url = match server {
        Server::Mysql { .. } => format!("url = {:?}", server.shown()),
        Server::Sqlite(_) => "engine = \"sqlite\"".to_owned(),
    };
    let mut text = format!(
        "# {}\ntitle = \"{} on {}\"\n\n[server]\n{url}\n\n[data]\ntables = {}\nrows = {}\nseed = {}\n\n\
         [load]\nworkload = \"{}\"\ndistribution = \"{}\"\nthreads = {}\nwarmup = \"{}\"\n",
        crate::secrets::command_line(),
        args.workload,
        server.engine(),
        args.tables,
        args.rows,
        args.seed,
        args.workload,
        args.distribution,
        args.threads,
        study::format_duration(args.warmup),
    );
    let time = args.time.unwrap_or(DEFAULT_TIME);
    text.push_str(&format!("time = \"{}\"\n", study::format_duration(time)));
    if let Some(events) = args.events {
        text.push_str(&format!("events = {events}\n"));
    }
    if let Some(rate) = args.rate {
        let arrivals = match args.arrivals {
            ArrivalsArg::Poisson => "poisson",
            ArrivalsArg::Constant => "constant",
        };
        text.push_str(&format!("rate = {rate:?}\narrivals = \"{arrivals}\"\n"));
    }
    text
}
