//! `dyno plan STUDY`: what a study would do, and whether this host can.

use std::collections::BTreeSet;
use std::time::Duration;

use data::Mode;
use lab::needs::{self, Asked, Available, Needs};
use lab::{Lab, Place, Trial, shown_bytes};

use crate::cli::StudyArgs;
use crate::failure::{Exit, Failure};
use crate::results::print;
use crate::study_file::Meant;

/// Lists the trials with what they need; starts nothing.
pub(crate) fn plan(args: &StudyArgs) -> Result<(), Failure> {
    let meant = Meant::read(args)?;
    let lab = Lab::default();
    let trials = meant.trials(&lab)?;
    let budget = Budget::of(&meant, &lab, &trials)?;
    print(&budget.table(&meant, &trials))?;
    budget.refuse()
}

/// Refuses a study for which this host has too little disk or memory.
pub(crate) fn refuse_what_cannot_be(
    meant: &Meant,
    lab: &Lab,
    trials: &[Trial],
) -> Result<(), Failure> {
    Budget::of(meant, lab, trials)?.refuse()
}

/// What the trials need, and what is there.
struct Budget {
    /// Of each trial.
    needs: Vec<Needs>,
    available: Available,
}

impl Budget {
    /// Also makes sure that every server that is asked for is installed.
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
        Ok(Self {
            needs: needs.collect::<Result<_, Failure>>()?,
            available: needs::available(lab.home()?)?,
        })
    }

    /// The most that one trial needs beside what those before it leave behind.
    fn disk_bytes(&self) -> u64 {
        let mut kept = 0;
        let with_kept = self.needs.iter().map(|needs| {
            let at_once = kept + needs.disk_bytes;
            kept += needs.template_bytes;
            at_once
        });
        with_kept.max().unwrap_or(0)
    }

    fn memory_bytes(&self) -> u64 {
        let each = self.needs.iter().map(|needs| needs.memory_bytes);
        each.max().unwrap_or(0)
    }

    fn time(&self) -> Duration {
        self.needs.iter().map(|needs| needs.time).sum()
    }

    fn refuse(&self) -> Result<(), Failure> {
        let there = &self.available;
        for (what, needed, there, remedy) in [
            (
                "disk",
                self.disk_bytes(),
                there.disk_bytes,
                "ask for fewer rows or instances, free some space, or name another disk with DYNO_CACHE_DIR",
            ),
            (
                "memory",
                self.memory_bytes(),
                there.memory_bytes,
                "ask for fewer instances or a smaller innodb_buffer_pool_size",
            ),
        ] {
            if needed > there {
                let message = format!(
                    "the study needs {} of {what}, and {} are there",
                    shown_bytes(needed),
                    shown_bytes(there)
                );
                return Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)));
            }
        }
        Ok(())
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
            "\n{} trials, about {} in all, {}\n",
            trials.len(),
            shown_time(self.time()),
            plan.order
        ));
        text.push_str(&shown_sizes(plan));
        text.push_str(&format!(
            "disk:   {} at most, {} are there\nmemory: {} at most, {} are there",
            shown_bytes(self.disk_bytes()),
            shown_bytes(self.available.disk_bytes),
            shown_bytes(self.memory_bytes()),
            shown_bytes(self.available.memory_bytes)
        ));
        text
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
