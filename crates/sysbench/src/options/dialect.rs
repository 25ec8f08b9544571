//! Which sysbench a command line was written for.

use super::error::OptionError;
use super::line::RENAMED;
use super::table::{declarations, groups};
use super::values::{Declaration, Kind, boolean};
use super::word::{Word, key};

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
    pub const ALL: [Self; 4] = [Self::V04, Self::V05, Self::V10, Self::Master];

    /// The word for it in `--dyno-dialect`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V04 => "0.4",
            Self::V05 => "0.5",
            Self::V10 => "1.0",
            Self::Master => "master",
        }
    }

    /// The version in its header.
    pub fn version(self) -> &'static str {
        match self {
            Self::V04 => "0.4.12",
            Self::V05 => "0.5",
            Self::V10 => "1.0.20",
            Self::Master => "1.1.0",
        }
    }

    /// The dialect that `--dyno-dialect` names.
    pub(crate) fn named(name: &str) -> Result<Self, OptionError> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|dialect| dialect.name() == name);
        found.ok_or_else(|| OptionError::usage(format!("invalid option: --dyno-dialect={name}")))
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Whether only `--test` names the test, so that every bare word is a command.
    pub(crate) fn is_old(self) -> bool {
        matches!(self, Self::V04 | Self::V05)
    }

    /// The dialect of these options. `named` is the test in `--test`, `first` the first bare word.
    pub(crate) fn spoken(options: &[Word], named: Option<&str>, first: Option<&str>) -> Self {
        let likely: &[Self] = match named {
            None => &[Self::V10, Self::Master],
            Some("oltp") => &[Self::V04, Self::V05],
            // It came with 1.0, for the options of 0.5.
            Some(test) if test.contains("oltp_legacy") => &[Self::V10],
            Some(test) if is_of_05(test, options) => &[Self::V05, Self::V10],
            Some(_) => &[Self::V10, Self::V05, Self::V04],
        };
        let test = named.or(first).unwrap_or_default();
        let fits = |dialect: &Self| options.iter().all(|option| dialect.fits(option, test));
        let found = likely.iter().copied().find(fits);
        found.or(likely.first().copied()).unwrap_or_default()
    }

    /// Whether the option has this form here, or no dialect knows it: it may be a script's own.
    fn fits(self, word: &Word, test: &str) -> bool {
        if word.key == "rand_type" && word.value == "zipfian" {
            return self == Self::Master;
        }
        match self.option(&word.key, test) {
            Some(option) if option.kind != Kind::Bool => true,
            Some(_) => boolean(&word.value, !self.is_old()).is_some(),
            None => Self::ALL.iter().all(|other| other.option(&word.key, test).is_none()),
        }
    }

    fn option(self, name: &str, test: &str) -> Option<Declaration<'static>> {
        let common = groups(self).flat_map(|(_, options)| options);
        let mut options = common.chain(declarations(self, test));
        options.find(|option| key(option.name) == name)
    }
}

/// Whether a line with `--test` is one of 0.5: 1.0 has the same option, under a warning.
fn is_of_05(test: &str, options: &[Word]) -> bool {
    let is_other = declarations(Dialect::V10, test).is_empty();
    options.iter().any(|word| {
        let is_former = RENAMED.iter().any(|(former, ..)| word.key == *former);
        word.key.starts_with("oltp_") || (is_former && is_other)
    })
}
