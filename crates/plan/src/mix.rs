//! Several workloads at once.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::{TextError, shown};

const MAX_PARTS: usize = 20;
const AMOUNTS: RangeInclusive<f64> = 0.001..=10_000_000.0;
const HOW: &str = "write up to 20 workloads, each once, all with weights from 0.001 to 10000000 \
                   (`oltp_read_only:3, oltp_insert:1`), or all with rates (`oltp_insert:20/s`)";

/// Workloads, of which each transaction is one at random: `oltp_read_only:3, oltp_insert:1`. A name
/// alone has the weight 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Different names, which the caller knows, and weights; at least one.
    pub parts: Vec<(String, f64)>,
    /// Transactions per second of all workloads, if these have rates, which are then the weights.
    pub rate: Option<f64>,
}

impl FromStr for Mix {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let typed = text.split(',').map(|text| part(text.trim()));
        let typed = typed.collect::<Result<Vec<_>, _>>()?;
        let rates = typed.iter().filter(|(.., is_rate)| *is_rate).count();
        let is_uniform = [0, typed.len()].contains(&rates);
        let parts = typed.into_iter().map(|(name, weight, _)| (name, weight));
        let parts: Vec<(String, f64)> = parts.collect();
        let names: BTreeSet<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
        if parts.len() > MAX_PARTS || !is_uniform || names.len() < parts.len() {
            return Err(refused(text));
        }
        let sum: f64 = parts.iter().map(|(_, weight)| weight).sum();
        let rate = (rates > 0).then_some(sum);
        Ok(Self { parts, rate })
    }
}

/// The name of a workload, its weight, and whether that is a rate.
fn part(text: &str) -> Result<(String, f64, bool), TextError> {
    let (name, amount) = text.rsplit_once(':').unwrap_or((text, "1"));
    let number = amount.strip_suffix("/s").unwrap_or(amount);
    let weight = number.trim().parse::<f64>().ok();
    match (name.trim(), weight.filter(|weight| AMOUNTS.contains(weight))) {
        (name, Some(weight)) if !name.is_empty() && !name.contains(':') => {
            Ok((name.to_owned(), weight, number != amount))
        }
        _ => Err(refused(text)),
    }
}

fn refused(text: &str) -> TextError {
    TextError::new(format!("`{}` is not a mix of workloads", shown(text)), HOW)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn weights_and_rates_are_read() {
        let mix: Mix = "oltp_read_only:3,oltp_insert".parse().unwrap();
        let parts = [("oltp_read_only", 3.0), ("oltp_insert", 1.0)];
        assert_eq!(mix.parts, parts.map(|(name, weight)| (name.to_owned(), weight)));
        assert_eq!(mix.rate, None);
        let mix: Mix = "a: 200/s , b:0.5/s".parse().unwrap();
        assert_eq!((mix.parts.len(), mix.rate), (2, Some(200.5)));
    }

    #[test]
    fn what_is_no_mix_is_refused() {
        let many = vec!["a"; MAX_PARTS + 1].join(",");
        for bad in [
            "", "a,", ":3", "a:0", "a:-1", "a:NaN", "a:inf", "a:x", "a:1e9", "a:1,b:2/s", "a:1:2/s", "a,a:2", &many,
        ] {
            assert!(bad.parse::<Mix>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-b:,/s0-9. -]{0,40}") {
            if let Ok(mix) = text.parse::<Mix>() {
                prop_assert!(mix.parts.iter().all(|(_, weight)| AMOUNTS.contains(weight)));
            }
        }
    }
}
