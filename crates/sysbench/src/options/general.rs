//! What every test has, with its values checked.

use std::time::Duration;

use workload::distribution::Distribution;

use super::dialect::Dialect;
use super::error::OptionError;
use super::line::{CommandLine, RENAMED};
use super::values::{Values, number};

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
        let percentile = values.within("percentile", is_old.into()..=100)?;
        if percentile == 0 && values.bool("histogram") {
            let message = "--histogram cannot be used with --percentile=0";
            return Err(OptionError::fatal(message));
        }
        if events.is_none() && time_s.is_none() {
            line.warnings.push(ENDLESS.to_owned());
        }
        let name = "report-checkpoints";
        let texts = values.list(name);
        let checkpoints = texts.iter().map(|text| seconds(name, text));
        let mut checkpoints = checkpoints.collect::<Result<Vec<_>, _>>()?;
        checkpoints.sort_unstable();
        let is_v04 = dialect == Dialect::V04;
        let seed = values.int(if is_v04 { "seed-rng" } else { "rand-seed" })?;
        // Without --init-rng, every run of 0.4 draws the same numbers.
        let is_fixed = seed != 0 || (is_v04 && !values.bool("init-rng"));
        let length = |seconds: u32| Duration::from_secs(seconds.into());
        Ok(Self {
            threads: values.within(threads, 1..=u32::MAX)?,
            events,
            time: time_s.map(length),
            warmup: length(values.within("warmup-time", 0..=u32::MAX)?),
            forced_shutdown: match time_s {
                Some(time_s) => forced_shutdown(values, length(time_s))?,
                None => None,
            },
            rate: limit(values, rate)?,
            report_interval: limit(values, "report-interval")?.map(length),
            checkpoints,
            percentile,
            verbosity: match values.within("verbosity", 0..=DEBUG)? {
                _ if values.bool("debug") || values.bool("mysql-debug") => DEBUG,
                verbosity => verbosity,
            },
            seed: is_fixed.then_some(seed.unsigned_abs().into()),
            distribution: distribution(values, dialect)?,
        })
    }
}

/// `None` for 0 or less.
fn limit(values: &Values, name: &str) -> Result<Option<u32>, OptionError> {
    let number = u32::try_from(values.int(name)?).ok();
    Ok(number.filter(|number| *number > 0))
}

fn seconds(name: &str, text: &str) -> Result<Duration, OptionError> {
    number::<u32>(name, text).map(|seconds| Duration::from_secs(seconds.into()))
}

fn forced_shutdown(values: &Values, time: Duration) -> Result<Option<Duration>, OptionError> {
    let name = "forced-shutdown";
    let grace = match values.text(name) {
        "" => time / 20,
        text if text.eq_ignore_ascii_case("off") => return Ok(None),
        text => match text.strip_suffix('%') {
            Some(percent) => time.saturating_mul(number(name, percent)?) / 100,
            None => seconds(name, text)?,
        },
    };
    Ok(Some(grace))
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
