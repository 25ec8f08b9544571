//! How many servers a load needs, from the throughput of one server with one or more instances.
//!
//! ```text
//! result -> rows (the best point of each number of instances) -> plan -> sheet, csv, json
//! ```

use measure::interval::{Estimate, picked};
use measure::point_estimate::PointEstimate;
use measure::result::{Design, RunResult};
use measure::scale::{Observation, Scaling, scaling};
use measure::size::{self, Choice, Need, efficiency, plan};
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::answer::{Answer, AnswerError};
use crate::cell::FEW;
use crate::figures::{Figures, captions};
use crate::grid::{Columns, Grid};
use crate::keys::trials_of;
use crate::list::{around, clause, joined_any};
use crate::metric_comparison::is_open_loop;
use crate::point::{self, Contest, Measured, Wanted};
use crate::sheet::{Block, Sheet};
use crate::{findings, number};

/// The key that varies how many instances run at once.
const INSTANCES: &str = "topology.instances";

const CELLS: &str = "For each number of instances on a server: their total throughput, and the \
                     number of such servers that the load needs. ±: half width of the 95 % \
                     confidence interval, over the n trials, or over the seconds of a single one. \
                     In parentheses: the confidence interval of a single trial's percentile, and \
                     that of the number of servers. Saved: relative to servers with one instance \
                     each.";

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub need_per_s: f64,
    /// Share of its throughput that each server adds (above 0, up to 1); `None`: as the
    /// scalability law over the instances suggests.
    pub efficiency: Option<f64>,
    pub price: Option<f64>,
    pub point: &'a Wanted,
}

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

#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    choice: Choice,
    #[serde(flatten)]
    best: Measured,
}

