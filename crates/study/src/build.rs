//! From what was typed to what it means.

use std::collections::BTreeMap;

use toml::de::DeValue;

use crate::error::Fault;
use crate::key;
use crate::plan::{Plan, Trial};
use crate::read::read;
use crate::span::{Span, Spanned};
use crate::spec::{Arrivals, DataSpec, Engine, LoadSpec, Pace, ServerSpec};
use crate::value::{FromValue, Value};
use crate::walk::Axis;

type Settings = BTreeMap<&'static str, Spanned<Value>>;
type Failure = (Span, Fault);

/// Name in a study without a sweep.
const SINGLE: &str = "single";

pub(crate) fn plan(settings: &Settings, axes: &[Axis]) -> Result<Plan, Failure> {
    let defaults = defaults()?;
    let study = Point {
        values: Vec::new(),
        settings,
        defaults: &defaults,
    };
    let trials = (0..axes.iter().map(|a| a.values.len()).product())
        .map(|i| trial(i, axes, settings, &defaults))
        .collect::<Result<_, _>>()?;
    Ok(Plan {
        title: study.get("title")?,
        description: study.maybe("description")?,
        trials,
        axes: axes.iter().map(|a| a.key.name.to_owned()).collect(),
    })
}

/// Defaults go the way of typed values, so they cannot be of another kind.
fn defaults() -> Result<Settings, Failure> {
    let mut all = Settings::new();
    for (key, text) in key::KEYS.iter().filter_map(|k| Some((k, k.default?))) {
        let value = DeValue::parse(text).map_err(|e| ours(e.message()))?;
        let value = read(key, value.get_ref()).map_err(|f| ours(&f.message))?;
        all.insert(
            key.name,
            Spanned {
                value,
                span: Span::NOWHERE,
            },
        );
    }
    Ok(all)
}

/// A fault of the table of keys, not of the study; tests keep it from happening.
fn ours(message: &str) -> Failure {
    let help = "this is a fault of dyno, not of the study";
    (Span::NOWHERE, Fault::new(message, help))
}

/// All values of one trial.
struct Point<'a> {
    values: Vec<(&'a Axis, &'a Spanned<Value>)>,
    settings: &'a Settings,
    defaults: &'a Settings,
}

impl Point<'_> {
    fn typed(&self, name: &str) -> Option<&Spanned<Value>> {
        let swept = self
            .values
            .iter()
            .find(|(axis, _)| axis.key.name == name)
            .map(|(_, v)| *v);
        swept
            .or_else(|| self.settings.get(name))
            .or_else(|| self.defaults.get(name))
    }

    fn maybe_spanned<T: FromValue>(&self, name: &str) -> Result<Option<Spanned<T>>, Failure> {
        let Some(typed) = self.typed(name) else {
            return Ok(None);
        };
        match T::from_value(&typed.value) {
            Some(value) => Ok(Some(Spanned {
                value,
                span: typed.span,
            })),
            None => Err(ours(&format!(
                "`{name}` is of another kind than its meaning"
            ))),
        }
    }

    fn spanned<T: FromValue>(&self, name: &str) -> Result<Spanned<T>, Failure> {
        self.maybe_spanned(name)?
            .ok_or_else(|| ours(&format!("`{name}` has no value")))
    }

    fn maybe<T: FromValue>(&self, name: &str) -> Result<Option<T>, Failure> {
        Ok(self.maybe_spanned(name)?.map(|v| v.value))
    }

    fn get<T: FromValue>(&self, name: &str) -> Result<T, Failure> {
        Ok(self.spanned(name)?.value)
    }
}

fn trial(
    index: usize,
    axes: &[Axis],
    settings: &Settings,
    defaults: &Settings,
) -> Result<Trial, Failure> {
    let at = Point {
        values: position(index, axes),
        settings,
        defaults,
    };
    Ok(Trial {
        number: index + 1,
        label: label(&at.values),
        server: server(&at)?,
        data: data(&at)?,
        load: load(&at)?,
        point: at
            .values
            .iter()
            .map(|(a, v)| (a.key.name.to_owned(), v.to_string()))
            .collect(),
    })
}

/// The values at one index of the product; the last axis turns fastest.
fn position(index: usize, axes: &[Axis]) -> Vec<(&Axis, &Spanned<Value>)> {
    let mut rest = index;
    let mut values: Vec<_> = axes
        .iter()
        .rev()
        .filter_map(|axis| {
            let count = axis.values.len().max(1);
            let value = axis.values.get(rest % count)?;
            rest /= count;
            Some((axis, value))
        })
        .collect();
    values.reverse();
    values
}

fn label(values: &[(&Axis, &Spanned<Value>)]) -> String {
    if values.is_empty() {
        return SINGLE.into();
    }
    let alone = |name: &str| {
        values
            .iter()
            .filter(|(a, _)| a.key.last() == key::last(name))
            .count()
            == 1
    };
    let parts = values.iter().map(|(axis, value)| {
        let name = if alone(axis.key.name) {
            axis.key.last()
        } else {
            axis.key.name
        };
        format!("{name}={}", value.value)
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn server(at: &Point<'_>) -> Result<ServerSpec, Failure> {
    if let Some(url) = at.maybe_spanned("server.url")? {
        return Ok(ServerSpec::Url(url));
    }
    match at.get::<String>("server.engine")?.as_str() {
        "sqlite" => Ok(ServerSpec::Engine(Engine::Sqlite)),
        other => Err(ours(&format!("the engine `{other}` has no meaning"))),
    }
}

fn data(at: &Point<'_>) -> Result<DataSpec, Failure> {
    Ok(DataSpec {
        tables: at.get("data.tables")?,
        rows: at.get("data.rows")?,
        seed: at.get("data.seed")?,
    })
}

fn load(at: &Point<'_>) -> Result<LoadSpec, Failure> {
    Ok(LoadSpec {
        workload: at.spanned("load.workload")?,
        distribution: at.spanned("load.distribution")?,
        threads: at.get("load.threads")?,
        warmup: at.get("load.warmup")?,
        time: at.get("load.time")?,
        events: at.maybe("load.events")?,
        pace: pace(at)?,
        think: at.get("load.think")?,
    })
}

fn pace(at: &Point<'_>) -> Result<Pace, Failure> {
    let Some(rate_per_s) = at.maybe("load.rate")? else {
        return Ok(Pace::Closed);
    };
    let arrivals = match at.maybe::<String>("load.arrivals")?.as_deref() {
        None | Some("poisson") => Arrivals::Poisson,
        Some("constant") => Arrivals::Constant,
        Some(other) => return Err(ours(&format!("arrivals `{other}` have no meaning"))),
    };
    Ok(Pace::Open {
        rate_per_s,
        arrivals,
    })
}
