//! What a check is, and how its outcome becomes a finding.

use super::{Finding, Level};

/// A check of the facts `F`.
#[derive(Debug)]
pub struct Check<F> {
    /// What is said about it.
    pub about: About,
    /// Judges the facts.
    pub judge: fn(&F) -> Seen,
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
    pub mend: Mend,
}

/// The remedy of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// There is none, or none is needed.
    Nothing,
    /// A command, or advice.
    Words(&'static str),
    /// A server setting.
    Setting {
        /// Its name.
        name: &'static str,
        /// The value that it should have.
        value: &'static str,
        /// Whether it can be changed while the server runs.
        live: bool,
    },
}

/// The outcome of a check, with the file or setting and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// No problem was found.
    Passed(String),
    /// Why it could not be done.
    Unseen(String),
    /// A problem was found.
    Found(Found),
}

/// A check that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    level: Level,
    what: String,
    /// Values of placeholders.
    fill: Vec<(&'static str, String)>,
    /// A remedy that replaces that of the check.
    mend: Option<String>,
}

impl Seen {
    /// No problem was found.
    #[must_use]
    pub fn passed(what: impl Into<String>) -> Self {
        Self::Passed(what.into())
    }

    /// The check could not be done.
    #[must_use]
    pub fn unseen(why: impl Into<String>) -> Self {
        Self::Unseen(why.into())
    }

    /// A problem was found.
    #[must_use]
    pub fn found(level: Level, what: impl Into<String>) -> Self {
        Self::Found(Found {
            level,
            what: what.into(),
            fill: Vec::new(),
            mend: None,
        })
    }

    /// Results are misleading.
    #[must_use]
    pub fn spoils(what: impl Into<String>) -> Self {
        Self::found(Level::Spoils, what)
    }

    /// Results may be some percent off.
    #[must_use]
    pub fn careful(what: impl Into<String>) -> Self {
        Self::found(Level::Careful, what)
    }

    /// For information.
    #[must_use]
    pub fn note(what: impl Into<String>) -> Self {
        Self::found(Level::Note, what)
    }

    /// Sets a placeholder of the remedy.
    #[must_use]
    pub fn with(mut self, word: &'static str, value: impl ToString) -> Self {
        if let Self::Found(found) = &mut self {
            found.fill.push((word, value.to_string()));
        }
        self
    }

    /// Replaces the remedy of the check.
    #[must_use]
    pub fn mended_by(mut self, mend: impl Into<String>) -> Self {
        if let Self::Found(found) = &mut self {
            found.mend = Some(mend.into());
        }
        self
    }

    /// Its level.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::Passed(_) => Level::Passed,
            Self::Unseen(_) => Level::Unseen,
            Self::Found(found) => found.level,
        }
    }
}

/// Runs checks on facts. `mend` writes remedies for their subject.
#[must_use]
pub fn run<'a, F: 'a>(
    checks: impl IntoIterator<Item = &'a Check<F>>,
    facts: &F,
    of: &str,
    mend: impl Fn(Mend) -> Option<String>,
) -> Vec<Finding> {
    let findings = checks.into_iter().map(|check| {
        let about = &check.about;
        let (level, seen, mend) = match (check.judge)(facts) {
            Seen::Passed(seen) => (Level::Passed, seen, None),
            Seen::Unseen(seen) => (Level::Unseen, seen, None),
            Seen::Found(found) => {
                let mend = found.mend.or_else(|| mend(about.mend));
                let mend = mend.map(|mend| filled(mend, &found.fill));
                (found.level, found.what, mend)
            }
        };
        Finding {
            id: about.id.to_owned(),
            of: of.to_owned(),
            level,
            seen,
            why: about.why.to_owned(),
            source: about.source.to_owned(),
            mend,
        }
    });
    findings.collect()
}

/// Findings of checks that have no subject.
#[must_use]
pub fn unseen<'a, F: 'a>(
    checks: impl IntoIterator<Item = &'a Check<F>>,
    of: &str,
    why: &str,
) -> Vec<Finding> {
    let findings = checks.into_iter().map(|check| Finding {
        id: check.about.id.to_owned(),
        of: of.to_owned(),
        level: Level::Unseen,
        seen: why.to_owned(),
        why: check.about.why.to_owned(),
        source: check.about.source.to_owned(),
        mend: None,
    });
    findings.collect()
}

fn filled(mend: String, fill: &[(&'static str, String)]) -> String {
    let fill = fill.iter();
    fill.fold(mend, |mend, (word, value)| mend.replace(word, value))
}

/// The remedy on a host.
#[must_use]
pub fn on_host(mend: Mend) -> Option<String> {
    match mend {
        Mend::Nothing => None,
        Mend::Words(words) => Some(words.to_owned()),
        Mend::Setting { name, value, .. } => Some(format!("{name} = {value}")),
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
                worst: Level::Careful,
                why: "Because.",
                source: "nobody",
                mend: Mend::Words("echo none > /sys/block/DISK/queue/scheduler"),
            },
            judge: |disk: &String| Seen::careful(format!("{disk}: cfq")).with("DISK", disk),
        };
        let found = run(&[check], &"sda".to_owned(), "host", on_host);
        assert_eq!(found[0].seen, "sda: cfq");
        let mend = found[0].mend.as_deref();
        assert_eq!(mend, Some("echo none > /sys/block/sda/queue/scheduler"));
    }

    #[test]
    fn a_finding_may_replace_the_remedy() {
        let about = About {
            id: "a",
            worst: Level::Note,
            why: "Because.",
            source: "nobody",
            mend: Mend::Words("do this"),
        };
        let judge = |_: &()| Seen::note("x").mended_by("do that");
        let found = run(&[Check { about, judge }], &(), "host", on_host);
        assert_eq!(found[0].mend.as_deref(), Some("do that"));
    }
}
