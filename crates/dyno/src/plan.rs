//! `dyno plan STUDY`: what a study would do, and whether this host can run it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::data::Mode;
use lab::needs::{self, Needs};
use lab::template::Templates;
use lab::{Lab, Target, Trial, shown_bytes};
use plan::{Alternate, Fleet, Nats, Reset};

use crate::cli::StudyArgs;
use crate::console::print;
use crate::disks::{self, DiskDemand};
use crate::failure::Failure;
use crate::study_file::PlannedStudy;
use crate::{fault_schedule, noise, starts};

/// Conditions that only `dyno run` checks, before its first trial.
const NOT_CHECKED: &str =
    "\nnot checked: server versions and settings, CPU quotas, ports (dyno plan starts nothing)";
const HOSTS_NOT_CHECKED: &str = "\nother hosts: dyno run checks their programs, disk space, and memory; the figures above are this host's";

/// Lists the trials and their needs. Starts nothing and changes no file.
pub(crate) fn plan(args: &StudyArgs) -> Result<(), Failure> {
    let study = PlannedStudy::read(args)?;
    let mut trials = study.trials_without_files(&Lab::default())?;
    let cache = lab::disk_of_cache()?;
    let budget = Budget::settled(&study, &cache, &mut trials, None);
    let budget = budget.map_err(|failure| study.located(failure))?;
    let mut table = budget.table(&study, &trials);
    let fleets = trials
        .iter()
        .filter_map(|trial| trial.planned.load.fleet.as_ref());
    if let Some(Fleet { agents, nats }) = fleets.max_by_key(|fleet| fleet.agents.count()) {
        let nats = match nats {
            Nats::Url(url) => format!("the nats-server {}", url.value),
            Nats::Private { .. } => "a nats-server that dyno starts".to_owned(),
        };
        let count = agents.count();
        table.push_str(&format!(
            "\nagents: up to {count}, over {nats}; dyno run waits for them"
        ));
    }
    let is_private = |trial: &Trial| matches!(trial.target, Target::Private(_));
    if trials.iter().any(is_private) {
        table.push_str(NOT_CHECKED);
    }
    if trials.iter().any(Trial::is_elsewhere) {
        table.push_str(HOSTS_NOT_CHECKED);
    }
    print(&table)?;
    budget.refuse().map_err(|failure| study.located(failure))
}

/// Settles what the study leaves to dyno, unless it `is_settled`. Fails if this host has too little
/// disk space or memory or too few CPUs, or if a server is not installed.
pub(crate) fn settle(
    study: &PlannedStudy,
    lab: &Lab,
    trials: &mut Vec<Trial>,
    is_settled: bool,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let platform = Some((lab, interrupted));
    let cache = lab.home()?.root();
    let budget = match is_settled {
        true => Budget::of(cache, trials, platform),
        false => Budget::settled(study, cache, trials, platform),
    };
    let settled = budget.and_then(|budget| budget.refuse());
    settled.map_err(|failure| study.located(failure))
}

/// The laboratory whose platform is checked, and whether the user has interrupted the check.
type Platform<'a> = (&'a Lab, &'a AtomicBool);

/// What the trials need, and what is available.
struct Budget {
    /// One entry per trial; its disk space and memory include those of all trials that run concurrently.
    needs: Vec<Needs>,
    /// For each disk, with that of the cache first.
    disks: Vec<DiskDemand>,
    available_memory_bytes: u64,
}

impl Budget {
    /// The budget of trials. If the study leaves the choice to dyno, they do not take turns on a host
    /// that cannot run the servers of all variants at once. The number of starts is limited
    /// to `compare.budget`, which must allow at least one.
    fn settled(
        study: &PlannedStudy,
        cache: &Path,
        trials: &mut Vec<Trial>,
        platform: Option<Platform<'_>>,
    ) -> Result<Self, Failure> {
        let mut settled = trials.clone();
        noise::set_time(study, &mut settled);
        let mut budget = Self::of(cache, &settled, platform)?;
        let mut compares = study.plan.trials.iter().filter_map(|trial| trial.compare);
        let is_open = compares.any(|compare| compare.alternate == Alternate::Auto);
        if !is_open || budget.refuse().is_ok() {
            *trials = settled;
        } else {
            // Whole trials keep the study's length.
            lab::alternate(trials, false);
            budget = Self::of(cache, trials, platform)?;
        }
        starts::limit(study, trials, &budget.needs)?;
        // Repeats are the outermost blocks of a study, so the trials that were dropped were the last.
        budget.needs.truncate(trials.len());
        Ok(budget)
    }

