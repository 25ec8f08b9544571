//! What a check is, and how what it saw becomes a finding.

use measure::finding::{Finding, Level};

/// Something that is looked at; `F` are the facts that it judges.
#[derive(Debug)]
pub(super) struct Check<F> {
    pub(super) about: About,
    pub(super) judge: fn(&F) -> Seen,
}

/// What is said of a check, here and in docs/doctor.md.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    /// Words in capitals in it and in `mend` stand for what a judge fills in.
    pub(super) id: &'static str,
    /// The worst that it can find.
    pub(super) worst: Level,
    /// In one sentence.
    pub(super) why: &'static str,
    /// Who says so.
    pub(super) source: &'static str,
    pub(super) mend: Mend,
}

/// What mends a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mend {
    /// Nothing has to be mended, or nobody can.
    Nothing,
    /// A command, or words where there is none.
    Words(&'static str),
    /// A setting of the server.
    Setting {
        name: &'static str,
        value: &'static str,
        /// Whether the server takes it while it runs.
        live: bool,
    },
}

/// What a judge saw, with the file or setting and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Passed(String),
    /// Why it could not be looked at.
    Unseen(String),
    Found(Found),
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) level: Level,
    pub(super) what: String,
    /// What the words in capitals stand for.
    fill: Vec<(&'static str, String)>,
    /// What mends it here, where that is not what mends it elsewhere.
    mend: Option<String>,
}

impl Seen {
    pub(super) fn passed(what: impl Into<String>) -> Self {
        Self::Passed(what.into())
    }

    pub(super) fn unseen(why: impl Into<String>) -> Self {
        Self::Unseen(why.into())
    }

    pub(super) fn found(level: Level, what: impl Into<String>) -> Self {
        Self::Found(Found {
            level,
            what: what.into(),
            fill: Vec::new(),
            mend: None,
        })
    }

    pub(super) fn spoils(what: impl Into<String>) -> Self {
        Self::found(Level::Spoils, what)
    }

    pub(super) fn careful(what: impl Into<String>) -> Self {
        Self::found(Level::Careful, what)
    }

    pub(super) fn note(what: impl Into<String>) -> Self {
        Self::found(Level::Note, what)
    }

    /// Says what a word in capitals of the mend stands for.
    pub(super) fn with(mut self, word: &'static str, value: impl ToString) -> Self {
        if let Self::Found(found) = &mut self {
            found.fill.push((word, value.to_string()));
        }
        self
    }

    /// Says what mends it here, in place of what the check says.
    pub(super) fn mended_by(mut self, mend: impl Into<String>) -> Self {
        if let Self::Found(found) = &mut self {
            found.mend = Some(mend.into());
        }
        self
    }

    #[cfg(test)]
    pub(super) fn level(&self) -> Level {
        match self {
            Self::Passed(_) => Level::Passed,
            Self::Unseen(_) => Level::Unseen,
            Self::Found(found) => found.level,
        }
    }
}

/// Runs checks over facts. `mend` writes down what to do with what is looked at.
pub(super) fn run<F>(
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
pub(super) fn unseen<F>(checks: &[Check<F>], of: &str, why: &str) -> Vec<Finding> {
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
pub(super) fn on_host(mend: Mend) -> Option<String> {
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
