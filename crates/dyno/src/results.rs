//! The results of a run: their directory, the report, and the summary on stdout.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::report::compare::{PointState, decided, point_state};
use lab::{Lab, Observer, Progress, Trial};
use measure::find_max::FoundMax;
use measure::finding::Finding;
use measure::result::{Design, Environment, RunResult};
use measure::setup::Outcome;
use measure::summary::{SCHEMA_VERSION, TrialSummary};
use plan::{Point, format_duration};
use store::{ResultDir, StoreError, TrialWriter, names};

use crate::cli::OutputArgs;
use crate::console::{layout, print, print_json};
use crate::failure::{Failure, stored};
use crate::progress::Screen;
use crate::secrets::command_line;
use crate::study_file::PlannedStudy;
use crate::thresholds::Thresholds;
use crate::{doctor, noise, report, resume, signals};

/// A result that grows with each trial.
pub(crate) struct Results {
    dir: ResultDir,
    pub(crate) result: RunResult,
    pub(crate) screen: Screen,
    /// The trials that have begun and not ended, by number: several if they take turns.
    open: BTreeMap<u32, OpenTrial>,
    /// The number of the trial that news are about.
    current: u32,
    /// Notes that were shown: several servers and trials may cause the same one.
    noted: BTreeSet<String>,
    /// The point of each trial, and how long the trial took, set-up included.
    spent: Vec<(Point, Duration)>,
    /// When the time began that is not in `spent`.
    since: Instant,
    is_resumed: bool,
}

struct OpenTrial {
    /// What the screen shows before its news.
    title: String,
    files: TrialWriter,
    /// The first failure to store something.
    storage_failure: Option<Failure>,
    /// The last line about each fault, by its number and instance.
    faults: BTreeMap<(u32, u32, u32), String>,
}

impl Results {
    /// Creates the directory; `places` are the directories of databases.
    pub(crate) fn create(
        out: Option<&Path>,
        title: &str,
        study: &PlannedStudy,
        places: &[&Path],
        screen: Screen,
    ) -> Result<Self, Failure> {
        let environment = environment(places);
        // Nothing is measured yet: any failure is that of the given directory.
        let dir = ResultDir::create(out, title, &study.as_run(), &environment);
        let dir = dir.map_err(Failure::usage)?;
        let description = study.plan.description.as_deref();
        let result = RunResult {
            schema_version: SCHEMA_VERSION,
            title: title.to_owned(),
            description: description.map(|text| text.trim().to_owned()),
            design: study.design(),
            environment,
            ..RunResult::default()
        };
        dir.write_result(&result).map_err(stored)?;
        Ok(Self::with(dir, result, screen))
    }

    /// Continues an interrupted result with the remaining `trials`; `here` is the current
    /// environment, and `changes` are its differences from the original one.
    pub(crate) fn resume(
        dir: &Path,
        trials: &[Trial],
        design: Design,
        here: Environment,
        changes: Vec<Finding>,
        screen: Screen,
    ) -> Result<Self, Failure> {
        let mut result = store::read_result(dir).map_err(stored)?;
        let (dir, complete) = ResultDir::resume(dir).map_err(stored)?;
        let (complete, partial) = resume::without_partial_starts(complete, trials);
        for number in partial {
            dir.remove(number).map_err(stored)?;
        }
        if complete.is_empty() {
            result.environment = here;
        }
        result.trials = complete;
        result.design = design;
        for change in changes {
            screen.line(&format!("note: {}", change.observed));
            add(&mut result.findings, change);
        }
        // Searches are recorded when they end.
        result.searches.clear();
        Ok(Self {
            is_resumed: true,
            ..Self::with(dir, result, screen)
        })
    }

    fn with(dir: ResultDir, result: RunResult, screen: Screen) -> Self {
        signals::results_are_in(dir.path());
        Self {
            dir,
            result,
            screen,
            open: BTreeMap::new(),
            current: 0,
            noted: BTreeSet::new(),
            spent: Vec::new(),
            since: Instant::now(),
            is_resumed: false,
        }
    }

