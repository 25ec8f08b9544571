//! All problems of a study, with their locations.

use std::collections::HashSet;
use std::fmt;

use crate::source::{SourceLine, SourceText};
use plan::{Span, redact};

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
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
    /// Where the problem is; `None` if it concerns no location.
    pub location: Option<Location>,
    /// Another location that is involved.
    pub also: Option<Location>,
}

/// The location of a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub(crate) path: String,
    pub(crate) line: Option<SourceLine>,
}

impl Location {
    /// The file, or `--set key=value`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Line and column, both from 1; `None` for an override.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        self.line.as_ref().map(|line| (line.number, line.column))
    }

    fn show(&self, f: &mut fmt::Formatter<'_>, arrow: &str) -> fmt::Result {
        match &self.line {
            None => write!(f, "\n {arrow} {}", self.path),
            Some(line) => {
                let margin = " ".repeat(line.number.to_string().len());
                let (number, column) = (line.number, line.column);
                writeln!(f, "\n{margin}{arrow} {}:{number}:{column}", self.path)?;
                write!(f, "{line}")
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(location) = &self.location {
            location.show(f, "-->")?;
        }
        if let Some(also) = &self.also {
            also.show(f, ":::")?;
        }
        if !self.help.is_empty() {
            let last = self.also.as_ref().or(self.location.as_ref());
            let line = last.and_then(Location::line_column);
            let margin = line.map_or(1, |(number, _)| number.to_string().len());
            write!(f, "\n{} = help: {}", " ".repeat(margin), self.help)?;
        }
        Ok(())
    }
}

impl StudyError {
    /// The problems in the order of the file; at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Appends the problems of `other`.
    pub fn and(mut self, other: Self) -> Self {
        self.problems.extend(other.problems);
        self.left_out += other.left_out;
        self
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

/// What is wrong with a value, and what to do; its location is added later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    pub(crate) message: String,
    pub(crate) help: String,
    /// Another location that is involved.
    pub(crate) also: Option<Span>,
}

impl Diagnostic {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
            also: None,
        }
    }

    /// With another location that is involved.
    pub(crate) fn also(self, place: Span) -> Self {
        Self {
            also: Some(place),
            ..self
        }
    }
}

/// Collects diagnostics while the study is read.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<(Span, Diagnostic)>,
    known: HashSet<(Span, Option<Span>, String)>,
    left_out: usize,
}

impl Diagnostics {
    /// Adds a diagnostic that is not in the list yet. Those that differ only in the numbers of their
    /// messages are the same mistake in different trials.
    pub(crate) fn add(&mut self, span: Span, diagnostic: Diagnostic) {
        if !self
            .known
            .insert((span, diagnostic.also, diagnostic.help.clone()))
        {
            return;
        }
        match self.is_full() {
            true => self.left_out += 1,
            false => self.list.push((span, diagnostic)),
        }
    }

    /// Adds a diagnostic that concerns two locations: at the later one, with a reference to the
    /// earlier.
    pub(crate) fn add_of_two(&mut self, one: Span, other: Span, diagnostic: Diagnostic) {
        self.add(one.max(other), diagnostic.also(one.min(other)));
    }

    pub(crate) fn one(span: Span, diagnostic: Diagnostic) -> Self {
        let list = vec![(span, diagnostic)];
        Self {
            list,
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether further diagnostics are only counted, so that their help need not be computed.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MAX_PROBLEMS
    }

    /// The error to show. Messages may quote values, so they are redacted as well.
    pub(crate) fn into_error(mut self, source: &SourceText) -> StudyError {
        self.list.sort_by_key(|(span, _)| *span);
        let problems = self.list.into_iter().map(|(span, diagnostic)| Problem {
            message: redact(&diagnostic.message),
            help: redact(&diagnostic.help),
            also: diagnostic.also.and_then(|span| source.locate(span)),
            location: source.locate(span).or_else(|| {
                Some(Location {
                    path: source.label.clone(),
                    line: None,
                })
            }),
        });
        StudyError {
            problems: problems.collect(),
            left_out: self.left_out,
        }
    }
}