impl Sizing {
    /// Plans with the best point in throughput of each number of instances.
    pub fn of(result: &RunResult, question: &Question<'_>) -> Result<Self, AnswerError> {
        point::check(question.point, [result])?;
        let contests = point::contests(result, question.point, &[]);
        let (measured, best): (Vec<_>, Vec<Measured>) = contests.iter().filter_map(best).unzip();
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
        let all = trials_of(result);
        cautions.extend(findings::cautions(None, result, &all, &planned_with));
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

/// A number of instances with its throughput, and its best point; `None` without any throughput.
fn best(contest: &Contest<'_>) -> Option<((u32, Estimate), Measured)> {
    let best = point::best(&contest.points)?;
    let per_s = PointEstimate::of(&best.trials, "tps").mean;
    let per_s = per_s.filter(|per_s| per_s.value > 0.0)?;
    let mut measured = Measured::of(best);
    let per_s = picked(per_s, measured.n, contest.points.len());
    (measured.tps.estimate, measured.tps.range) = (Some(per_s), None);
    Some(((contest.instances, per_s), measured))
}

fn law(measured: &[(u32, Estimate)], best: &[Measured]) -> Result<Scaling, AnswerError> {
    if let [(only, _)] = measured {
        return Err(AnswerError::NoSweep(instances(*only)));
    }
    let points = measured.iter().zip(best);
    let trials = points.flat_map(|((instances, _), best)| {
        let trials = best.trials.iter();
        trials.filter_map(|trial| Observation::of(trial, f64::from(*instances)))
    });
    Ok(scaling(&trials.collect::<Vec<_>>())?)
}

fn cautions(rows: &[Row]) -> Vec<String> {
    let named = |holds: &dyn Fn(&Row) -> bool| {
        let such = rows.iter().filter(|row| holds(row));
        joined_any(such.map(|row| row.choice.instances.to_string()), ", ")
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
    let open = named(&|row| is_open_loop(&row.best.trials)).map(|instances| {
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
        planned.point = ::plan::Point::from_iter([(INSTANCES, planned.topology.instances)]);
    }
    RunResult {
        environment: result.environment.clone(),
        design: Design {
            axes: vec![INSTANCES.to_owned()],
            ..Design::default()
        },
        trials,
        ..RunResult::default()
    }
}

impl Answer for Sizing {
    fn sheet(&self) -> Sheet {
        let mut blocks = Vec::from(self.words().map(Block::Words));
        blocks.push(Block::Table(self.grid()));
        let by = Some("by number of instances");
        blocks.extend(captions::of_sweep(&self.measured, by));
        let title = format!("Servers for {} tps", typed(self.need_per_s));
        let version = &self.measured.environment.dyno_version;
        Sheet::answer(title, version, self.lead(), &self.cautions, blocks)
    }

    fn csv(&self) -> String {
        let columns = Columns::<&Row>::new()
            .with("instances", |row| row.choice.instances)
            .with("at", |row| &row.best.at)
            .measured_csv(|row| &row.best)
            .with("n", |row| row.best.n)
            .estimate("efficiency", |_| Some(self.efficiency))
            .with("servers", |row| row.choice.servers)
            .with("servers.fewest", |row| Some(row.choice.range?.fewest))
            .with("servers.most", |row| row.choice.range?.most)
            .with("saved", |row| row.choice.saved)
            .with("price", |row| row.choice.price);
        columns.csv(&self.choices)
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::overview_of(&self.measured, None))
    }
}

impl Sizing {
    fn best(&self) -> Option<Choice> {
        let choices: Vec<Choice> = self.choices.iter().map(|row| row.choice).collect();
        size::best(&choices).copied()
    }

    fn lead(&self) -> String {
        let Some(best) = self.best() else {
            return String::new();
        };
        let need = typed(self.need_per_s);
        let open = around(" (", &servers_interval(&best).unwrap_or_default(), ")");
        let mut choices = self.choices.iter().map(|row| &row.choice);
        let alone = choices.find(|choice| choice.instances == 1);
        let unknown = |what| format!(". The savings are unknown, because {what} measured");
        let against = match alone {
            None => unknown("a single instance was not"),
            Some(_) if self.choices.len() == 1 => unknown("only a single instance was"),
            Some(alone) if alone.servers == best.servers => {
                ". More instances per server save nothing".to_owned()
            }
            Some(alone) => format!(
                ", instead of {}: {} % saved",
                servers(alone),
                percent(&best)
            ),
        };
        let price = best.price.map(|price| match alone {
            Some(alone) if alone.servers != best.servers => format!(
                " They cost {} instead of {}.",
                typed(price),
                alone.price.map(typed).unwrap_or_default()
            ),
            _ => format!(" They cost {}.", typed(price)),
        });
        format!(
            "{need} transactions per second need {}{open}{against}.{}{}",
            servers(&best),
            price.unwrap_or_default(),
            self.faster(&best).unwrap_or_default()
        )
    }

    /// The choice with the same number of servers and the shortest response time.
    fn faster(&self, best: &Choice) -> Option<String> {
        let mean = |row: &Row| row.best.mean_ms.value();
        let rows = self.choices.iter();
        let best_ms = mean(rows.clone().find(|row| row.choice == *best)?)?;
        let others = rows.filter(|row| row.choice.servers == best.servers);
        let others = others.filter_map(|row| Some((row, mean(row)?)));
        let (row, ms) = others.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
        (ms < best_ms).then(|| {
            format!(
                " The same number of servers with {} each has less headroom, but a mean response \
                 time of {} instead of {} ms.",
                instances(row.choice.instances),
                number::value(ms),
                number::value(best_ms)
            )
        })
    }

    fn words(&self) -> [String; 2] {
        let efficiency = self.efficiency;
        let sum = self.best().map_or(String::new(), |best| {
            let exact = self.need_per_s / (best.per_s.value * efficiency.value);
            format!(
                ": {} / ({} × {}) = {exact:.2}, rounded up to {}",
                typed(self.need_per_s),
                number::value(best.per_s.value),
                typed(efficiency.value),
                number::count(best.servers)
            )
        });
        let from = match &self.law {
            None => format!(
                "The efficiency of {} was given: the share of its own throughput that each server adds.",
                typed(efficiency.value)
            ),
            Some(law) => self.by_law(law),
        };
        [
            format!("Servers = need / (throughput of one server × efficiency){sum}."),
            from,
        ]
    }

    fn by_law(&self, law: &Scaling) -> String {
        let least = clause(law.contention.value <= 0.0, "the lower bound of ");
        format!(
            "The efficiency of {} is {least}1 − σ of the Universal Scalability Law fitted to these \
             numbers of instances (σ {}, κ {}, R² {:.3}). This assumes that servers contend with \
             each other as instances on one server do. If you have measured several servers, or \
             want headroom, set --efficiency.",
            number::estimate(Some(self.efficiency)),
            number::share(law.contention),
            number::share(law.coherency),
            law.r_squared
        )
    }

    fn grid(&self) -> Grid {
        let at = self.choices.iter().any(|row| !row.best.at.is_empty());
        let columns = Columns::<&Row>::new()
            .key("instances", |row| row.choice.instances)
            .when(at, |columns| columns.key("best at", |row| &row.best.at))
            .measured(|row| &row.best)
            .with("n", |row| row.best.n)
            .with("servers", |row| {
                let interval = servers_interval(&row.choice).unwrap_or_default();
                number::count(row.choice.servers) + &around(" (", &interval, ")")
            })
            .with("saved %", |row| percent(&row.choice))
            .when(self.price.is_some(), |columns| {
                columns.with("price", |row| row.choice.price.map(typed))
            });
        let cells = self.choices.iter();
        let mut cells = cells.flat_map(|row| [row.best.mean_ms, row.best.p99_ms]);
        let few = clause(cells.any(|cell| cell.has_few_trials()), FEW);
        columns.grid(format!("{CELLS} {few}").trim_end(), &self.choices)
    }
}

/// `one instance`, `6 instances`.
fn instances(number: u32) -> String {
    match number {
        1 => "one instance".to_owned(),
        several => format!("{several} instances"),
    }
}

/// `9 servers of one instance`, `4 servers of 6 instances each`.
fn servers(choice: &Choice) -> String {
    let each = clause(choice.servers > 1 && choice.instances > 1, " each");
    let servers = number::counted(choice.servers, "server");
    format!("{servers} of {}{each}", instances(choice.instances))
}

/// The confidence interval of the number of servers, if it has more than one number.
fn servers_interval(choice: &Choice) -> Option<String> {
    let range = choice.range?;
    let fewest = number::count(range.fewest);
    match range.most {
        None => Some(format!("at least {fewest}")),
        Some(most) if most == range.fewest => None,
        Some(most) => Some(format!("{fewest} to {}", number::count(most))),
    }
}

fn percent(choice: &Choice) -> String {
    let saved = choice.saved.map(|saved| format!("{:.0}", 100.0 * saved));
    saved.unwrap_or_else(|| number::ABSENT.to_owned())
}

/// A number as somebody gives it: `17,000`, `0.9`.
fn typed(value: f64) -> String {
    let text = number::value(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
