//! Means of what the monitors sampled.

use measure::metric::{Metric, MetricSummary, bracketed, split};
use measure::summary::TrialSummary;

use crate::columns::Columns;
use crate::grid::Grid;
use crate::heading;

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
    let columns = Columns::<(&String, &MetricSummary)>::new()
        .key("metric", |(name, _)| name)
        .with("unit", |(name, _)| unit(name))
        .with("mean", |(name, metric)| metric.mean / scale(name))
        .with("min", |(name, metric)| metric.min / scale(name))
        .with("max", |(name, metric)| metric.max / scale(name));
    columns.grid(
        "Metrics during the measurement: the mean, and the minimum and maximum of the \
         one-second samples.",
        shown,
    )
}

fn unit(name: &str) -> &'static str {
    heading::shown_in(measure::column::unit(name)).0
}

fn scale(name: &str) -> f64 {
    heading::shown_in(measure::column::unit(name)).1
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
    let mean = |name: &str| Some(trial.metrics.get(name)?.mean / scale(name));
    let of_server = |name: &str, server: &str| {
        let metric = trial.metrics.get(&bracketed(name, server));
        Some(metric?.mean / scale(name))
    };
    let plain = trial.metrics.keys().filter(|name| {
        let has_servers = || {
            servers
                .iter()
                .any(|server| of_server(name, server).is_some())
        };
        servers.len() > 1 && name.starts_with("server.") && has_servers()
    });
    let columns = Columns::<&String>::new()
        .key("metric", |name| name)
        .with("unit", |name| unit(name))
        .with("all", |name| mean(name))
        .each(&servers, |columns, server| {
            columns.with(format!("server {server}"), move |name| {
                of_server(name, server)
            })
        });
    columns.grid(
        "Mean of each server's metrics during the measurement.",
        plain,
    )
}
