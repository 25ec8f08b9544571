//! `dyno plan STUDY`: what a study would do, and whether this host can.

use std::collections::BTreeSet;
use std::time::Duration;

use data::Mode;
use lab::needs::{self, Asked, Needs};
use lab::{Lab, Place, Trial, shown_bytes};

use crate::cli::StudyArgs;
use crate::console::print;
use crate::disks::{self, Demand};
use crate::failure::{Exit, Failure};
use crate::study_file::Meant;

/// Lists the trials with what they need; starts nothing.
pub(crate) fn plan(args: &StudyArgs) -> Result<(), Failure> {
    let meant = Meant::read(args)?;
    let lab = Lab::default();
    let trials = meant.trials(&lab)?;
    let budget = Budget::of(&meant, &lab, &trials)?;
    print(&budget.table(&meant, &trials))?;
    budget.refuse(&meant)
}

/// Refuses a study for which this host has too little disk or memory.
pub(crate) fn refuse_what_cannot_be(
    meant: &Meant,
    lab: &Lab,
    trials: &[Trial],
) -> Result<(), Failure> {
    Budget::of(meant, lab, trials)?.refuse(meant)
}

/// What the trials need, and what is there.
struct Budget {
    /// Of each trial.
    needs: Vec<Needs>,
    /// Of each disk, the cache's first.
    disks: Vec<Demand>,
    available_memory_bytes: u64,
}

impl Budget {
    /// Also makes sure that every server that is asked for is installed, and that there
    /// are the CPUs and the disk that are asked for.
    fn of(meant: &Meant, lab: &Lab, trials: &[Trial]) -> Result<Self, Failure> {
        let mut built = BTreeSet::new();
        let needs = trials.iter().map(|trial| {
            let needs = needs(lab, trial).map_err(|failure| meant.located(failure))?;
            // Of trials on the same data only the first builds it.
            let data = format!("{:?} {:?} {}", trial.workload, trial.options, trial.seed);
            Ok(match built.insert(data) {
                true => needs,
                false => without_build(needs),
            })
        });
        let mut needs = needs.collect::<Result<Vec<_>, Failure>>()?;
        let disks = disks::demands(lab, trials, &mut needs);
        Ok(Self {
            disks: disks.map_err(|failure| meant.located(failure))?,
            needs,
            available_memory_bytes: needs::available_memory()?,
        })
    }

    fn memory_bytes(&self) -> u64 {
        let each = self.needs.iter().map(|needs| needs.memory_bytes);
        each.max().unwrap_or(0)
    }

    fn time(&self) -> Duration {
        self.needs.iter().map(|needs| needs.time).sum()
    }

    fn refuse(&self, meant: &Meant) -> Result<(), Failure> {
        for disk in &self.disks {
            disk.check().map_err(|failure| meant.located(failure))?;
        }
        let (needed, there) = (self.memory_bytes(), self.available_memory_bytes);
        if needed <= there {
            return Ok(());
        }
        let message = format!(
            "the study needs {} of memory, and {} are there",
            shown_bytes(needed),
            shown_bytes(there)
        );
        let remedy = "ask for fewer instances or a smaller innodb_buffer_pool_size";
        Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)))
    }

    fn table(&self, meant: &Meant, trials: &[Trial]) -> String {
        let plan = &meant.plan;
        let mut text = format!("{}\n\n", plan.title);
        let width = trials.iter().map(|t| t.label.chars().count()).max();
        let width = width.unwrap_or(0).max("trial".len());
        text.push_str(&format!(
            "{:>5}  {:<width$}  {:>9}  {:>9}  {:>9}\n",
            "", "trial", "time", "disk", "memory"
        ));
        for (trial, needs) in trials.iter().zip(&self.needs) {
            text.push_str(&format!(
                "{:>5}  {:<width$}  {:>9}  {:>9}  {:>9}\n",
                trial.number,
                trial.label,
                shown_time(needs.time),
                shown_bytes(needs.disk_bytes),
                shown_bytes(needs.memory_bytes)
            ));
        }
        text.push_str(&format!(
            "\n{} {} in all, {}\n",
            work(trials.len(), meant),
            shown_time(self.time()),
            plan.order
        ));
        text.push_str(&shown_sizes(plan));
        text.extend(self.disks.iter().map(Demand::line));
        text.push_str(&format!(
            "memory: {} at most, {} are there",
            shown_bytes(self.memory_bytes()),
            shown_bytes(self.available_memory_bytes)
        ));
        if trials.iter().any(has_settings) {
            text.push_str("\nserver.config: dyno run checks it before the first trial");
        }
        text
    }
}

/// `4 trials, about`, or how many searches, at most; a time is to follow.
pub(crate) fn work(count: usize, meant: &Meant) -> String {
    let most = lab::most_trials();
    match (meant.searches(), count) {
        (true, 1) => format!("a search of at most {most} trials, at most"),
        (true, _) => format!("{count} searches of at most {most} trials each, at most"),
        (false, 1) => "1 trial, about".to_owned(),
        (false, _) => format!("{count} trials, about"),
    }
}

/// Which sizes the study can have, and which it has; nothing for one without sizes.
fn shown_sizes(plan: &study::Plan) -> String {
    let others = plan
        .sizes
        .iter()
        .filter(|name| plan.size.as_ref() != Some(name));
    let others: Vec<_> = others.map(|name| format!("--set sizes={name}")).collect();
    match (&plan.size, others.is_empty()) {
        (None, true) => String::new(),
        (None, false) => format!("sizes:  as written; or with {}\n", others.join(", ")),
        (Some(size), true) => format!("sizes:  {size}\n"),
        (Some(size), false) => format!("sizes:  {size}; or with {}\n", others.join(", ")),
    }
}

/// What one trial needs of this host.
fn needs(lab: &Lab, trial: &Trial) -> Result<Needs, lab::Failure> {
    let Place::Private(spec) = &trial.place else {
        return Ok(Needs {
            time: trial.load_time(),
            build_time: Duration::ZERO,
            disk_bytes: 0,
            template_bytes: 0,
            memory_bytes: 0,
        });
    };
    let installed = lab::installed(spec)?;
    lab.check_platform(spec)?;
    let config = lab::config(spec);
    let cached = lab::template::cached(
        lab.home()?,
        &installed,
        &trial.wanted(Mode::Missing),
        &config,
    )?;
    Ok(needs::of(&Asked {
        engine: installed.engine,
        config: &config,
        instances: trial.instances,
        connections: trial.load.users,
        rows: u64::from(trial.options.tables) * trial.options.rows,
        load: trial.load_time(),
        template_bytes: cached.map(|(bytes, _)| bytes),
    }))
}

/// Whether the study has settings for the servers of a trial.
fn has_settings(trial: &Trial) -> bool {
    matches!(&trial.place, Place::Private(spec) if !spec.config.is_empty())
}

fn without_build(needs: Needs) -> Needs {
    Needs {
        time: needs.time - needs.build_time,
        build_time: Duration::ZERO,
        disk_bytes: needs.disk_bytes - needs.template_bytes,
        template_bytes: 0,
        ..needs
    }
}

/// To whole seconds: it is an estimate.
fn shown_time(time: Duration) -> String {
    study::format_duration(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}