    /// Checks host and servers before the load, prints the number of findings, and stores them.
    /// With the arguments `of`, `dyno doctor` shows the same findings.
    pub(crate) fn check_conditions(&mut self, lab: &Lab, trials: &[Trial], of: &[&str]) {
        let found = doctor::quick_check(lab, trials);
        if let Some(line) = doctor::summary_line(&found, of) {
            self.screen.line(&format!("note: {line}"));
        }
        // A resumed result already has the findings of its first start.
        for finding in found {
            add(&mut self.result.findings, finding);
        }
        self.result.findings.sort_by_key(|finding| finding.level);
    }

    pub(crate) fn discard_if_empty(self) {
        if self.result.trials.is_empty() && self.open.is_empty() {
            self.discard();
        }
    }

    pub(crate) fn discard(self) {
        self.dir.discard();
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Records the number of planned trials. It is lower than that of the study if the budget allows
    /// fewer starts or the searches have ended.
    pub(crate) fn set_planned(&mut self, trials: usize) {
        self.result.design.trials = u32::try_from(trials).unwrap_or(u32::MAX);
    }

    /// Judges the results, prints them, and writes the report, even if one of these fails.
    pub(crate) fn conclude(
        &mut self,
        thresholds: &Thresholds,
        output: &OutputArgs,
    ) -> Result<(), Failure> {
        load::release_memory();
        // For a resumed run, the time that its starts took is unknown.
        if !self.is_resumed {
            let spent = self.spent.iter().map(|(_, spent)| *spent).sum();
            if let Err(failure) = noise::keep(&self.result.environment, &self.result.trials, spent)
            {
                self.screen.warn(&format!("warning: {}", failure.message));
            }
        }
        self.tell_undecided();
        self.result.thresholds = thresholds.judge(&self.result);
        let written = self.write();
        // Last, next to the prompt.
        let printed = match output.json {
            true => print_json(serde_json::to_string_pretty(&self.result)),
            false => print(self.as_text(output).trim_end()),
        };
        written.and(printed).and(thresholds.outcome(&self.result))
    }

    /// Stores a trial from now on, whose load takes this multiple of the counted time.
    pub(crate) fn begin_planned(
        &mut self,
        planned: &plan::Trial,
        stretch: f64,
    ) -> Result<(), Failure> {
        if self.open.is_empty() {
            self.since = Instant::now();
        }
        let (number, trials) = (planned.number, self.result.design.trials);
        let title = match trials {
            0 | 1 => String::new(),
            _ => format!("[{number}/{trials}] {}  ", planned.label),
        };
        let load = &planned.load;
        let length = load.warmup + load.longest().unwrap_or_default();
        self.screen.trial(&title, length.mul_f64(stretch));
        let files = self.dir.trial(number, &planned.label);
        let open = OpenTrial {
            title,
            files: files.map_err(Failure::interrupted)?,
            storage_failure: None,
            faults: BTreeMap::new(),
        };
        self.open.insert(number, open);
        self.current = number;
        Ok(())
    }

    /// Writes the result and the report, even if one of these fails.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let stored = self.dir.write_result(&self.result).map_err(stored);
        self.screen
            .line(&format!("results: {}", self.path().display()));
        let reported = report::write(&self.dir, &self.result, &self.screen);
        if let Ok(report) = &reported {
            self.screen.line(&format!("report:  {}", report.display()));
        }
        stored.and(reported.map(drop))
    }

    /// The text for a terminal: a summary, everything, or next to nothing.
    fn as_text(&self, output: &OutputArgs) -> String {
        let sheet = match output.verbose {
            true => ::report::study::outline(&self.result),
            false => ::report::summary::sheet(&self.result, output.quiet),
        };
        sheet.text(layout())
    }

    fn files(&self) -> Result<&TrialWriter, Failure> {
        let open = self.open.get(&self.current);
        let files = open.map(|open| &open.files);
        files.ok_or_else(|| Failure::internal("no trial has begun"))
    }

