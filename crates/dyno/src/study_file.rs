//! Reads a study file into the trials that the laboratory runs.

use std::io::Read;
use std::path::Path;

use lab::{Lab, RunOptions, Target, Trial, Workload};
use measure::column::{changed, full_name};
use measure::result::{Design, Table};
use measure::threshold::Threshold;
use plan::{EngineSpec, LoginSpec, Plan, ServerSpec, ServerUrl, TextError};
use study::{Study, Vocabulary};
use workload::name::WorkloadName;
use workload::options::Options;

use crate::cli::StudyArgs;
use crate::failure::Failure;
use crate::{columns, scripts, server};

/// Maximum number of bytes read of a study file: one more than `study` accepts.
const READ_LIMIT_BYTES: u64 = study::MAX_FILE_BYTES as u64 + 1;

pub(crate) struct PlannedStudy {
    pub(crate) source: Study,
    pub(crate) plan: Plan,
}

impl PlannedStudy {
    pub(crate) fn read(args: &StudyArgs) -> Result<Self, Failure> {
        let path = args.study.display().to_string();
        let mut text = String::new();
        std::fs::File::open(&args.study)
            .and_then(|file| file.take(READ_LIMIT_BYTES).read_to_string(&mut text))
            .map_err(|error| {
                Failure::usage(format!("cannot read the study {path}: {error}"))
                    .remedy("give the path of a study file, such as studies/quickstart.toml")
            })?;
        let overrides = args.overrides.iter();
        let overrides = overrides.map(|(key, value)| (key.as_str(), value.as_str()));
        let overrides: Vec<(&str, &str)> = overrides.collect();
        let study = Study::parse_with_overrides(&path, &text, &overrides, engine::catalog());
        let study = study.map_err(Failure::usage)?;
        let known = Vocabulary {
            workloads: &WorkloadName::ALL.map(WorkloadName::name),
            unknown_column: columns::suggestion_in_study,
            invalid_condition,
        };
        study.check(&known).map_err(Failure::usage)?;
        Self::of(study, args.study.parent().unwrap_or(Path::new("")))
    }

    /// `dir` is the directory of the study, to which paths of scripts are relative.
    pub(crate) fn of(source: Study, dir: &Path) -> Result<Self, Failure> {
        let plan = source.plan();
        let mut study = Self { source, plan };
        match scripts::read(&mut study.plan, dir) {
            Ok(()) => Ok(study),
            Err(failure) => Err(study.located(failure)),
        }
    }

    /// The study as it is run, with the texts of its scripts, which are part of it.
    pub(crate) fn as_run(&self) -> String {
        self.source.as_run() + &scripts::as_comments(&self.plan)
    }

    /// The design of the study, to be stored in the result.
    pub(crate) fn design(&self) -> Design {
        let plan = &self.plan;
        let planned = u32::try_from(plan.trials.len()).unwrap_or(u32::MAX);
        let tables = plan.tables.iter().map(|table| Table {
            rows: table.rows.value.clone(),
            columns: table.columns.iter().map(|c| full_name(c)).collect(),
        });
        Design {
            trials: match self.searches() {
                true => planned.saturating_mul(lab::MAX_SEARCH_TRIALS),
                false => planned,
            },
            skipped: Vec::new(),
            repeats: plan.repeats,
            axes: plan.axes.clone(),
            order: plan.order.to_string(),
            delta_as_in: plan.delta_as_in.clone(),
            tables: tables.collect(),
        }
    }

    /// Whether each trial of the plan is a search of its own.
    pub(crate) fn searches(&self) -> bool {
        let trials = &self.plan.trials;
        trials.iter().any(|trial| trial.load.find_max.is_some())
    }

    /// The trials; connects to every server that is already running.
    pub(crate) fn trials(&self, lab: &Lab) -> Result<Vec<Trial>, Failure> {
        self.placed(|url, login| reach(url, login, lab))
    }

