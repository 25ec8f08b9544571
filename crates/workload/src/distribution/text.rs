//! A distribution as text: `special:pct=1,res=75`.

use std::fmt;
use std::str::FromStr;

use super::{Distribution, DistributionError};

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Distribution::Uniform => write!(f, "{name}"),
            Distribution::Special { pct, res, iter } => {
                write!(f, "{name}:pct={pct},res={res},iter={iter}")
            }
            Distribution::Gaussian { iter } => write!(f, "{name}:iter={iter}"),
            Distribution::Pareto { h } => write!(f, "{name}:h={h}"),
            Distribution::Zipfian { exponent } => write!(f, "{name}:exp={exponent}"),
        }
    }
}

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, parameters) = match text.split_once(':') {
            Some((name, parameters)) => (name, Some(parameters)),
            None => (text, None),
        };
        let mut distribution = named(name)?;
        for parameter in parameters.into_iter().flat_map(|p| p.split(',')) {
            let bad = || DistributionError::NotANumber(parameter.to_owned());
            let (key, value) = parameter.split_once('=').ok_or_else(bad)?;
            distribution
                .set(key.trim(), value.trim())
                .unwrap_or_else(|| Err(bad()))?;
        }
        distribution.validate()?;
        Ok(distribution)
    }
}

fn named(name: &str) -> Result<Distribution, DistributionError> {
    match name.trim() {
        "uniform" => Ok(Distribution::Uniform),
        "special" => Ok(Distribution::SPECIAL),
        "gaussian" => Ok(Distribution::GAUSSIAN),
        "pareto" => Ok(Distribution::PARETO),
        "zipfian" => Ok(Distribution::ZIPFIAN),
        other => Err(DistributionError::Unknown(other.to_owned())),
    }
}

impl Distribution {
    /// Sets a parameter; `None` where the value is not a number.
    fn set(&mut self, key: &str, value: &str) -> Option<Result<(), DistributionError>> {
        match (&mut *self, key) {
            (Distribution::Special { pct, .. }, "pct") => *pct = value.parse().ok()?,
            (Distribution::Special { res, .. }, "res") => *res = value.parse().ok()?,
            (Distribution::Special { iter, .. } | Distribution::Gaussian { iter }, "iter") => {
                *iter = value.parse().ok()?;
            }
            (Distribution::Pareto { h }, "h") => *h = value.parse().ok()?,
            (Distribution::Zipfian { exponent }, "exp") => *exponent = value.parse().ok()?,
            _ => return Some(Err(self.unknown(key))),
        }
        Some(Ok(()))
    }

    fn unknown(&self, parameter: &str) -> DistributionError {
        DistributionError::UnknownParameter {
            distribution: self.name(),
            parameter: parameter.to_owned(),
            known: match self {
                Distribution::Uniform => "none",
                Distribution::Special { .. } => "pct, res, iter",
                Distribution::Gaussian { .. } => "iter",
                Distribution::Pareto { .. } => "h",
                Distribution::Zipfian { .. } => "exp",
            },
        }
    }
}

impl TryFrom<String> for Distribution {
    type Error = DistributionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> String {
        distribution.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "uniform",
            "special:pct=2,res=80,iter=12",
            "gaussian:iter=3",
            "pareto:h=0.1",
            "zipfian:exp=0.99",
        ] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn parameters_have_sysbench_defaults() {
        let special = "special:res=80".parse();
        let expected = Distribution::Special {
            pct: 1,
            res: 80,
            iter: 12,
        };
        assert_eq!(special, Ok(expected));
        assert_eq!("zipfian".parse(), Ok(Distribution::ZIPFIAN));
    }

    #[test]
    fn errors_say_what_could_have_been() {
        let error = |text: &str| text.parse::<Distribution>().unwrap_err().to_string();
        for (text, said) in [
            (
                "zipf",
                "there is no distribution 'zipf'; there are uniform, special, gaussian, pareto and zipfian",
            ),
            ("pareto:x=1", "pareto has no parameter 'x'; it has: h"),
            (
                "pareto:h=1",
                "pareto's h is 1; it must be above 0 and below 1",
            ),
            ("pareto:h", "'h' is not a parameter; write name=number"),
            (
                "special:pct=x",
                "'pct=x' is not a parameter; write name=number",
            ),
        ] {
            assert_eq!(error(text), said);
        }
        assert!(error("zipfian:exp=NaN").contains("it must be from 0 to 100"));
        assert!(error("special:").contains("write name=number"));
    }
}
