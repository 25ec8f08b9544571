//! `dyno run STUDY`: runs the trials of a study one after the other.

use std::path::PathBuf;

use lab::{Lab, Trial};
use measure::result::RunResult;
use measure::setup::Outcome;
use measure::summary::TrialSummary;

use crate::cli::RunArgs;
use crate::failure::{Failure, stored};
use crate::progress::Screen;
use crate::results::{Results, environment};
use crate::study_file::PlannedStudy;
use crate::thresholds::Thresholds;
use crate::{fleet, noise, plan, resume, signals, trials};

/// Reads the study, runs its trials and writes the report.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let study = PlannedStudy::read(&args.study)?;
    let file = args.study.study.display().to_string();
    run_study(args, &study, &["--study", &file])
}

/// Runs the trials of a study; with the arguments `of`, `dyno doctor` examines it.
pub(crate) fn run_study(args: &RunArgs, study: &PlannedStudy, of: &[&str]) -> Result<(), Failure> {
    let thresholds = Thresholds::of_study(study, args)?;
    let interrupted = signals::interruption()?;
    let mut lab = Lab::default();
    let mut trials = study.trials(&lab)?;
    let resumed = args
        .resume
        .then(|| Resumed::read(args, study))
        .transpose()?;
    let is_settled = resumed.as_ref().is_some_and(|resumed| {
        let sets_time = study.source.place("load.time").is_some();
        resume::as_recorded(&mut trials, &resumed.stored.trials, sets_time)
    });
    let mut screen = Screen::of_run(&args.output, true);
    screen.stage("checking what the study needs");
    plan::settle(study, &lab, &mut trials, is_settled, &interrupted)?;
    lab.check_settings(&trials, &interrupted)
        .map_err(|failure| study.located(failure))?;
    screen.finish_stage();
    let stored = resumed.iter().flat_map(|resumed| &resumed.stored.trials);
    let (complete, _) = resume::without_partial_starts(stored.cloned().collect(), &trials);
    let complete = complete.iter().map(|trial| trial.setup.planned.number);
    let complete: Vec<u32> = complete.collect();
    let remains = |trial: &Trial| study.searches() || !complete.contains(&trial.planned.number);
    let remaining = trials.iter_mut().filter(|trial| remains(trial)).collect();
    let _nats = fleet::connect(&lab, remaining, &interrupted)?;
    let mut results = open(args, resumed, study, &lab, &trials, screen)?;
    let (planned, compare) = (trials.len(), noise::plan_line(study, &trials));
    if !study.searches() {
        results.set_planned(planned);
    }
    trials.retain(remains);
    announce(&trials, planned, &results, study);
    compare.iter().for_each(|line| results.screen.line(line));
    thresholds.note_missing_points(&trials, &results.screen);
    results.check_conditions(&lab, &trials, of);
    let located = |failure| study.located(failure);
    trials::run(
        &mut lab,
        &trials,
        results,
        &thresholds,
        &args.output,
        &interrupted,
        located,
    )
}

struct Resumed {
    dir: PathBuf,
    /// Its result, with only the completed trials.
    stored: RunResult,
}

impl Resumed {
    fn read(args: &RunArgs, study: &PlannedStudy) -> Result<Self, Failure> {
        let dir = match &args.out {
            Some(dir) => dir.clone(),
            None => newest(&study.as_run())?,
        };
        same_study(&store::read_study(&dir).map_err(stored)?, study, &dir)?;
        let mut stored = store::read_intact(&dir).map_err(stored)?.result;
        let is_complete = |trial: &TrialSummary| trial.outcome == Outcome::Completed;
        stored.trials.retain(is_complete);
        Ok(Self { dir, stored })
    }
}

/// The result directory: a new one, or that of an interrupted run.
fn open(
    args: &RunArgs,
    resumed: Option<Resumed>,
    study: &PlannedStudy,
    lab: &Lab,
    trials: &[Trial],
    screen: Screen,
) -> Result<Results, Failure> {
    let plan = &study.plan;
    let mut places = vec![lab.home()?.root()];
    let planned = plan.trials.iter();
    let here = planned.filter(|trial| trial.topology.node.site.hosts.is_none());
    let volumes = here.flat_map(|trial| trial.topology.node.volumes());
    for directory in volumes.filter_map(|volume| volume.directory.as_ref()) {
        if !places.contains(&directory.as_path()) {
            places.push(directory);
        }
    }
    if let Some(Resumed { dir, stored }) = resumed {
        let here = environment(&places);
        let changes = resume::check(&stored, &here, trials)?;
        return Results::resume(&dir, trials, study.design(), here, changes, screen);
    }
    Results::create(args.out.as_deref(), &plan.title, study, &places, screen)
}

/// The latest result of this study in the default directory.
fn newest(text: &str) -> Result<PathBuf, Failure> {
    let results = store::ResultDir::in_default_place().map_err(stored)?;
    let is_same = |dir: &PathBuf| store::read_study(dir).is_ok_and(|study| study == text);
    results.into_iter().rev().find(is_same).ok_or_else(|| {
        Failure::usage("no result of this study found")
            .remedy("give its directory with --out, or omit --resume")
    })
}

fn same_study(stored: &str, study: &PlannedStudy, dir: &std::path::Path) -> Result<(), Failure> {
    if stored == study.as_run() {
        return Ok(());
    }
    let message = format!("{} contains the result of another study", dir.display());
    let remedy = format!(
        "use the same study file and the same --set options; the study as run is in {}",
        dir.join(store::names::STUDY).display()
    );
    Err(Failure::usage(message).remedy(remedy))
}

/// Prints which of the `planned` trials will run, for how long, and where their results go.
fn announce(trials: &[Trial], planned: usize, results: &Results, study: &PlannedStudy) {
    let screen = &results.screen;
    screen.line(&study.plan.title);
    let (time, left) = (plan::load_time(trials), trials.len());
    let what = match planned - left {
        0 => plan::work(trials),
        done => format!("{left} of {planned} trials remain, {done} are complete"),
    };
    let path = results.path().display();
    screen.line(&format!("{what}, {time}; results go to {path}"));
}