    /// The budget of trials on this host with this cache. Without a platform, nothing is started.
    fn of(cache: &Path, trials: &[Trial], platform: Option<Platform<'_>>) -> Result<Self, Failure> {
        if let Some((lab, interrupted)) = platform {
            lab.check_hosts(trials, interrupted)?;
        }
        let mut built = BTreeSet::new();
        let needs = trials.iter().map(|trial| {
            let needs = needs(platform, trial)?;
            let program = match &trial.target {
                Target::Private(spec) => {
                    let (basedir, version) = (spec.basedir.as_deref(), spec.version.as_deref());
                    Some((spec.engine.as_str(), basedir, version))
                }
                Target::Given(_) | Target::Temporary(_) => None,
            };
            let data = format!(
                "{program:?} {:?} {:?} {}",
                trial.workload, trial.options, trial.planned.data.seed
            );
            // The first trial that needs a template builds it. A rebuild leaves none.
            Ok(match needs.build_time.is_zero() || built.insert(data) {
                true => needs,
                false => without_build(needs),
            })
        });
        let mut needs = needs.collect::<Result<Vec<_>, Failure>>()?;
        let together: Vec<Vec<usize>> = trials.iter().map(|one| one.together(trials)).collect();
        Ok(Self {
            disks: disks::demands(cache, trials, &together, &mut needs)?,
            needs: at_once(&needs, &together),
            available_memory_bytes: needs::available_memory(&host::LOCAL)?,
        })
    }

    fn memory_bytes(&self) -> u64 {
        let each = self.needs.iter().map(|needs| needs.memory_bytes);
        each.max().unwrap_or(0)
    }

    fn time(&self) -> Duration {
        self.needs.iter().map(|needs| needs.time).sum()
    }

    fn refuse(&self) -> Result<(), Failure> {
        self.disks.iter().try_for_each(DiskDemand::check)?;
        let (needed, available) = (self.memory_bytes(), self.available_memory_bytes);
        if needed <= available {
            return Ok(());
        }
        let message = format!(
            "the study needs {} of memory; only {} is available",
            shown_bytes(needed),
            shown_bytes(available)
        );
        let remedy = "use fewer instances or smaller buffer pools";
        Err(Failure::usage(message).remedy(remedy))
    }

    fn table(&self, study: &PlannedStudy, trials: &[Trial]) -> String {
        let plan = &study.plan;
        let mut text = format!("{}\n\n", plan.title);
        let width = trials.iter().map(|t| t.planned.label.chars().count()).max();
        let width = width.unwrap_or(0).max("trial".len());
        text.push_str(&format!(
            "{:>5}  {:<width$}  {:>9}  {:>9}  {:>9}\n",
            "", "trial", "time", "disk", "memory"
        ));
        for (trial, needs) in trials.iter().zip(&self.needs) {
            let time = match has_time_limit(trial) {
                true => shown_time(needs.time),
                false => "unknown".to_owned(),
            };
            text.push_str(&format!(
                "{:>5}  {:<width$}  {:>9}  {:>9}  {:>9}\n",
                trial.planned.number,
                trial.planned.label,
                time,
                shown_bytes(needs.disk_bytes),
                shown_bytes(needs.memory_bytes)
            ));
        }
        text.push_str(&format!(
            "\n{}, {} in total, {}\n",
            work(trials),
            time_bound(trials, self.time()),
            plan.order
        ));
        text.push_str(&shown_sizes(plan));
        text.extend(self.disks.iter().map(DiskDemand::line));
        text.push_str(&format!(
            "memory: up to {}, {} available",
            shown_bytes(self.memory_bytes()),
            shown_bytes(self.available_memory_bytes)
        ));
        if let Some(line) = noise::plan_line(study, trials) {
            text.push_str(&format!("\n{line}"));
        }
        if trials.iter().any(has_settings) {
            text.push_str("\nserver.config: dyno run checks it before the first trial");
        }
        let faults = fault_schedule::shown(plan);
        if !faults.is_empty() {
            text.push_str(&format!("\n{faults}"));
        }
        text
    }
}

/// `4 trials`, or the number of searches.
pub(crate) fn work(trials: &[Trial]) -> String {
    let most = lab::MAX_SEARCH_TRIALS;
    match (trials.iter().any(searches), trials.len()) {
        (true, 1) => format!("a search of at most {most} trials"),
        (true, count) => format!("{count} searches of at most {most} trials each"),
        (false, count) if trials.iter().any(may_be_decided) => format!("at most {count} trials"),
        (false, 1) => "1 trial".to_owned(),
        (false, count) => format!("{count} trials"),
    }
}

