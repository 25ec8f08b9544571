//! What every test has, with its values checked.

use std::ops::RangeInclusive;
use std::time::Duration;

use workload::distribution::Distribution;

use super::dialect::Dialect;
use super::error::OptionError;
use super::line::{CommandLine, RENAMED};
use super::values::Values;

const DEBUG: u32 = 5;
const ENDLESS: &str = "WARNING: Both event and time limits are disabled, running an endless test";

/// How a test runs, whatever it does.
#[derive(Debug, Clone, PartialEq)]
pub struct General {
    pub threads: u32,
    pub events: Option<u32>,
    pub time: Option<Duration>,
    /// Before `time` and the statistics.
    pub warmup: Duration,
    /// How long after `time` events may end.
    pub forced_shutdown: Option<Duration>,
    /// Events that arrive in a second; `None`: each thread begins one as the last ends.
    pub rate: Option<u32>,
    pub report_interval: Option<Duration>,
    /// In order.
    pub checkpoints: Vec<Duration>,
    /// 0: none.
    pub percentile: u32,
    /// 0 (fatal errors) to 5 (debug).
    pub verbosity: u32,
    /// `None`: from the time.
    pub seed: Option<u64>,
    pub distribution: Distribution,
}

impl General {
    /// Reads the options, those of the test included, unless one is out of range. May add a
    /// warning.
    pub fn of(line: &mut CommandLine) -> Result<Self, OptionError> {
        let (values, dialect) = (&line.values, line.dialect);
        let is_old = dialect.is_old();
        let [threads, events, time, rate] =
            RENAMED.map(|(former, present, _)| if is_old { former } else { present });
        let (events, time_s) = (limit(values, events)?, limit(values, time)?);
        let percentile = within(values, "percentile", is_old.into()..=100)?;
        if percentile == 0 && values.bool("histogram") {
            let message = "--histogram cannot be used with --percentile=0";
            return Err(OptionError::fatal(message));
        }
        if events.is_none() && time_s.is_none() {
            line.warnings.push(ENDLESS.to_owned());
        }
        let is_v04 = dialect == Dialect::V04;
        let seed = values.int(if is_v04 { "seed-rng" } else { "rand-seed" })?;
        // Without --init-rng, every run of 0.4 draws the same numbers.
        let is_fixed = seed != 0 || (is_v04 && !values.bool("init-rng"));
        Ok(Self {
            threads: within(values, threads, 1..=u32::MAX)?,
            events,
            time: time_s.map(seconds),
            warmup: seconds(within(values, "warmup-time", 0..=u32::MAX)?),
            forced_shutdown: forced_shutdown(values.text("forced-shutdown"), time_s)?,
            rate: limit(values, rate)?,
            report_interval: limit(values, "report-interval")?.map(seconds),
            checkpoints: checkpoints(&values.list("report-checkpoints"))?,
            percentile,
            verbosity: match within(values, "verbosity", 0..=DEBUG)? {
                _ if values.bool("debug") || values.bool("mysql-debug") => DEBUG,
                verbosity => verbosity,
            },
            seed: is_fixed.then_some(seed.unsigned_abs().into()),
            distribution: distribution(values, dialect)?,
        })
    }
}

fn within(values: &Values, name: &str, range: RangeInclusive<u32>) -> Result<u32, OptionError> {
    let number = values.int(name)?;
    let valid = u32::try_from(number).ok().filter(|number| range.contains(number));
    valid.ok_or_else(|| OptionError::invalid(name, number))
}

/// `None` for 0 or less.
fn limit(values: &Values, name: &str) -> Result<Option<u32>, OptionError> {
    let number = u32::try_from(values.int(name)?).ok();
    Ok(number.filter(|number| *number > 0))
}

fn seconds(number: u32) -> Duration {
    Duration::from_secs(number.into())
}

fn forced_shutdown(text: &str, time_s: Option<u32>) -> Result<Option<Duration>, OptionError> {
    let Some(time_s) = time_s.filter(|_| !text.eq_ignore_ascii_case("off")) else {
        return Ok(None);
    };
    let text = if text.is_empty() { "5%" } else { text };
    let percent = |number| seconds(time_s).saturating_mul(number) / 100;
    let grace = match text.strip_suffix('%') {
        Some(number) => number.parse().map(percent),
        None => text.parse().map(seconds),
    };
    let invalid = |_| OptionError::invalid("forced-shutdown", format!("'{text}'"));
    grace.map(Some).map_err(invalid)
}

fn checkpoints(texts: &[String]) -> Result<Vec<Duration>, OptionError> {
    let each = texts.iter().map(|text| {
        let invalid = |_| OptionError::invalid("report-checkpoints", format!("'{text}'"));
        text.parse().map(seconds).map_err(invalid)
    });
    let mut all = each.collect::<Result<Vec<_>, _>>()?;
    all.sort_unstable();
    Ok(all)
}

fn distribution(values: &Values, dialect: Dialect) -> Result<Distribution, OptionError> {
    let (kind, parameters) = match dialect {
        Dialect::V04 => ("oltp-dist-type", "oltp-dist"),
        _ => ("rand-type", "rand-spec"),
    };
    let int = |name: &str| values.int(&format!("{parameters}-{name}"));
    let (pct, res, iter) = (int("pct")?, int("res")?, int("iter")?);
    let text = match values.text(kind) {
        // A test of 0.4 that draws no keys has no such option.
        "" => "special".to_owned(),
        "gaussian" => format!("gaussian:iter={iter}"),
        "special" => format!("special:pct={pct},res={res},iter={iter}"),
        "pareto" => format!("pareto:h={}", values.double("rand-pareto-h")),
        "zipfian" if dialect == Dialect::Master => {
            format!("zipfian:exp={}", values.double("rand-zipfian-exp"))
        }
        other => other.to_owned(),
    };
    text.parse::<Distribution>().map_err(OptionError::fatal)
}
