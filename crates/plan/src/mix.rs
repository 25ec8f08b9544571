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
        let typed: Option<Vec<_>> = text.split(',').map(part).collect();
        let (parts, are_rates): (Vec<_>, Vec<_>) = typed.into_iter().flatten().unzip();
        let names: BTreeSet<&String> = parts.iter().map(|(name, _)| name).collect();
        let is_mixed = are_rates.contains(&true) && are_rates.contains(&false);
        if names.len() < parts.len() || !(1..=MAX_PARTS).contains(&parts.len()) || is_mixed {
            let message = format!("`{}` is not a mix of workloads", shown(text));
            return Err(TextError::new(message, HOW));
        }
        let sum: f64 = parts.iter().map(|(_, weight)| weight).sum();
        let rate = are_rates.contains(&true).then_some(sum);
        Ok(Self { parts, rate })
    }
}

/// The name of a workload and its weight, and whether that is a rate.
fn part(text: &str) -> Option<((String, f64), bool)> {
    let text = text.trim();
    let (name, amount) = text.rsplit_once(':').unwrap_or((text, "1"));
    let number = amount.strip_suffix("/s").unwrap_or(amount);
    let weight = number.trim().parse::<f64>().ok()?;
    let name = name.trim().to_owned();
    let is_valid = !name.is_empty() && !name.contains(':') && AMOUNTS.contains(&weight);
    is_valid.then_some(((name, weight), number != amount))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn weights_and_rates_are_read() {
        let mix: Mix = "oltp_read_only:3,oltp_insert".parse().unwrap();
        let parts = [("oltp_read_only", 3.0), ("oltp_insert", 1.0)];
        assert_eq!(
            mix.parts,
            parts.map(|(name, weight)| (name.to_owned(), weight))
        );
        assert_eq!(mix.rate, None);
        let mix: Mix = "a: 200/s , b:0.5/s".parse().unwrap();
        assert_eq!((mix.parts.len(), mix.rate), (2, Some(200.5)));
    }

    #[test]
    fn what_is_no_mix_is_refused() {
        let many: Vec<String> = (0..=MAX_PARTS).map(|number| format!("w{number}")).collect();
        let many = many.join(",");
        let bad = "|a,|:3|a:0|a:-1|a:NaN|a:inf|a:x|a:1e9|a:1,b:2/s|a:1:2/s|a,a:2";
        for bad in bad.split('|').chain([many.as_str()]) {
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
