//! Checks, and how their outcomes become findings.

use super::{Finding, Level};

#[derive(Debug)]
pub struct Check<F> {
    pub about: About,
    pub judge: fn(&F) -> Observed,
}

/// The description of a check, also for docs/doctor.md.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// For example `disk-free`.
    pub id: &'static str,
    /// The most severe level that the check can return.
    pub worst: Level,
    /// Why the check matters, in one sentence.
    pub why: &'static str,
    pub source: &'static str,
    /// Words in capitals are placeholders.
    pub remedy: Remedy,
}

/// The remedy of a finding. For settings: name and recommended value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// There is no remedy, or none is needed.
    Nothing,
    /// A command or advice.
    Words(&'static str),
    /// A setting that can be changed while the server runs.
    Live(&'static str, &'static str),
    /// A setting that only a restart changes.
    Restart(&'static str, &'static str),
}

/// A table of checks of some facts. A row's expression is an [`Observed`] or a [`Judged`].
#[macro_export]
macro_rules! checks {
    ($facts:ident: $(
        $id:literal, $worst:ident => $judge:expr,
            why: $why:literal,
            source: $source:literal,
            remedy: $remedy:ident $(($($words:expr),+))?;
    )+) => {
        &[$($crate::finding::check::Check {
            about: $crate::finding::check::About {
                id: $id,
                worst: $crate::finding::Level::$worst,
                why: $why,
                source: $source,
                remedy: $crate::finding::check::Remedy::$remedy $(($($words),+))?,
            },
            judge: |$facts| $crate::finding::check::Observed::from($judge),
        }),+]
    };
}

/// The outcome of a check: its level, and the file or setting with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    level: Level,
    what: String,
    /// Values of placeholders.
    fill: Vec<(&'static str, String)>,
    remedy: Option<String>,
}

/// The error has [`Level::Unknown`].
pub type Judged = Result<Observed, Observed>;

impl From<Judged> for Observed {
    fn from(judged: Judged) -> Self {
        match judged {
            Ok(observed) | Err(observed) => observed,
        }
    }
}

pub fn graded(level: Level, what: impl Into<String>) -> Observed {
    Observed {
        level,
        what: what.into(),
        fill: Vec::new(),
        remedy: None,
    }
}

macro_rules! outcomes {
    ($($name:ident = $level:ident,)+) => {
        $(pub fn $name(what: impl Into<String>) -> Observed {
            graded(Level::$level, what)
        })+
    };
}

outcomes! {
    severe = Severe,
    warning = Warning,
    note = Note,
    unknown = Unknown,
    passed = Passed,
}

impl Observed {
    pub fn with(mut self, word: &'static str, value: impl ToString) -> Self {
        self.fill.push((word, value.to_string()));
        self
    }

    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    pub fn level(&self) -> Level {
        self.level
    }
}

impl<F> Check<F> {
    /// Judges the facts of a subject, whose remedies `remedy` writes.
    pub fn finding(
        &self,
        facts: &F,
        of: &str,
        remedy: impl FnOnce(Remedy) -> Option<String>,
    ) -> Finding {
        self.about.finding((self.judge)(facts), of, remedy)
    }
}

impl About {
    /// Only a problem gets a remedy.
    pub fn finding(
        &self,
        observed: Observed,
        of: &str,
        remedy: impl FnOnce(Remedy) -> Option<String>,
    ) -> Finding {
        let replaced = observed.remedy;
        let remedy = match observed.level {
            Level::Unknown | Level::Passed => None,
            _ => replaced.or_else(|| remedy(self.remedy)),
        };
        let fill = |remedy: String, (word, value): &(&str, String)| remedy.replace(word, value);
        Finding {
            id: self.id.to_owned(),
            of: of.to_owned(),
            level: observed.level,
            observed: observed.what,
            why: self.why.to_owned(),
            source: self.source.to_owned(),
            remedy: remedy.map(|remedy| observed.fill.iter().fold(remedy, fill)),
        }
    }
}

impl Remedy {
    /// The remedy for a user of the subject's host.
    pub fn on_host(self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Words(words) => Some(words.to_owned()),
            Self::Live(name, value) | Self::Restart(name, value) => {
                Some(format!("{name} = {value}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKS: &[Check<String>] = checks! { disk:
        "a", Warning => warning(format!("{disk}: cfq")).with("DISK", disk),
            why: "Because.",
            source: "nobody",
            remedy: Words("echo none > /sys/block/DISK/queue/scheduler");
        "b", Note => note(disk).with_remedy("do that"),
            why: "Because.",
            source: "nobody",
            remedy: Words("do this");
        "c", Note => Err(unknown(disk).with_remedy("do that")),
            why: "Because.",
            source: "nobody",
            remedy: Words("do this");
    };

    #[test]
    fn a_finding_may_fill_or_replace_the_remedy() {
        let found = CHECKS.iter().map(|check| {
            let finding = check.finding(&"sda".to_owned(), "host", Remedy::on_host);
            (finding.level, finding.observed, finding.remedy)
        });
        let (filled, replaced) = ("echo none > /sys/block/sda/queue/scheduler", "do that");
        let expected = [
            (Level::Warning, "sda: cfq", Some(filled)),
            (Level::Note, "sda", Some(replaced)),
            (Level::Unknown, "sda", None),
        ];
        let owned = |(level, observed, remedy): (_, &str, Option<&str>)| {
            (level, observed.to_owned(), remedy.map(str::to_owned))
        };
        assert!(found.eq(expected.map(owned)));
    }
}