/// `about 5m under load`.
pub(crate) fn load_time(trials: &[Trial]) -> String {
    let time = trials.iter().map(Trial::load_time).sum();
    format!("{} under load", time_bound(trials, time))
}

/// The time that trials take, and how exactly it is known: `about 5m`.
fn time_bound(trials: &[Trial], time: Duration) -> String {
    let may_end_early = |trial: &Trial| {
        let load = &trial.planned.load;
        load.events.is_some() || load.until.is_some() || searches(trial) || may_be_decided(trial)
    };
    if !trials.iter().all(has_time_limit) {
        "unknown time".to_owned()
    } else if trials.iter().any(may_end_early) {
        format!("at most {}", shown_time(time))
    } else {
        format!("about {}", shown_time(time))
    }
}

fn has_time_limit(trial: &Trial) -> bool {
    trial.planned.load.longest().is_some()
}

fn searches(trial: &Trial) -> bool {
    trial.planned.load.find_max.is_some()
}

/// Whether an earlier start of its point may decide the comparison.
fn may_be_decided(trial: &Trial) -> bool {
    trial.planned.compare.is_some()
}

/// The chosen size and the other ones; empty for a study without sizes.
fn shown_sizes(plan: &plan::Plan) -> String {
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

fn needs(platform: Option<Platform<'_>>, trial: &Trial) -> Result<Needs, Failure> {
    let Target::Private(spec) = &trial.target else {
        return Ok(Needs {
            time: trial.load_time(),
            ..Needs::default()
        });
    };
    let (topology, wanted) = (&trial.planned.topology, trial.wanted(Mode::Missing));
    let template_bytes = match platform {
        None => lab::preview(spec, topology, &wanted)?,
        Some((lab, interrupted)) => {
            let installed = lab::installed(spec)?;
            if !trial.is_elsewhere() {
                lab.check_platform(spec, topology, interrupted)?;
            }
            let templates = Templates::new(lab.home()?, &installed, &lab::config(spec))?;
            templates.cached_bytes(&wanted)?
        }
    };
    let needs = match spec.reset {
        Reset::Rebuild => rebuilt(needs::of(trial, spec, None)?, topology.instances),
        Reset::Copy | Reset::None => needs::of(trial, spec, template_bytes)?,
    };
    let each = needs.memory_bytes / u64::from(topology.nodes().max(1));
    match &topology.node.site.limits.memory {
        Some(limit) if limit.value < each => return Err(too_little_memory(limit, each)),
        _ => {}
    }
    if !trial.is_elsewhere() {
        return Ok(needs);
    }
    if let Some((lab, _)) = platform {
        lab.check_room(spec, topology, &needs)?;
    }
    // What the hosts have is no need of this one, where only the template is.
    Ok(Needs {
        disk_bytes: needs.template_bytes,
        log_bytes: 0,
        memory_bytes: 0,
        ..needs
    })
}

fn too_little_memory(limit: &plan::Spanned<u64>, needed_bytes: u64) -> Failure {
    Failure::usage(format!(
        "cannot enforce site.memory: a server needs {}; the limit is {}",
        shown_bytes(needed_bytes),
        shown_bytes(limit.value)
    ))
    .remedy("raise the limit, or use a smaller buffer pool")
    .span(limit.span)
}

/// Whether the study configures the servers of a trial.
fn has_settings(trial: &Trial) -> bool {
    matches!(&trial.target, Target::Private(spec) if !spec.config.is_empty())
}

/// Adds up disk space and memory of the trials that run concurrently; times are not added.
fn at_once(needs: &[Needs], together: &[Vec<usize>]) -> Vec<Needs> {
    let sum = |together: &[usize], bytes: fn(&Needs) -> u64| {
        let each = together.iter().map(|index| bytes(&needs[*index]));
        each.fold(0, u64::saturating_add)
    };
    let summed = needs.iter().zip(together).map(|(own, together)| Needs {
        disk_bytes: sum(together, |one| one.disk_bytes),
        memory_bytes: sum(together, |one| one.memory_bytes),
        ..*own
    });
    summed.collect()
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

/// The needs of a trial that builds the data of each instance anew, whatever is in the cache.
fn rebuilt(needs: Needs, instances: u32) -> Needs {
    let without = without_build(needs);
    Needs {
        time: without.time + needs.build_time * instances,
        ..without
    }
}

/// Rounded up to whole seconds, because it is an estimate.
pub(crate) fn shown_time(time: Duration) -> String {
    plan::format_duration(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}