    /// Writes to the files of the trial. The first failure is shown, and the trial continues,
    /// because its results can still be displayed.
    fn store(&mut self, write: impl FnOnce(&mut TrialWriter) -> Result<(), StoreError>) {
        let open = self.open.get_mut(&self.current);
        let Some(open) = open.filter(|open| open.storage_failure.is_none()) else {
            return;
        };
        if let Err(error) = write(&mut open.files) {
            self.screen.warn(&format!("warning: {error}"));
            open.storage_failure = Some(Failure::interrupted(error));
        }
    }

    /// Why the point of a trial has no further starts; `None` if the trial is to run.
    fn why_decided(&self, trial: &Trial) -> Option<String> {
        let planned = &trial.planned;
        let compare = planned.compare?;
        if let Some(state) = decided(&self.result, planned) {
            let how = match state.is_conclusive {
                true => "decided",
                false => "ended",
            };
            return Some(format!("{how} {}", self.shown(&state, planned)));
        }
        let spent = self.spent_at(planned);
        (spent >= compare.budget && !self.has_begun(planned)).then(|| {
            let state = point_state(&self.result, planned);
            let state = state.map(|state| format!(" {}", self.shown(&state, planned)));
            format!(
                "no further starts: the budget of {} is used up (compare.budget){}",
                format_duration(compare.budget),
                state.unwrap_or_default()
            )
        })
    }

    /// Prints the starts still needed for each point that remains undecided after its last start.
    fn tell_undecided(&mut self) {
        let planned = self.result.trials.iter().map(|trial| &trial.setup.planned);
        let is_last = |planned: &&plan::Trial| {
            let starts = planned.compare.map(|compare| compare.starts);
            planned.repeat > 1 && starts == Some(planned.repeat)
        };
        let last: Vec<plan::Trial> = planned.filter(is_last).cloned().collect();
        for planned in &last {
            let state = point_state(&self.result, planned);
            if let Some(state) = state.filter(|state| !state.is_conclusive) {
                let state = self.shown(&state, planned);
                self.tell(planned, &format!("ended {state}"));
            }
        }
    }

    /// Formats the state of a trial's point, with an estimate of the starts still needed.
    fn shown(&self, state: &PointState, planned: &plan::Trial) -> String {
        let spent = self.spent_at(planned);
        // The duration of starts before the run was resumed is unknown.
        state.shown((!self.is_resumed).then(|| spent / state.starts))
    }

    /// Prints a line about the point of a trial, only once for all trials of the point.
    fn tell(&mut self, planned: &plan::Trial, what: &str) {
        let point = planned.common_point();
        let values = point.iter().map(|(key, value)| format!("{key}={value}"));
        let line = values.chain([what.to_owned()]);
        let line = line.collect::<Vec<_>>().join(", ");
        if self.noted.insert(line.clone()) {
            self.screen.line(&line);
        }
    }

    /// Whether another variant of the same start has run.
    fn has_begun(&self, planned: &plan::Trial) -> bool {
        let is_of_start = |other: &plan::Trial| {
            other.repeat == planned.repeat && other.common_point() == planned.common_point()
        };
        let mut trials = self.result.trials.iter();
        trials.any(|trial| is_of_start(&trial.setup.planned))
    }

    fn spent_at(&self, planned: &plan::Trial) -> Duration {
        let point = planned.common_point();
        let at_point = self.spent.iter().filter(|(known, _)| *known == point);
        at_point.map(|(_, spent)| *spent).sum()
    }
}

/// The environment of this process; `places` are the directories of databases.
pub(crate) fn environment(places: &[&Path]) -> Environment {
    host::fingerprint(env!("CARGO_PKG_VERSION"), &command_line(), places)
}

fn add(findings: &mut Vec<Finding>, finding: Finding) {
    if !findings.contains(&finding) {
        findings.push(finding);
    }
}

