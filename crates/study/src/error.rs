//! All problems of a study, with their locations.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use crate::source::{Location, SourceText};
use plan::{Span, TextError, redact};

/// Nobody reads a longer list.
const MAX_PROBLEMS: usize = 50;

/// All problems of a study. Its display form is plain text with a paragraph for each problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyError {
    problems: Vec<Problem>,
    left_out: usize,
}

/// A problem: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
    location: Location,
    /// Another location that is involved.
    also: Option<Location>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.location.show(f, "-->")?;
        if let Some(also) = &self.also {
            also.show(f, ":::")?;
        }
        if !self.help.is_empty() {
            let last = self.also.as_ref().unwrap_or(&self.location);
            write!(f, "\n{} = help: {}", last.margin(), self.help)?;
        }
        Ok(())
    }
}

impl StudyError {
    /// The problems in the order of the file; at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            let gap = if i == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{problem}")?;
        }
        match self.left_out {
            0 => Ok(()),
            n => write!(f, "\n\n… and {n} more"),
        }
    }
}

impl std::error::Error for StudyError {}

/// An error with its location, and another location that is involved.
pub(crate) type Located = (Span, Option<Span>, TextError);

/// Where diagnostics are reported while a study is read.
pub(crate) trait Report {
    /// Reports an error at a location, with a reference to another one that is involved.
    fn report(&self, at: Span, also: Option<Span>, error: TextError);

    fn add(&self, at: Span, error: TextError) {
        self.report(at, None, error);
    }

    fn refuse(&self, at: Span, message: impl Into<String>, help: impl Into<String>) {
        self.add(at, TextError::new(message, help));
    }

    /// Like [`Report::refuse`], with a reference to another location.
    fn refuse_also(
        &self,
        at: Span,
        also: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(at, Some(also), TextError::new(message, help));
    }

    /// At the later of two locations, with a reference to the earlier.
    fn refuse_two(
        &self,
        one: Span,
        other: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.refuse_also(one.max(other), one.min(other), message, help);
    }
}

/// Collects diagnostics while the study is read.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics(RefCell<Collected>);

#[derive(Debug, Default)]
struct Collected {
    list: Vec<Located>,
    known: HashSet<(Span, Option<Span>, String)>,
    left_out: usize,
}

impl Report for Diagnostics {
    /// Adds an error that is not in the list yet. Those that differ only in the numbers of their
    /// messages are the same mistake in different trials.
    fn report(&self, at: Span, also: Option<Span>, error: TextError) {
        let is_full = self.is_full();
        let mut all = self.0.borrow_mut();
        let is_new = all.known.insert((at, also, error.help.clone()));
        match is_full {
            _ if !is_new => {}
            true => all.left_out += 1,
            false => all.list.push((at, also, error)),
        }
    }
}

impl Diagnostics {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().list.is_empty()
    }

    /// Whether further diagnostics are only counted, so that their help need not be computed.
    pub(crate) fn is_full(&self) -> bool {
        self.0.borrow().list.len() >= MAX_PROBLEMS
    }

    /// The error to show. Messages may quote values, so they are redacted as well.
    pub(crate) fn into_error(self, source: &SourceText) -> StudyError {
        let mut all = self.0.into_inner();
        all.list.sort_by_key(|(at, ..)| *at);
        let problems = all.list.into_iter().map(|(at, also, error)| Problem {
            message: redact(&error.message),
            help: redact(&error.help),
            also: also.and_then(|also| source.locate(also)),
            location: source.locate(at).unwrap_or_else(|| source.whole()),
        });
        StudyError {
            problems: problems.collect(),
            left_out: all.left_out,
        }
    }
}
