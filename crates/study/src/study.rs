//! A study as written.

use crate::check;
use crate::content::Content;
use crate::error::{Diagnostics, Report, StudyError};
use crate::pair::{self, Refusal};
use crate::read::not_one_of;
use crate::repeats;
use crate::source::SourceText;
use crate::walk::{Walk, overrides};
use crate::written::quoted;
use plan::{EngineTraits, Plan, Span, Spanned, TextError, Trial, is_lua, shown};
use toml::de::DeValue;

/// The largest study file that is read, in bytes (1 MiB).
pub const MAX_FILE_BYTES: usize = 1 << 20;
const WORKLOAD: &str = "load.workload";
/// Precedes each override in the text of a study as it was run.
const OVERRIDE: &str = "# --set ";

/// A study as written: well-formed, and not yet expanded to trials. Neither its debug form
/// nor its stored text contains a password.
#[derive(Debug, Clone)]
pub struct Study {
    source: SourceText,
    content: Content,
    /// Of all points, in the order of the study.
    trials: Vec<Trial>,
    engines: &'static [EngineTraits],
}

impl Study {
    /// Reads a study. Messages refer to the text as `label`, which is its path; `engines` are
    /// the engines that it may name.
    pub fn parse(
        label: &str,
        text: &str,
        engines: &'static [EngineTraits],
    ) -> Result<Self, StudyError> {
        Self::parse_with_overrides(label, text, &[], engines)
    }

    /// Reads a study and replaces the value of each overridden `(key, value)`, also in every
    /// variant. A value is TOML or, if it does not parse, a plain string. An override of an
    /// axis's key leaves the axis that one value; `sweep.KEY` replaces the values of an axis;
    /// `server.engine` and `server.url` replace each other.
    pub fn parse_with_overrides(
        label: &str,
        text: &str,
        overrides: &[(&str, &str)],
        engines: &'static [EngineTraits],
    ) -> Result<Self, StudyError> {
        let mut walk = Walk::default();
        let trials = match read(text, overrides, &mut walk) {
            true => check::trials(&walk.content, engines, &walk.diagnostics),
            false => Vec::new(),
        };
        let source = SourceText::new(label, text, overrides, &walk.secrets);
        if !walk.diagnostics.is_empty() {
            return Err(walk.diagnostics.into_error(&source));
        }
        Ok(Self {
            source,
            content: walk.content,
            trials,
            engines,
        })
    }

    /// Reads what [`Study::as_run`] wrote, including the overrides.
    pub fn parse_as_run(
        label: &str,
        text: &str,
        engines: &'static [EngineTraits],
    ) -> Result<Self, StudyError> {
        let (mut changes, mut file) = (Vec::new(), text);
        while let Some((change, rest)) = file
            .strip_prefix(OVERRIDE)
            .and_then(|change| change.split_once('\n'))
        {
            changes.push(unquoted(change));
            file = rest;
        }
        let overrides = changes.iter().filter_map(|change| change.split_once('='));
        let overrides: Vec<_> = overrides.collect();
        Self::parse_with_overrides(label, file, &overrides, engines)
    }

    /// The trials of the study and what to report about them.
    pub fn plan(&self) -> Plan {
        repeats::plan(&self.content, &self.trials, self.engines)
    }

    /// The text of a study whose variants are this study and another one, with the names in
    /// [`SIDES`](crate::SIDES). `compare` has the lines of its `[compare]`.
    pub fn against(&self, new: &Self, title: &str, compare: &str) -> Result<String, StudyError> {
        let refused =
            |side: &Self, (at, error): Refusal| side.error_at(at, error.message, error.help);
        for side in [self, new] {
            pair::obstacle(&side.content).map_or(Ok(()), |found| Err(refused(side, found)))?;
        }
        let text = pair::text([&self.content, &new.content], title, compare);
        text.map_err(|refusal| refused(new, refusal))
    }

    /// The first location where the study sets a key; `None` if it does not.
    pub fn place(&self, key: &str) -> Option<Span> {
        self.content.place(key)
    }

