//! What every test has, with its values checked.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use workload::distribution::Distribution;

use super::dialect::Dialect;
use super::error::{OptionError, Stream};
use super::line::CommandLine;
use super::values::Values;

const DEBUG: u32 = 5;
/// What `--forced-shutdown` means without a value.
const GRACE_PERCENT: u32 = 5;
const MAX_CHECKPOINTS: usize = 256;
const TOO_MANY: &str = "Too many checkpoints in --report-checkpoints (up to 256 can be defined)";
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
    pub histogram: bool,
    /// 0 (fatal errors) to 5 (debug).
    pub verbosity: u32,
    pub debug: bool,
    pub validate: bool,
    /// `None`: from the time.
    pub seed: Option<u64>,
    pub distribution: Distribution,
}

impl General {
    /// Reads the options, unless one is out of range. May add a warning.
    pub fn of(line: &mut CommandLine) -> Result<Self, OptionError> {
        let (values, dialect) = (&line.values, line.dialect);
        let [threads, events, time, rate] = match dialect.is_old() {
            true => ["num_threads", "max_requests", "max_time", "tx_rate"],
            false => ["threads", "events", "time", "rate"],
        };
        let limit = |name: &str| values.int(name).map(positive);
        let (events, time_s) = (limit(events)?, limit(time)?);
        let debug = values.bool("debug");
        let general = Self {
            threads: within(values, threads, 1..=u32::MAX)?,
            events,
            time: time_s.map(seconds),
            warmup: seconds(within(values, "warmup_time", 0..=u32::MAX)?),
            forced_shutdown: forced_shutdown(values.text("forced_shutdown"), time_s)?,
            rate: limit(rate)?,
            report_interval: limit("report_interval")?.map(seconds),
            checkpoints: checkpoints(&values.list("report_checkpoints"))?,
            percentile: within(values, "percentile", dialect.is_old().into()..=100)?,
            histogram: values.bool("histogram"),
            verbosity: match within(values, "verbosity", 0..=DEBUG)? {
                _ if debug || values.bool("mysql_debug") => DEBUG,
                verbosity => verbosity,
            },
            debug,
            validate: values.bool("validate"),
            seed: seed(values, dialect)?,
            distribution: distribution(values, dialect)?,
        };
        if general.histogram && general.percentile == 0 {
            let message = "--histogram cannot be used with --percentile=0";
            return Err(OptionError::fatal(message));
        }
        if events.is_none() && time_s.is_none() {
            line.warnings.push(ENDLESS.to_owned());
        }
        Ok(general)
    }
}

fn invalid(name: &str, value: impl Display) -> OptionError {
    let option = name.replace('_', "-");
    match name {
        "threads" | "num_threads" => {
            OptionError::fatal(format!("Invalid value for --{option}: {value}.\n"))
        }
        "verbosity" => {
            let message = format!("Invalid value for {option}: {value}");
            OptionError::new(Stream::Stdout, 1, message)
        }
        _ => OptionError::fatal(format!("Invalid value for --{option}: {value}")),
    }
}

fn within(values: &Values, name: &str, range: RangeInclusive<u32>) -> Result<u32, OptionError> {
    let number = values.int(name)?;
    let valid = u32::try_from(number).ok().filter(|number| range.contains(number));
    valid.ok_or_else(|| invalid(name, number))
}

fn positive(number: i32) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| *number > 0)
}

fn seconds(number: u32) -> Duration {
    Duration::from_secs(number.into())
}

fn forced_shutdown(text: &str, time_s: Option<u32>) -> Result<Option<Duration>, OptionError> {
    let Some(time_s) = time_s.filter(|_| !text.eq_ignore_ascii_case("off")) else {
        return Ok(None);
    };
    let percent = |number| seconds(time_s).saturating_mul(number) / 100;
    let grace = match text.strip_suffix('%') {
        Some(number) => number.parse().ok().map(percent),
        None if text.is_empty() => Some(percent(GRACE_PERCENT)),
        None => text.parse().ok().map(seconds),
    };
    let refused = || invalid("forced_shutdown", format!("'{text}'"));
    grace.map(Some).ok_or_else(refused)
}

fn checkpoints(texts: &[String]) -> Result<Vec<Duration>, OptionError> {
    if texts.len() > MAX_CHECKPOINTS {
        return Err(OptionError::fatal(TOO_MANY));
    }
    let each = texts.iter().map(|text| {
        let at = text.parse().ok().and_then(positive).map(seconds);
        at.ok_or_else(|| invalid("report_checkpoints", format!("'{text}'")))
    });
    let mut all = each.collect::<Result<Vec<_>, _>>()?;
    all.sort_unstable();
    Ok(all)
}

fn seed(values: &Values, dialect: Dialect) -> Result<Option<u64>, OptionError> {
    let (name, is_random) = match dialect {
        // Without --init-rng, every run draws the same numbers.
        Dialect::V04 => ("seed_rng", values.bool("init_rng")),
        _ => ("rand_seed", true),
    };
    let seed = values.int(name)?.unsigned_abs();
    Ok((seed > 0 || !is_random).then_some(seed.into()))
}

fn distribution(values: &Values, dialect: Dialect) -> Result<Distribution, OptionError> {
    let (name, special) = match dialect {
        Dialect::V04 => ("oltp_dist_type", "oltp_dist"),
        _ => ("rand_type", "rand_spec"),
    };
    let int = |name: &str| values.int(&format!("{special}_{name}"));
    let exponent = values.double("rand_zipfian_exp");
    let text = match values.text(name) {
        "gaussian" => format!("gaussian:iter={}", int("iter")?),
        "special" => {
            let (pct, res) = (int("pct")?, int("res")?);
            format!("special:pct={pct},res={res},iter={}", int("iter")?)
        }
        "pareto" => format!("pareto:h={}", values.double("rand_pareto_h")),
        "zipfian" if dialect == Dialect::Master && exponent < 0.0 => {
            return Err(OptionError::fatal("--rand-zipfian-exp must be >= 0"));
        }
        "zipfian" if dialect == Dialect::Master => format!("zipfian:exp={exponent}"),
        "uniform" => "uniform".to_owned(),
        // A test of 0.4 that draws no keys has no such option.
        "" => "special".to_owned(),
        other => {
            let message = format!("Invalid random numbers distribution: {other}.");
            return Err(OptionError::fatal(message));
        }
    };
    text.parse::<Distribution>().map_err(OptionError::fatal)
}