impl Observer for Results {
    fn begin(&mut self, trial: &Trial) -> Result<(), Failure> {
        self.begin_planned(&trial.planned, trial.stretch())
    }

    fn select(&mut self, trial: &Trial) {
        let number = trial.planned.number;
        if let Some(open) = self.open.get(&number).filter(|_| number != self.current) {
            self.screen.set_title(&open.title);
            self.current = number;
        }
    }

    fn server_dir(&mut self, instance: u32) -> Result<PathBuf, Failure> {
        let dir = self.files()?.server_dir(instance);
        dir.map_err(Failure::interrupted)
    }

    fn ledger_file(&mut self, instance: u32) -> Result<PathBuf, Failure> {
        Ok(self.files()?.path().join(names::ledger(instance)))
    }

    fn end(&mut self, mut summary: TrialSummary) -> Result<(), Failure> {
        self.screen.finish_stage();
        let open = self.open.remove(&summary.setup.planned.number);
        let (files, failure) = match open {
            Some(open) => (Some(open.files), open.storage_failure),
            None => (None, None),
        };
        if let (Some(failure), Outcome::Completed) = (&failure, &summary.outcome) {
            // Its files are incomplete, so --resume must run it again.
            let why = failure.message.lines().next().unwrap_or_default();
            summary.outcome = Outcome::Failed {
                reason: format!("its results could not be stored completely: {why}"),
            };
        }
        let finished = files.map_or(Ok(()), |files| files.finish(&summary));
        self.screen.trial_ended(&summary);
        let point = summary.setup.planned.common_point();
        self.spent.push((point, self.since.elapsed()));
        self.since = Instant::now();
        // A trial that was run again keeps its position.
        let before =
            |trial: &TrialSummary| trial.setup.planned.number < summary.setup.planned.number;
        let place = self.result.trials.partition_point(before);
        self.result.trials.insert(place, summary);
        let written = finished.and_then(|()| self.dir.write_result(&self.result));
        match failure {
            Some(failure) => Err(failure),
            None => written.map_err(Failure::interrupted),
        }
    }

    fn is_decided(&mut self, trial: &Trial) -> bool {
        let Some(why) = self.why_decided(trial) else {
            return false;
        };
        self.tell(&trial.planned, &why);
        self.result.design.skipped.push(trial.planned.number);
        self.screen.skip(trial.load_time());
        true
    }

    fn found(&mut self, found: FoundMax) -> Result<(), Failure> {
        self.result.searches.push(found);
        self.dir
            .write_result(&self.result)
            .map_err(Failure::interrupted)
    }

    fn progress(&mut self, news: Progress<'_>) {
        let screen = &mut self.screen;
        match news {
            Progress::Stage(what) => screen.stage(what),
            Progress::Note(text) => {
                if self.noted.insert(text.to_owned()) {
                    screen.line(&format!("note: {text}"));
                }
            }
            Progress::Preparing(news) => screen.preparing(news),
            Progress::Prepared(prepared) => screen.prepared(prepared),
            Progress::Connecting { open, users } => screen.connecting(open, users),
            Progress::Event(event) => screen.line(&format!("event: {event}")),
            Progress::Fault(fault) => {
                let line = format!("fault: {fault}");
                // A record is passed on whenever any of its fields changes.
                let open = self.open.get_mut(&self.current);
                let known = open.map(|open| open.faults.insert(fault.place(), line.clone()));
                if known.flatten().as_ref() != Some(&line) {
                    screen.line(&line);
                }
            }
            Progress::Draining { running } => screen.draining(running),
            Progress::Searching(line) => screen.line(line),
            Progress::Second(second, kinds) => {
                self.store(|files| files.second(second, kinds));
                self.screen.second(second, self.open.len());
            }
            Progress::InstanceSecond(instance, second, kinds) => {
                self.store(|files| files.instance_second(instance, second, kinds));
            }
            Progress::Monitored(point) => self.store(|files| files.monitored(point)),
            Progress::FaultSeries(series) => self.store(|files| files.fault_series(series)),
        }
    }
}
