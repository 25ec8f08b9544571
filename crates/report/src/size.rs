//! How many servers a load needs, from the throughput of one server with one or more instances.
//!
//! ```text
//! result -> rows (the best point of each number of instances) -> plan -> sheet, csv, json
//! ```

mod show;

use measure::interval::{Estimate, picked};
use measure::point_estimate::PointEstimate;
use measure::result::{Design, RunResult};
use measure::scale::{Observation, Scaling, scaling};
use measure::size::{Choice, Need, efficiency, plan};
use measure::summary::{TrialSummary, counted};
use serde::Serialize;

use crate::answer::AnswerError;
use crate::cell::Cell;
use crate::point::{self, Contest, Wanted};
use crate::result_cautions;

/// The key that varies how many instances run at once.
const INSTANCES: &str = "topology.instances";

/// What is asked of a result.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The load, in transactions per second.
    pub need_per_s: f64,
    /// Share of its throughput that each server adds (above 0, up to 1); `None`: as the
    /// scalability law over the instances suggests.
    pub efficiency: Option<f64>,
    /// Price of one server, in any currency.
    pub price: Option<f64>,
    /// Only points with these values, each a key and its value.
    pub point: &'a Wanted,
}

/// The plan, and what to know before it is trusted.
#[derive(Debug, Serialize)]
pub struct Sizing {
    need_per_s: f64,
    price: Option<f64>,
    /// Share of its throughput that each server adds.
    efficiency: Estimate,
    /// Where the efficiency is from; `None` when it was given.
    law: Option<Scaling>,
    choices: Vec<Row>,
    cautions: Vec<String>,
    /// What the plan rests on, for the figures.
    #[serde(skip)]
    measured: RunResult,
}

/// One number of instances.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    choice: Choice,
    #[serde(flatten)]
    best: Best,
}

/// The best point of one number of instances.
#[derive(Debug, Serialize)]
struct Best {
    /// At which of several points; empty when there is one.
    at: String,
    /// Trials that the throughput is the mean of.
    n: usize,
    /// Mean response time at that throughput, in milliseconds.
    mean_ms: Option<Estimate>,
    /// Its 99th percentile, in milliseconds.
    p99_ms: Cell,
    #[serde(skip)]
    trials: Vec<TrialSummary>,
}

impl Sizing {
    /// Plans with the best point in throughput of each number of instances.
    pub fn of(result: &RunResult, question: &Question<'_>) -> Result<Self, AnswerError> {
        point::check(question.point, [result])?;
        let contests = point::contests(result, question.point, &[]);
        let (measured, best): (Vec<_>, Vec<Best>) = contests.iter().filter_map(best).unzip();
        if measured.is_empty() {
            return Err(AnswerError::NoThroughput(question.point.to_vec()));
        }
        let law = match question.efficiency {
            Some(_) => None,
            None => Some(law(&measured, &best)?),
        };
        let need = Need {
            per_s: question.need_per_s,
            efficiency: match &law {
                None => Estimate::exact(question.efficiency.unwrap_or(1.0)),
                Some(law) => efficiency(law).ok_or(AnswerError::UnknownEfficiency)?,
            },
            price: question.price,
        };
        let choices = plan(&measured, &need)?.into_iter().zip(best);
        let choices: Vec<Row> = choices.map(|(choice, best)| Row { choice, best }).collect();
        let planned_with: Vec<_> = choices.iter().flat_map(|row| &row.best.trials).collect();
        let mut cautions = cautions(&choices);
        cautions.extend(result_cautions::of(None, result, &planned_with));
        Ok(Self {
            need_per_s: need.per_s,
            price: need.price,
            efficiency: need.efficiency,
            law,
            measured: of_instances(result, planned_with),
            choices,
            cautions,
        })
    }
}

/// A number of instances with its throughput, and the rest of its best point; `None` without any
/// throughput.
fn best(contest: &Contest<'_>) -> Option<((u32, Estimate), Best)> {
    let best = point::best(&contest.points)?;
    let per_s = PointEstimate::of(&best.trials, "tps").mean;
    let per_s = per_s.filter(|per_s| per_s.value > 0.0)?;
    let per_s = picked(per_s, best.tps.n, contest.points.len());
    let rest = Best {
        at: best.name.clone(),
        n: best.tps.n,
        mean_ms: Cell::of(&best.trials, "response_ms.mean").estimate,
        p99_ms: Cell::of(&best.trials, "response_ms.p99"),
        trials: counted(&best.trials).into_iter().cloned().collect(),
    };
    Some(((contest.instances, per_s), rest))
}

fn law(measured: &[(u32, Estimate)], best: &[Best]) -> Result<Scaling, AnswerError> {
    if let [(only, _)] = measured {
        return Err(AnswerError::NoSweep(show::instances(*only)));
    }
    let trials = measured
        .iter()
        .zip(best)
        .flat_map(|((instances, _), best)| {
            let trials = best.trials.iter();
            trials.filter_map(|trial| Observation::of(trial, f64::from(*instances)))
        });
    Ok(scaling(&trials.collect::<Vec<_>>())?)
}

/// What to know of the measurements before the plan is trusted.
fn cautions(rows: &[Row]) -> Vec<String> {
    let named = |holds: &dyn Fn(&Row) -> bool| {
        let such = rows.iter().filter(|row| holds(row));
        let such: Vec<String> = such.map(|row| row.choice.instances.to_string()).collect();
        (!such.is_empty()).then(|| such.join(", "))
    };
    let is_sure = |row: &Row| row.choice.per_s.half_width.is_some();
    let single = named(&|row| row.best.n == 1 && is_sure(row)).map(|instances| {
        format!(
            "Only one trial with {instances} instances: the interval comes from within the trial and \
             excludes run-to-run variation. Repeat the trials (load.repeats)."
        )
    });
    let unsure = named(&|row| !is_sure(row)).map(|instances| {
        format!(
            "Too short for a confidence interval with {instances} instances, so the error of their \
             number of servers is unknown. Measure longer, or repeat the trials (load.repeats)."
        )
    });
    let given = |trial: &TrialSummary| trial.setup.planned.load.rate.is_some();
    let open = named(&|row| row.best.trials.iter().any(given)).map(|instances| {
        format!(
            "The load with {instances} instances was an open loop: its throughput is the arrival \
             rate, and the server may be capable of more. Find the highest rate (find_max), or use \
             a closed loop."
        )
    });
    [single, unsure, open].into_iter().flatten().collect()
}

/// The trials of the plan, as a sweep over nothing but the number of instances.
fn of_instances(result: &RunResult, trials: Vec<&TrialSummary>) -> RunResult {
    let mut trials: Vec<TrialSummary> = trials.into_iter().cloned().collect();
    for planned in trials.iter_mut().map(|trial| &mut trial.setup.planned) {
        planned.point = ::plan::Point::from([(INSTANCES, planned.topology.instances)]);
    }
    RunResult {
        schema_version: result.schema_version,
        environment: result.environment.clone(),
        design: Design {
            axes: vec![INSTANCES.to_owned()],
            ..Design::default()
        },
        trials,
        ..RunResult::default()
    }
}
