//! The plan as it is shown.

use measure::scale::Scaling;
use measure::size::{Choice, best};

use super::Sizing;
use super::rows::Row;
use crate::answer::Answer;
use crate::csv_writer::Csv;
use crate::figures::{self, Figures};
use crate::grid::{Grid, heads};
use crate::number;
use crate::scale::share;
use crate::sheet::{self, Block, Figure, Section, Sheet};
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
        blocks.extend(figures(self).into_iter().map(Block::Figure));
        Sheet {
            title: format!("Servers for {} tps", typed(self.need_per_s)),
            version: self.measured.environment.dyno_version.clone(),
            lead: lead(self),
            notices: sheet::cautions(&self.cautions).into_iter().collect(),
            sections: vec![Section::new("", blocks)],
            ..Sheet::default()
        }
    }

    fn csv(&self) -> String {
        let mut csv = Csv::default();
        csv.names("instances at");
        csv.names(Csv::POINT);
        csv.names(
            "n efficiency efficiency.half_width servers servers.fewest servers.most saved price",
        );
        csv.end_line();
        for row in &self.choices {
            line(&mut csv, self, row);
        }
        csv.text
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
    let mean = |row: &Row| row.mean_ms.map(|mean| mean.value);
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
    let at = sizing.choices.iter().any(|row| !row.at.is_empty());
    let mut titles = vec!["instances"];
    titles.extend(at.then_some("best at"));
    let keys = titles.len();
    titles.extend(["tps", "mean ms", "p99 ms", "n", "servers", "saved %"]);
    titles.extend(sizing.price.map(|_| "price"));
    let rows = sizing.choices.iter().map(|row| {
        let choice = &row.choice;
        let mut cells = vec![choice.instances.to_string()];
        cells.extend(at.then(|| row.at.clone()));
        cells.extend([
            number::estimate(Some(choice.per_s)),
            number::estimate(row.mean_ms),
            row.p99_ms.shown(),
            row.n.to_string(),
            servers_cell(choice),
            percent(choice),
        ]);
        cells.extend(choice.price.map(typed));
        cells
    });
    Grid {
        caption: CELLS.to_owned(),
        heads: heads(titles),
        keys,
        rows: rows.collect(),
        ..Grid::default()
    }
}

fn servers_cell(choice: &Choice) -> String {
    let servers = number::count(choice.servers);
    match servers_interval(choice) {
        Some(open) => format!("{servers} ({open})"),
        None => servers,
    }
}

fn figures(sizing: &Sizing) -> Vec<Figure> {
    match sizing.choices.len() {
        1 => Vec::new(),
        _ => figures::sweep(&sizing.measured)
            .map(|sweep| of_sweep("by number of instances", &sweep))
            .unwrap_or_default(),
    }
}

fn line(csv: &mut Csv, sizing: &Sizing, row: &Row) {
    let choice = &row.choice;
    let whole = |number: u64| number as f64;
    csv.count(choice.instances);
    csv.text(&row.at);
    csv.point(Some(choice.per_s), row.mean_ms, &row.p99_ms);
    csv.count(row.n);
    csv.estimate(Some(sizing.efficiency));
    csv.count(choice.servers);
    csv.number(choice.range.map(|range| whole(range.fewest)));
    csv.number(choice.range.and_then(|range| range.most).map(whole));
    csv.number(choice.saved);
    csv.number(choice.price);
    csv.end_line();
}
