//! What a check is, and how what it saw becomes a finding.

use super::{Finding, Level};

/// Something that is looked at; `F` are the facts that it judges.
#[derive(Debug)]
pub struct Check<F> {
    /// What is said of it.
    pub about: About,
    /// Judges the facts.
    pub judge: fn(&F) -> Seen,
}

/// What is said of a check, here and in docs/doctor.md.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name. Words in capitals in `mend` stand for what a judge fills in.
    pub id: &'static str,
    /// The worst that it can find.
    pub worst: Level,
    /// In one sentence.
    pub why: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// What to do about it.
    pub mend: Mend,
}

/// What mends a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// Nothing has to be mended, or nobody can.
    Nothing,
    /// A command, or words where there is none.
    Words(&'static str),
    /// A setting of the server.
    Setting {
        /// Its name.
        name: &'static str,
        /// What to set it to.
        value: &'static str,
        /// Whether the server takes it while it runs.
        live: bool,
    },
}

/// What a judge saw, with the file or setting and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It is as it should be.
    Passed(String),
    /// Why it could not be looked at.
    Unseen(String),
    /// It is not.
    Found(Found),
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    level: Level,
    what: String,
    /// What the words in capitals stand for.
    fill: Vec<(&'static str, String)>,
    /// What mends it here, where that is not what mends it elsewhere.
    mend: Option<String>,
}

impl Seen {
    /// It is as it should be.
    #[must_use]
    pub fn passed(what: impl Into<String>) -> Self {
        Self::Passed(what.into())
    }

    /// It could not be looked at.
    #[must_use]
    pub fn unseen(why: impl Into<String>) -> Self {
        Self::Unseen(why.into())
    }

    /// It is not as it should be.
    #[must_use]
    pub fn found(level: Level, what: impl Into<String>) -> Self {
        Self::Found(Found {
            level,
            what: what.into(),
            fill: Vec::new(),
            mend: None,
        })
    }

    /// Numbers that are measured with it mislead.
    #[must_use]
    pub fn spoils(what: impl Into<String>) -> Self {
        Self::found(Level::Spoils, what)
    }

    /// It may be meant, or cost a little.
    #[must_use]
    pub fn careful(what: impl Into<String>) -> Self {
        Self::found(Level::Careful, what)
    }

    /// For information.
    #[must_use]
    pub fn note(what: impl Into<String>) -> Self {
        Self::found(Level::Note, what)
    }

    /// Says what a word in capitals of the mend stands for.
    #[must_use]
    pub fn with(mut self, word: &'static str, value: impl ToString) -> Self {
        if let Self::Found(found) = &mut self {
            found.fill.push((word, value.to_string()));
        }
        self
    }

    /// Says what mends it here, in place of what the check says.
    #[must_use]
    pub fn mended_by(mut self, mend: impl Into<String>) -> Self {
        if let Self::Found(found) = &mut self {
            found.mend = Some(mend.into());
        }
        self
    }

    /// How much it matters.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::Passed(_) => Level::Passed,
            Self::Unseen(_) => Level::Unseen,
            Self::Found(found) => found.level,
        }
    }
}

/// Runs checks over facts. `mend` writes down what to do with what is looked at.
#[must_use]
pub fn run<F>(
    checks: &[Check<F>],
    facts: &F,
    of: &str,
    mend: impl Fn(Mend) -> Option<String>,
) -> Vec<Finding> {
    let findings = checks.iter().map(|check| {
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

/// The same checks where there is nothing to look at.
#[must_use]
pub fn unseen<F>(checks: &[Check<F>], of: &str, why: &str) -> Vec<Finding> {
    let findings = checks.iter().map(|check| Finding {
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

/// What to do on a host.
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
    fn the_mend_names_what_was_found() {
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
    fn a_finding_may_know_better_what_mends_it() {
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