    /// The study as it is run, for its result directory: the overrides as comments before the
    /// text of the file, without passwords. A stored result belongs to this study if it has the
    /// same text.
    pub fn as_run(&self) -> String {
        let mut text = String::new();
        for change in &self.source.overrides {
            // A comment ends with its line.
            let is_plain = !change.starts_with('"') && !change.contains(char::is_control);
            let change = if is_plain { change } else { &quoted(change) };
            text.push_str(&format!("{OVERRIDE}{change}\n"));
        }
        // If the file begins like an override, as a stored study may, it is not read as one.
        if self.source.file.text.starts_with(OVERRIDE) {
            text.push('\n');
        }
        text + &self.source.file.text
    }

    /// An error at a location in this study, for conditions that only the caller can check.
    pub fn error_at(
        &self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> StudyError {
        let diagnostics = Diagnostics::default();
        diagnostics.refuse(span, message, help);
        diagnostics.into_error(&self.source)
    }

    /// Checks the words that only the caller knows.
    pub fn check(&self, known: &Vocabulary<'_>) -> Result<(), StudyError> {
        let diagnostics = Diagnostics::default();
        for typed in self.content.values(WORKLOAD) {
            let word = typed.as_text().unwrap_or_default();
            if !known.workloads.contains(&word) && !is_lua(word) {
                diagnostics.add(typed.span, not_one_of(WORKLOAD, word, known.workloads));
            }
        }
        let has_variants = !self.content.variants.is_empty();
        let is_known = |column: &Spanned<String>| {
            let help = (known.unknown_column)(column, has_variants);
            if let Some(help) = &help {
                let message = format!("unknown column `{}`", shown(column));
                diagnostics.refuse(column.span, message, help.clone());
            }
            help.is_none()
        };
        for column in self.content.tables.iter().flat_map(|t| &t.columns) {
            is_known(column);
        }
        let thresholds = self.content.thresholds.iter();
        for threshold in thresholds.filter(|threshold| is_known(&threshold.column)) {
            let condition = &threshold.condition;
            if let Some(error) = (known.invalid_condition)(&threshold.column, condition) {
                diagnostics.add(condition.span, error);
            }
        }
        match diagnostics.is_empty() {
            true => Ok(()),
            false => Err(diagnostics.into_error(&self.source)),
        }
    }
}

/// Undoes the quoting of an override that did not fit on one line.
fn unquoted(change: &str) -> String {
    let quoted = change.starts_with('"').then(|| DeValue::parse(change));
    let quoted = quoted.and_then(Result::ok);
    let text = quoted.as_ref().and_then(|value| value.get_ref().as_str());
    text.unwrap_or(change).to_owned()
}

/// What the caller knows of the words in a study.
pub struct Vocabulary<'a> {
    pub workloads: &'a [&'a str],
    /// What to write instead of an unknown column, also of one that needs the variants of a study.
    pub unknown_column: fn(&str, bool) -> Option<String>,
    /// What is wrong with the condition of a threshold.
    pub invalid_condition: fn(&str, &str) -> Option<TextError>,
}

/// Whether the text could be read. A function of its own, with little on the stack: dropping deeply
/// nested tables takes most of it.
fn read(text: &str, overrides: &[(&str, &str)], walk: &mut Walk) -> bool {
    if let Some(error) = too_large(text, overrides) {
        walk.diagnostics.add(Span::NOWHERE, error);
        return false;
    }
    let Some(root) = crate::syntax::tables(text, &walk.diagnostics) else {
        return false;
    };
    walk.file(root.get_ref());
    overrides::apply(walk, overrides);
    true
}

fn too_large(text: &str, overrides: &[(&str, &str)]) -> Option<TextError> {
    let set_bytes: usize = overrides.iter().map(|(k, v)| k.len() + v.len()).sum();
    let mut parts = [("file is", text.len()), ("overrides are", set_bytes)].into_iter();
    let (what, bytes) = parts.find(|(_, bytes)| *bytes > MAX_FILE_BYTES)?;
    let message = format!("the {what} too large: {bytes} bytes");
    let help = format!("the limit is {MAX_FILE_BYTES} bytes (1 MiB)");
    Some(TextError::new(message, help))
}
