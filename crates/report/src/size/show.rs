//! The plan as it is shown.

use measure::scale::Scaling;
use measure::size::{Choice, best};

use super::{Row, Sizing};
use crate::answer::Answer;
use crate::columns::Columns;
use crate::figures::{self, Figures};
use crate::grid::Grid;
use crate::number;
use crate::scale::share;
use crate::sheet::{self, Block, Sheet};
use crate::study::of_sweep;

/// What the cells of the table are.
const CELLS: &str = "For each number of instances on a server: their total throughput, and the \
                     number of such servers that the load needs. ±: half width of the 95 % \
                     confidence interval, over the n trials, or over the seconds of a single one. \
                     In parentheses: the confidence interval of a single trial's percentile, and \
                     that of the number of servers. Saved: relative to servers with one instance \
                     each.";

impl Answer for Sizing {
    fn sheet(&self) -> Sheet {
        let mut blocks: Vec<Block> = sheet::words(words(self)).collect();
        blocks.push(Block::Table(grid(self)));
        let sweep = figures::sweep(&self.measured).filter(|_| self.choices.len() > 1);
        let figures = sweep.map(|sweep| of_sweep("by number of instances", &sweep));
        blocks.extend(figures.into_iter().flatten().map(Block::Figure));
        let title = format!("Servers for {} tps", typed(self.need_per_s));
        let version = &self.measured.environment.dyno_version;
        Sheet::answer(title, version, lead(self), &self.cautions, blocks)
    }

    fn csv(&self) -> String {
        let columns = Columns::<&Row>::new()
            .with("instances", |row| row.choice.instances)
            .with("at", |row| &row.best.at)
            .point(|row| (Some(row.choice.per_s), row.best.mean_ms, row.best.p99_ms))
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
        Some(Figures::overview_of(&self.measured))
    }
}

/// `one instance`, `6 instances`.
pub(super) fn instances(number: u32) -> String {
    match number {
        1 => "one instance".to_owned(),
        several => format!("{several} instances"),
    }
}

/// `9 servers of one instance`, `4 servers of 6 instances each`.
fn servers(choice: &Choice) -> String {
    let servers = match choice.servers {
        1 => "1 server".to_owned(),
        several => format!("{} servers", number::count(several)),
    };
    let each = match choice.servers > 1 && choice.instances > 1 {
        true => " each",
        false => "",
    };
    format!("{servers} of {}{each}", instances(choice.instances))
}

/// A number as somebody gives it: `17,000`, `0.9`.
fn typed(value: f64) -> String {
    let text = number::value(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn best_of(sizing: &Sizing) -> Option<Choice> {
    let choices: Vec<Choice> = sizing.choices.iter().map(|row| row.choice).collect();
    best(&choices).copied()
}

fn lead(sizing: &Sizing) -> String {
    let Some(best) = best_of(sizing) else {
        return String::new();
    };
    let need = typed(sizing.need_per_s);
    let open = servers_interval(&best).map_or(String::new(), |open| format!(" ({open})"));
    let mut choices = sizing.choices.iter().map(|row| &row.choice);
    let alone = choices.find(|choice| choice.instances == 1);
    let against = match alone {
        None => ". The savings are unknown, because a single instance was not measured".to_owned(),
        Some(_) if sizing.choices.len() == 1 => {
            ". The savings are unknown, because only a single instance was measured".to_owned()
        }
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
        faster(sizing, &best).unwrap_or_default()
    )
}

/// The choice with the same number of servers and the shortest response time.
fn faster(sizing: &Sizing, best: &Choice) -> Option<String> {
    let mean = |row: &Row| row.best.mean_ms.map(|mean| mean.value);
    let rows = sizing.choices.iter();
    let best_ms = mean(rows.clone().find(|row| row.choice == *best)?)?;
    let others = rows.filter(|row| row.choice.servers == best.servers);
    let others = others.filter_map(|row| Some((row, mean(row)?)));
    let (row, ms) = others.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (ms < best_ms).then(|| {
        format!(
            " The same number of servers with {} each has less headroom, but a mean response time \
             of {} instead of {} ms.",
            instances(row.choice.instances),
            number::value(ms),
            number::value(best_ms)
        )
    })
}

fn words(sizing: &Sizing) -> Vec<String> {
    let efficiency = sizing.efficiency;
    let sum = best_of(sizing).map_or(String::new(), |best| {
        let exact = sizing.need_per_s / (best.per_s.value * efficiency.value);
        format!(
            ": {} / ({} × {}) = {exact:.2}, rounded up to {}",
            typed(sizing.need_per_s),
            number::value(best.per_s.value),
            typed(efficiency.value),
            number::count(best.servers)
        )
    });
    vec![
        format!("Servers = need / (throughput of one server × efficiency){sum}."),
        match &sizing.law {
            None => format!(
                "The efficiency of {} was given: the share of its own throughput that each server adds.",
                typed(efficiency.value)
            ),
            Some(law) => from_law(sizing, law),
        },
    ]
}

fn from_law(sizing: &Sizing, law: &Scaling) -> String {
    let least = match law.contention.value > 0.0 {
        true => "",
        false => "the lower bound of ",
    };
    format!(
        "The efficiency of {} is {least}1 − σ of the Universal Scalability Law fitted to these \
         numbers of instances (σ {}, κ {}, R² {:.3}). This assumes that servers contend with each \
         other as instances on one server do. If you have measured several servers, or want \
         headroom, set --efficiency.",
        number::estimate(Some(sizing.efficiency)),
        share(law.contention),
        share(law.coherency),
        law.r_squared
    )
}

/// The confidence interval of the number of servers, if it has more than one number.
fn servers_interval(choice: &Choice) -> Option<String> {
    let range = choice.range?;
    match range.most {
        None => Some(format!("at least {}", number::count(range.fewest))),
        Some(most) if most == range.fewest => None,
        Some(most) => Some(format!(
            "{} to {}",
            number::count(range.fewest),
            number::count(most)
        )),
    }
}

fn percent(choice: &Choice) -> String {
    let saved = choice.saved.map(|saved| 100.0 * saved);
    saved.map_or(number::ABSENT.to_owned(), |saved| format!("{saved:.0}"))
}

fn grid(sizing: &Sizing) -> Grid {
    let at = sizing.choices.iter().any(|row| !row.best.at.is_empty());
    let columns = Columns::<&Row>::new()
        .key("instances", |row| row.choice.instances)
        .when(at, |columns| columns.key("best at", |row| &row.best.at))
        .with("tps", |row| row.choice.per_s)
        .with("mean ms", |row| row.best.mean_ms)
        .with("p99 ms", |row| row.best.p99_ms)
        .with("n", |row| row.best.n)
        .with("servers", |row| {
            let servers = number::count(row.choice.servers);
            let interval = servers_interval(&row.choice);
            interval.map_or(servers.clone(), |open| format!("{servers} ({open})"))
        })
        .with("saved %", |row| percent(&row.choice))
        .when(sizing.price.is_some(), |columns| {
            columns.with("price", |row| row.choice.price.map(typed))
        });
    columns.grid(CELLS, &sizing.choices)
}
