//! Means of what the monitors sampled.

use measure::metric::{Metric, MetricSummary, bracketed, split};
use measure::summary::TrialSummary;

use crate::column;
use crate::grid::{Grid, heads};
use crate::number;

/// The metrics of the host and of all servers together; a figure has those of each core, another
/// table those of each server.
pub(super) fn of_all(trial: &TrialSummary) -> Grid {
    let shown = trial.metrics.iter().filter(|(name, _)| {
        let (plain, of) = split(name);
        let one_of_several = of.is_some() && trial.metrics.contains_key(plain.as_ref());
        !one_of_several || (plain.starts_with("disk.") && of_several(trial, &plain))
    });
    let mut shown: Vec<(&String, &MetricSummary)> = shown.collect();
    shown.sort_by_key(|(name, _)| (Metric::find(name).map(|metric| metric.group), *name));
    let rows = shown.into_iter().map(|(name, metric)| {
        let (unit, scale) = column::shown_in(measure::column::unit(name));
        let cell = |value: f64| number::value(value / scale);
        vec![
            name.clone(),
            unit.to_owned(),
            cell(metric.mean),
            cell(metric.min),
            cell(metric.max),
        ]
    });
    Grid {
        caption: "Metrics during the measurement: the mean, and the minimum and maximum of the \
                  one-second samples."
            .to_owned(),
        heads: heads(["metric", "unit", "mean", "min", "max"]),
        keys: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// Whether there are several things that have this metric.
fn of_several(trial: &TrialSummary, plain: &str) -> bool {
    let names = trial.metrics.keys().map(|name| split(name));
    names
        .filter(|(of, what)| of == plain && what.is_some())
        .count()
        > 1
}

/// The means of each server's metrics, side by side.
pub(super) fn by_server(trial: &TrialSummary) -> Grid {
    let servers = trial.instances.iter().map(|instance| instance.number);
    let servers: Vec<String> = servers.map(|number| number.to_string()).collect();
    let plain = trial
        .metrics
        .keys()
        .filter(|name| name.starts_with("server."));
    let rows = plain.filter_map(|name| {
        let (unit, scale) = column::shown_in(measure::column::unit(name));
        let mean = |name: &str| trial.metrics.get(name).map(|metric| metric.mean / scale);
        let each = servers.iter().map(|server| mean(&bracketed(name, server)));
        let each: Vec<Option<f64>> = each.collect();
        let mut row = vec![name.clone(), unit.to_owned(), number::maybe(mean(name))];
        row.extend(each.iter().copied().map(number::maybe));
        each.iter().any(Option::is_some).then_some(row)
    });
    let mut titles = vec!["metric".to_owned(), "unit".to_owned(), "all".to_owned()];
    titles.extend(servers.iter().map(|server| format!("server {server}")));
    Grid {
        caption: "Mean of each server's metrics during the measurement.".to_owned(),
        heads: heads(titles),
        keys: 1,
        rows: if servers.len() > 1 {
            rows.collect()
        } else {
            Vec::new()
        },
        ..Grid::default()
    }
}
