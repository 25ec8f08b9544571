//! Phases of a load: how its rate, or its number of active virtual users, changes.

use std::str::FromStr;
use std::time::Duration;

use crate::{TextError, parse_duration, shown};

const MAX_PHASES: usize = 200;
const MAX_TIME: Duration = Duration::from_secs(30 * 86_400);
const MAX_RATE: f64 = 10_000_000.0;
const MAX_THREADS: f64 = 100_000.0;
const HOW: &str = "write a time of whole seconds, and a rate from 0.001 to 10000000 or a number of \
                   threads from 1 to 100000: `30s 500/s`, `1m 100..1000/s`, or `spike: 30s 8 threads`";
const LIMITS: &str = "a load has up to 200 phases with repetitions, of up to 30 days, either all \
                      with a rate or all with a number of threads";

/// The phases of a measurement, such as `base: 60s 200/s, 10s 200..1000/s`; with repetitions
/// `3 x (60s 200/s, 10s 1000/s)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Phases {
    /// In order, with each repetition; at least one.
    pub list: Vec<LoadPhase>,
    /// Whether transactions arrive at a rate. Otherwise, phases have numbers of active users.
    pub is_open: bool,
}

/// A part of a measurement, in which the load is constant or changes linearly.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPhase {
    /// As typed, such as `spike: 10s 1000/s`.
    pub text: String,
    /// Whole seconds, because results have one second each.
    pub time: Duration,
    /// Arrivals per second, or active users, at its beginning.
    pub from: f64,
    /// The same at its end.
    pub to: f64,
}

impl Phases {
    pub fn time(&self) -> Duration {
        self.list.iter().map(|phase| phase.time).sum()
    }

    /// The mean rate, or the mean number of active users.
    pub fn mean(&self) -> f64 {
        let mean = |phase: &LoadPhase| f64::midpoint(phase.from, phase.to);
        let phases = self.list.iter();
        let areas = phases.map(|phase| mean(phase) * phase.time.as_secs_f64());
        areas.sum::<f64>() / self.time().as_secs_f64()
    }

    /// The highest rate, or the largest number of active users.
    pub fn most(&self) -> f64 {
        let ends = self.list.iter().map(|phase| phase.from.max(phase.to));
        ends.fold(0.0, f64::max)
    }
}

impl FromStr for Phases {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let repeated = text
            .strip_suffix(')')
            .and_then(|text| text.split_once(" x ("));
        let (times, list) = repeated.unwrap_or(("1", text));
        let typed = list.split(',').map(str::trim).map(|text| {
            let message = || format!("`{}` is not a phase", shown(text));
            phase(text).ok_or_else(|| TextError::new(message(), HOW))
        });
        let typed = typed.collect::<Result<Vec<_>, _>>()?;
        let (list, are_rates): (Vec<_>, Vec<_>) = typed.into_iter().unzip();
        let most = MAX_PHASES / list.len();
        let times = times.parse::<usize>().ok();
        let times = times.filter(|times| (1..=most).contains(times));
        let list = vec![list; times.unwrap_or(0)].concat();
        let is_open = are_rates.contains(&true);
        let phases = Self { list, is_open };
        let is_mixed = are_rates.contains(&!is_open);
        if is_mixed || phases.list.is_empty() || phases.time() > MAX_TIME {
            let message = format!("`{}` is not a list of phases", shown(text));
            return Err(TextError::new(message, LIMITS));
        }
        Ok(phases)
    }
}

/// A phase, and whether it has a rate.
fn phase(text: &str) -> Option<(LoadPhase, bool)> {
    let (_, rest) = text.split_once(':').unwrap_or(("", text));
    let (time, load) = rest.trim().split_once(' ')?;
    let time = parse_duration(time).ok()?;
    let rate = load.strip_suffix("/s");
    let ends = rate.or(load.strip_suffix(" threads"))?;
    let (from, to) = ends.split_once("..").unwrap_or((ends, ends));
    let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    let is_valid = |amount: f64| match rate {
        Some(_) => (0.001..=MAX_RATE).contains(&amount),
        None => (1.0..=MAX_THREADS).contains(&amount) && amount.fract() == 0.0,
    };
    let is_whole = time.subsec_nanos() == 0 && !time.is_zero();
    let phase = LoadPhase {
        text: text.to_owned(),
        time,
        from,
        to,
    };
    (is_whole && is_valid(from) && is_valid(to)).then_some((phase, rate.is_some()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ends(text: &str) -> Vec<(u64, f64, f64)> {
        let phases: Phases = text.parse().unwrap();
        let ends = phases
            .list
            .iter()
            .map(|one| (one.time.as_secs(), one.from, one.to));
        ends.collect()
    }

    #[test]
    fn steps_ramps_and_repetitions_are_read() {
        let base = (60, 200.0, 200.0);
        let ramp = (10, 200.0, 1000.5);
        assert_eq!(ends("base: 1m 200/s, 10s 200..1000.5/s"), [base, ramp]);
        assert_eq!(
            ends("2 x (60s 200/s, up: 10s 200 .. 1000.5/s)"),
            [base, ramp, base, ramp]
        );
        let users: Phases = "30s 8 threads, 30s 1..64 threads".parse().unwrap();
        assert!(!users.is_open && users.most() == 64.0);
        assert_eq!(users.time(), Duration::from_secs(60));
        assert_eq!(users.mean(), 20.25);
        assert_eq!(users.list[1].text, "30s 1..64 threads");
    }

    #[test]
    fn what_is_no_phase_is_refused() {
        let bad = "|30s|500/s|30s 500|30s /s|30s 0/s|30s 1../s|30s 1e9/s|30s NaN/s|500ms 1/s|\
                   0s 1/s|30s 1.5 threads|30s 0 threads|30s 200000 threads|30s 1/s,|\
                   30s 1/s, 30s 8 threads|0 x (30s 1/s)|201 x (30s 1/s)|x x (30s 1/s)|\
                   101 x (30s 1/s, 30s 2/s)|2 x (16d 1/s)|31d 1/s|30s 500/s 8 threads|\
                   2 x (2 x (30s 1/s))";
        for bad in bad.split('|') {
            assert!(bad.parse::<Phases>().is_err(), "{bad}");
        }
        let longest = format!("{MAX_PHASES} x (1s 1/s)");
        assert_eq!(longest.parse::<Phases>().unwrap().list.len(), MAX_PHASES);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-z:,./() -]{0,60}") {
            if let Ok(phases) = text.parse::<Phases>() {
                prop_assert!(phases.time() <= MAX_TIME && phases.mean() < 1.001 * phases.most());
            }
        }
    }
}
