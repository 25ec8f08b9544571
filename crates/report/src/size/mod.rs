//! How many servers a load needs, from the throughput of one server with one or more instances.
//!
//! ```text
//! result -> rows (the best point of each number of instances) -> plan -> sheet, csv, json
//! ```

mod rows;
mod show;

use measure::interval::Estimate;
use measure::result::{Design, RunResult};
use measure::scale::{NoLaw, Observation, Scaling, scaling};
use measure::size::{Capacity, Need, NoPlan, efficiency, plan};
use plan::Point;
use serde::Serialize;

use crate::point::{self, NoSuchKey};
use crate::result_cautions;
use crate::{findings, keys};
use rows::{INSTANCES, Row};

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
    pub point: &'a [(String, String)],
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

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// A point was asked for that is not there.
    #[error(transparent)]
    NoSuchKey(#[from] NoSuchKey),
    /// Nothing is left to plan with.
    #[error("no trial has a valid throughput{}", point::at(.0))]
    Nothing(Vec<(String, String)>),
    /// There are no two numbers of instances.
    #[error(
        "all trials ran {0} on the server, so its scalability and the efficiency of further servers \
         are unknown"
    )]
    NoSweep(String),
    /// The efficiency cannot be taken from the law.
    #[error("the efficiency is unknown because no scalability law was fitted: {0}")]
    NoLaw(#[from] NoLaw),
    /// The data do not bound the contention.
    #[error(
        "the efficiency is unknown: the fitted contention (σ) is 0, but the data do not bound it"
    )]
    UnknownEfficiency,
    /// The question makes no sense.
    #[error(transparent)]
    NoPlan(#[from] NoPlan),
}

impl SizeError {
    /// Whether an efficiency that is given would do.
    pub fn wants_efficiency(&self) -> bool {
        matches!(
            self,
            Self::NoSweep(_) | Self::NoLaw(_) | Self::UnknownEfficiency
        )
    }
}

impl Sizing {
    /// Plans with the best point in throughput of each number of instances.
    pub fn of(result: &RunResult, question: &Question<'_>) -> Result<Self, SizeError> {
        let axes = keys::axes(result);
        point::check(question.point, &axes)?;
        let mut choices = rows::rows(result, question.point);
        if choices.is_empty() {
            return Err(SizeError::Nothing(question.point.to_vec()));
        }
        let law = match question.efficiency {
            Some(_) => None,
            None => Some(law(&choices)?),
        };
        let given = Estimate::exact(question.efficiency.unwrap_or(1.0));
        let need = Need {
            per_s: question.need_per_s,
            efficiency: match &law {
                None => given,
                Some(law) => efficiency(law).ok_or(SizeError::UnknownEfficiency)?,
            },
            price: question.price,
        };
        let capacities = choices.iter().map(|row| Capacity {
            instances: row.choice.instances,
            per_s: row.choice.per_s,
        });
        let capacities: Vec<Capacity> = capacities.collect();
        for (row, choice) in choices.iter_mut().zip(plan(&capacities, &need)?) {
            row.choice = choice;
        }
        let mut cautions = rows::cautions(&choices);
        cautions.extend(findings::left_out(result));
        let planned_with = choices.iter().flat_map(|row| &row.trials);
        cautions.extend(result_cautions::of(
            &planned_with.collect::<Vec<_>>(),
            result,
        ));
        Ok(Self {
            need_per_s: need.per_s,
            price: need.price,
            efficiency: need.efficiency,
            law,
            measured: measured(result, &choices),
            choices,
            cautions,
        })
    }
}

fn law(rows: &[Row]) -> Result<Scaling, SizeError> {
    if let [only] = rows {
        return Err(SizeError::NoSweep(show::instances(only.choice.instances)));
    }
    let points = rows.iter().flat_map(|row| {
        let size = f64::from(row.choice.instances);
        row.trials.iter().filter_map(move |trial| {
            let per_s = trial.transactions.per_s?;
            Some(Observation {
                size,
                per_s: per_s.value,
                half_width: per_s.half_width,
                block: trial.setup.planned.repeat,
            })
        })
    });
    Ok(scaling(&points.collect::<Vec<_>>())?)
}

/// The trials of the plan, as a sweep over nothing but the number of instances.
fn measured(result: &RunResult, rows: &[Row]) -> RunResult {
    let mut trials: Vec<_> = rows.iter().flat_map(|row| row.trials.clone()).collect();
    for trial in &mut trials {
        trial.setup.planned.point =
            Point::from([(INSTANCES, trial.setup.planned.topology.instances)]);
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
