//! Which sysbench a command line was written for.

use workload::distribution::Distribution;

use super::table::{common, declarations};
use super::values::Values;
use super::word::Word;

/// A sysbench with a command line, reports and random numbers of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// 0.4.8 to 0.4.12, and the fork of 0.4 that has several tables.
    V04,
    V05,
    #[default]
    V10,
    /// What follows 1.0.20, unreleased.
    Master,
}

impl Dialect {
    /// All of them, as `--dyno-dialect` names them.
    pub(crate) const NAMED: [(&'static str, Self); 4] = [
        ("0.4", Self::V04),
        ("0.5", Self::V05),
        ("1.0", Self::V10),
        ("master", Self::Master),
    ];

    /// What `--version` prints after `sysbench`.
    pub fn version(self) -> &'static str {
        match self {
            Self::V04 => "0.4.12",
            Self::V05 => "0.5",
            Self::V10 => "1.0.20",
            Self::Master => "1.1.0",
        }
    }

    /// What it draws keys from by default.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::Master => Distribution::Uniform,
            Self::V04 | Self::V05 | Self::V10 => Distribution::default(),
        }
    }

    /// Whether its version is one of these, such as `0.5 1.x`; without any, all are meant.
    pub(crate) fn is_one_of(self, versions: &str) -> bool {
        let own = self.version();
        let is = |version: &str| own.starts_with(version.trim_end_matches('x'));
        versions.is_empty() || versions.split(' ').any(is)
    }

    /// Whether only `--test` names the test, so that every bare word is a command.
    pub(crate) fn is_old(self) -> bool {
        self.is_one_of("0.x")
    }

    /// The dialect of these options. `named` is the test in `--test`, `first` the first bare word.
    pub(crate) fn spoken(options: &[Word], named: Option<&str>, first: Option<&str>) -> Self {
        let is_oltp = || options.iter().any(|option| option.key.starts_with("oltp_"));
        let likely: &[Self] = match named {
            None => &[Self::V10, Self::Master],
            Some("oltp") => &[Self::V04, Self::V05],
            // It came with 1.0, for the options of 0.5.
            Some(test) if test.contains("oltp_legacy") => &[Self::V10],
            Some(test) if is_oltp() || declarations(Self::V10, test).is_empty() => {
                &[Self::V05, Self::V10]
            }
            Some(_) => &[Self::V10, Self::V05, Self::V04],
        };
        let test = named.or(first).unwrap_or_default();
        let best = likely
            .iter()
            .min_by_key(|dialect| dialect.misfits(options, test));
        best.copied().unwrap_or_default()
    }

    /// How many of the options this dialect does not have, or not with that value.
    fn misfits(self, options: &[Word], test: &str) -> usize {
        let mut values = Values::default();
        values.declare_all(common(self).flat_map(|(_, options)| options));
        values.declare_all(&declarations(self, test));
        // A distribution that only master has.
        let has_value = |value: &str| value != "zipfian" || self == Self::Master;
        let fit = options
            .iter()
            .filter(|word| has_value(&word.value) && values.set(&word.key, &word.value));
        options.len() - fit.count()
    }
}
