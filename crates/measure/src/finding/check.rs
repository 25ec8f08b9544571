//! What a check is, and how its outcome becomes a finding.

use super::{Finding, Level};

/// A check of the facts `F`.
#[derive(Debug)]
pub struct Check<F> {
    /// What is said about it.
    pub about: About,
    /// Judges the facts.
    pub judge: fn(&F) -> Observed,
}

/// What is said about a check, also in docs/doctor.md.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// For example `disk-free`.
    pub id: &'static str,
    /// Its most severe level.
    pub worst: Level,
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// The source of the advice.
    pub source: &'static str,
    /// The remedy; words in capitals in it are placeholders.
    pub remedy: Remedy,
}

/// The remedy of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// There is none, or none is needed.
    Nothing,
    /// A command, or advice.
    Words(&'static str),
    /// A server setting.
    Setting {
        name: &'static str,
        /// The value that it should have.
        value: &'static str,
        /// Whether it can be changed while the server runs.
        live: bool,
    },
}

/// The outcome of a check, with the file or setting and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// No problem was found.
    Passed(String),
    /// Why it could not be done.
    Unknown(String),
    /// A problem was found.
    Found(Problem),
}

/// A check that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    level: Level,
    what: String,
    /// Values of placeholders.
    fill: Vec<(&'static str, String)>,
    /// A remedy that replaces that of the check.
    remedy: Option<String>,
}

impl Observed {
    /// No problem was found.
    pub fn passed(what: impl Into<String>) -> Self {
        Self::Passed(what.into())
    }

    /// The check could not be done.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(why.into())
    }

    /// A problem was found.
    pub fn found(level: Level, what: impl Into<String>) -> Self {
        Self::Found(Problem {
            level,
            what: what.into(),
            fill: Vec::new(),
            remedy: None,
        })
    }

    /// Results are misleading.
    pub fn severe(what: impl Into<String>) -> Self {
        Self::found(Level::Severe, what)
    }

    /// Results may be some percent off.
    pub fn warning(what: impl Into<String>) -> Self {
        Self::found(Level::Warning, what)
    }

    /// For information.
    pub fn note(what: impl Into<String>) -> Self {
        Self::found(Level::Note, what)
    }

    /// Sets a placeholder of the remedy.
    pub fn with(mut self, word: &'static str, value: impl ToString) -> Self {
        if let Self::Found(found) = &mut self {
            found.fill.push((word, value.to_string()));
        }
        self
    }

    /// Replaces the remedy of the check.
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        if let Self::Found(found) = &mut self {
            found.remedy = Some(remedy.into());
        }
        self
    }

    pub fn level(&self) -> Level {
        match self {
            Self::Passed(_) => Level::Passed,
            Self::Unknown(_) => Level::Unknown,
            Self::Found(found) => found.level,
        }
    }
}

/// Runs checks on facts. `remedy` writes remedies for their subject.
pub fn run<'a, F: 'a>(
    checks: impl IntoIterator<Item = &'a Check<F>>,
    facts: &F,
    of: &str,
    remedy: impl Fn(Remedy) -> Option<String>,
) -> Vec<Finding> {
    let findings = checks.into_iter().map(|check| {
        let about = &check.about;
        let (level, observed, remedy) = match (check.judge)(facts) {
            Observed::Passed(observed) => (Level::Passed, observed, None),
            Observed::Unknown(observed) => (Level::Unknown, observed, None),
            Observed::Found(found) => {
                let remedy = found.remedy.or_else(|| remedy(about.remedy));
                let remedy = remedy.map(|remedy| filled(remedy, &found.fill));
                (found.level, found.what, remedy)
            }
        };
        Finding {
            id: about.id.to_owned(),
            of: of.to_owned(),
            level,
            observed,
            why: about.why.to_owned(),
            source: about.source.to_owned(),
            remedy,
        }
    });
    findings.collect()
}

/// Findings of checks that have no subject.
pub fn unknown<'a, F: 'a>(
    checks: impl IntoIterator<Item = &'a Check<F>>,
    of: &str,
    why: &str,
) -> Vec<Finding> {
    let findings = checks.into_iter().map(|check| Finding {
        id: check.about.id.to_owned(),
        of: of.to_owned(),
        level: Level::Unknown,
        observed: why.to_owned(),
        why: check.about.why.to_owned(),
        source: check.about.source.to_owned(),
        remedy: None,
    });
    findings.collect()
}

fn filled(remedy: String, fill: &[(&'static str, String)]) -> String {
    let fill = fill.iter();
    fill.fold(remedy, |remedy, (word, value)| remedy.replace(word, value))
}

pub fn on_host(remedy: Remedy) -> Option<String> {
    match remedy {
        Remedy::Nothing => None,
        Remedy::Words(words) => Some(words.to_owned()),
        Remedy::Setting { name, value, .. } => Some(format!("{name} = {value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled() {
        let check = Check {
            about: About {
                id: "a",
                worst: Level::Warning,
                why: "Because.",
                source: "nobody",
                remedy: Remedy::Words("echo none > /sys/block/DISK/queue/scheduler"),
            },
            judge: |disk: &String| Observed::warning(format!("{disk}: cfq")).with("DISK", disk),
        };
        let found = run(&[check], &"sda".to_owned(), "host", on_host);
        assert_eq!(found[0].observed, "sda: cfq");
        let remedy = found[0].remedy.as_deref();
        assert_eq!(remedy, Some("echo none > /sys/block/sda/queue/scheduler"));
    }

    #[test]
    fn a_finding_may_replace_the_remedy() {
        let about = About {
            id: "a",
            worst: Level::Note,
            why: "Because.",
            source: "nobody",
            remedy: Remedy::Words("do this"),
        };
        let judge = |_: &()| Observed::note("x").with_remedy("do that");
        let found = run(&[Check { about, judge }], &(), "host", on_host);
        assert_eq!(found[0].remedy.as_deref(), Some("do that"));
    }
}