    /// The trials, without opening database files, which an engine in process would create.
    pub(crate) fn trials_without_files(&self, lab: &Lab) -> Result<Vec<Trial>, Failure> {
        self.placed(|url, login| {
            let engine = engine::of_url(url.expose()).ok();
            match engine.and_then(engine::Engine::in_process) {
                Some(engine) => Ok(Target::Temporary(engine)),
                None => reach(url, login, lab),
            }
        })
    }

    fn placed(
        &self,
        mut given: impl FnMut(&ServerUrl, &LoginSpec) -> Result<Target, Failure>,
    ) -> Result<Vec<Trial>, Failure> {
        let mut known: Vec<(&ServerSpec, Target)> = Vec::new();
        let mut trials = Vec::new();
        let run_options = RunOptions::default();
        for planned in &self.plan.trials {
            let server = &planned.server;
            let target = match known.iter().find(|(spec, _)| *spec == server) {
                Some((_, target)) => target.clone(),
                None => {
                    let target = match server {
                        ServerSpec::Engine(spec) => started(spec),
                        ServerSpec::Url(url, login) => given(url, login)?,
                    };
                    known.push((server, target.clone()));
                    target
                }
            };
            trials.push(self.trial(planned, target, &run_options)?);
        }
        lab::settle_turns(&mut trials).map_err(|failure| self.located(failure))?;
        Ok(trials)
    }

    /// A trial of the plan as the laboratory runs it.
    pub(crate) fn trial(
        &self,
        planned: &plan::Trial,
        target: Target,
        run_options: &RunOptions,
    ) -> Result<Trial, Failure> {
        let load = &planned.load;
        let options = Options::of(planned).map_err(|error| {
            let help = "use uniform, special, gaussian, pareto or zipfian, with parameters such as zipfian:exp=0.99";
            let message = error.to_string();
            Failure::usage(self.source.error_at(load.distribution.span, message, help))
        })?;
        let engine = target
            .engine()
            .ok_or_else(|| Failure::internal("unknown engine"))?;
        let workload = Workload::of(planned, &options, engine).map_err(|failure| {
            let place = failure.key.as_ref().and_then(|key| self.source.place(key));
            self.located(failure.span(place.unwrap_or(load.workload.span)))
        })?;
        let mut trial = Trial {
            workload,
            options,
            load_seed: planned.data.seed,
            planned: planned.clone(),
            target,
            longest_wait: None,
            fleet: None,
            run_options: run_options.clone(),
        };
        // With all parameters, so that results compare whichever of them were written.
        trial.planned.load.distribution.value = trial.options.distribution.to_string();
        trial.check().map_err(|failure| self.located(failure))?;
        Ok(trial)
    }

    /// A failure of the laboratory, with its location in the study.
    pub(crate) fn located(&self, failure: Failure) -> Failure {
        let Some(span) = failure.span else {
            return failure;
        };
        let help = failure.remedy.clone().unwrap_or_default();
        let message = self
            .source
            .error_at(span, failure.message.clone(), help)
            .to_string();
        Failure {
            message,
            remedy: None,
            span: None,
            ..failure
        }
    }
}

/// The target of a server that dyno starts.
fn started(spec: &EngineSpec) -> Target {
    match engine::by_name(&spec.engine).and_then(engine::Engine::in_process) {
        Some(engine) => Target::Temporary(engine),
        None => Target::Private(Box::new(spec.clone())),
    }
}

fn reach(url: &ServerUrl, login: &LoginSpec, lab: &Lab) -> Result<Target, Failure> {
    let access = server::access(login, None)?;
    Ok(Target::Given(server::open(url.expose(), &access, lab)?))
}

/// What is wrong with a threshold's condition.
fn invalid_condition(column: &str, condition: &str) -> Option<TextError> {
    if let Some(of) = changed(column) {
        let message = format!("a threshold cannot be set on the change of `{of}`");
        let help = format!("write, for example, `\"{of}\" = \">= 0.95 * baseline\"`");
        return Some(TextError::new(message, help));
    }
    Threshold::parse(column, condition).err()
}
