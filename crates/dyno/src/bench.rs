//! `dyno bench URL…`: one benchmark of one server, or of several that take turns.

use std::sync::atomic::AtomicBool;

use engine::data::Mode;
use lab::{Access, Database, Lab, Run, RunOptions, Target, Trial};

use crate::cli::{BenchArgs, PrepareArg};
use crate::failure::Failure;
use crate::progress::Screen;
use crate::results::Results;
use crate::study_file::PlannedStudy;
use crate::thresholds::Thresholds;
use crate::{as_study, plan, server, signals, trials};

const ONE_AT_A_TIME: &str = "benchmark one server at a time";

/// Prepares the data, warms up, measures and reports.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let interrupted = signals::interruption()?;
    let thresholds = Thresholds::of_bench(args)?;
    let mut lab = Lab::default();
    let access = Access {
        create_database: args.create_database,
        ..as_study::access(&args.connection.login)?
    };
    let checked = as_study::without_server(args)?;
    let databases = open(args, &access, &lab)?;
    let first = checked.plan.trials.first();
    let workload = first.map_or("", |trial| trial.load.workload.as_str());
    let products: Vec<_> = databases.iter().map(|one| one.product()).collect();
    let title = format!("{workload} on {}", products.join(" and "));
    let study = as_study::as_study(args, &databases, &title)?;
    let mut trials = bench_trials(args, &study, &databases)?;
    lab::settle_turns(&mut trials).map_err(|failure| failure.remedy(ONE_AT_A_TIME))?;
    let several = study.searches() || trials.len() > 1;
    let mut screen = Screen::of_run(&args.output, several);
    for database in &databases {
        screen.line(&format!("{} at {}", database.product(), database.shown()));
    }
    if args.prepare == PrepareArg::Only {
        let mut prepare = |database| prepare(&trials[0], database, &mut screen, &interrupted);
        return databases.iter().try_for_each(&mut prepare);
    }
    // Created before data is loaded, so that an unusable directory is reported at once.
    let places: Vec<_> = databases.iter().filter_map(|one| one.file()).collect();
    let mut results = Results::create(args.out.as_deref(), &title, &study, &places, screen)?;
    // `dyno doctor` examines one server at a time.
    let server = match databases.as_slice() {
        [one] if !one.is_in_process() => Some(one.shown()),
        _ => None,
    };
    let of: Vec<&str> = server.iter().map(String::as_str).collect();
    thresholds.note_missing_points(&trials, &results.screen);
    results.check_conditions(&lab, &trials, &of);
    if study.searches() {
        let (work, time) = (plan::work(&trials), plan::load_time(&trials));
        let line = format!("searching for the highest rate: {work}, {time}");
        results.screen.line(&line);
    }
    if several {
        return trials::run(
            &mut lab,
            &trials,
            results,
            &thresholds,
            &args.output,
            &interrupted,
            |failure| failure,
        );
    }
    let mut run = Run {
        observer: &mut results,
        interrupted: &interrupted,
    };
    let ran = match lab::run_trial(&mut lab, &trials[0], &mut run) {
        Ok(ran) => ran,
        Err(failure) => {
            results.discard_if_empty();
            return Err(failure);
        }
    };
    let ended = ran.failure.map_or(Ok(()), Err);
    // The first error is the cause of the others.
    ended.and(results.conclude(&thresholds, &args.output))
}

fn open(args: &BenchArgs, access: &Access, lab: &Lab) -> Result<Vec<Database>, Failure> {
    let urls = args.url.iter();
    let engines = urls.clone().filter_map(|url| engine::of_url(url).ok());
    let mut in_process = engines.filter(|engine| engine.in_process().is_some());
    if let Some(engine) = in_process.next().filter(|_| args.url.len() > 1) {
        let message = format!(
            "{} databases run inside dyno and cannot take turns",
            engine.title()
        );
        return Err(Failure::usage(message).remedy(ONE_AT_A_TIME));
    }
    urls.map(|url| server::open(url, access, lab)).collect()
}

fn bench_trials(
    args: &BenchArgs,
    study: &PlannedStudy,
    databases: &[Database],
) -> Result<Vec<Trial>, Failure> {
    let connection = &args.connection;
    let run_options = RunOptions {
        mode: match args.prepare {
            PrepareArg::Always => Some(Mode::Always),
            PrepareArg::Missing | PrepareArg::Only => Some(Mode::Missing),
            PrepareArg::Never => None,
        },
        load_connections: connection.load_connections,
        connect_limit: connection.connect_limit,
        workers: args.workers,
        ignored_errors: connection.ignore_errors.clone(),
        batch_scheduling: !connection.no_batch_scheduling,
    };
    let names = as_study::names(databases);
    let target = |trial: &::plan::Trial| {
        let of_variant = names
            .iter()
            .position(|name| trial.variant() == Some(name.as_str()));
        Target::Given(databases[of_variant.unwrap_or(0)].clone())
    };
    let planned = study.plan.trials.iter();
    planned
        .map(|trial| study.trial(trial, target(trial), &run_options))
        .collect()
}

fn prepare(
    trial: &Trial,
    database: &Database,
    screen: &mut Screen,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mode = trial.run_options.mode.unwrap_or(Mode::Missing);
    let prepared = lab::prepare(
        trial,
        database,
        mode,
        &mut |news| screen.preparing(&news),
        interrupted,
    )?;
    screen.prepared(&prepared);
    if prepared.loaded == 0 {
        let found = match prepared.is_of_script {
            true => "data: prepared by the script before".to_owned(),
            false => format!("data: all {} tables already exist", prepared.found),
        };
        screen.line(&found);
    }
    Ok(())
}
