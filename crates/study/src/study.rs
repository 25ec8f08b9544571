//! What was typed.

use std::collections::BTreeMap;

use crate::check;
use crate::error::{Fault, Faults, StudyError};
use crate::overrides;
use crate::plan::Plan;
use crate::redact::{Redacted, redact};
use crate::source::Source;
use crate::span::{Span, Spanned};
use crate::suggest::shown;
use crate::value::Value;
use crate::walk::{Axis, Typed};

/// The largest study file that is read, in bytes (1 MiB).
pub const MAX_FILE_BYTES: usize = 1 << 20;
/// The most trials of one study.
pub const MAX_TRIALS: usize = 10_000;

/// A study as typed, well-formed but not yet expanded. Neither its debug form
/// nor its stored text holds a password.
#[derive(Debug, Clone)]
pub struct Study {
    source: Source,
    settings: BTreeMap<&'static str, Spanned<Value>>,
    axes: Vec<Axis>,
}

impl Study {
    /// Reads a study; `label` names the text in messages (its path).
    pub fn parse(label: &str, text: &str) -> Result<Self, StudyError> {
        Self::parse_with_overrides(label, text, &[])
    }

    /// Reads a study, then puts `(key, value)` in place of what it says. A
    /// value is TOML, else a plain string. An overridden key is no longer an
    /// axis; `sweep.KEY` overrides an axis; `server.engine` and `server.url`
    /// take each other's place.
    pub fn parse_with_overrides(
        label: &str,
        text: &str,
        overrides: &[(&str, &str)],
    ) -> Result<Self, StudyError> {
        let mut source = Source {
            label: shown(label),
            file: Redacted::default(),
            overrides: overrides
                .iter()
                .map(|(k, v)| redact(&format!("{k}={v}")))
                .collect(),
        };
        if let Some(fault) = too_large(text, overrides) {
            return Err(Faults::one(Span::NOWHERE, fault).into_error(&source));
        }
        source.file = Redacted::new(text, &[]);
        let root = crate::syntax::tables(text).map_err(|faults| faults.into_error(&source))?;
        let mut typed = Typed::default();
        typed.file(root.get_ref());
        overrides::apply(&mut typed, overrides);
        check::whole(&mut typed);
        source.file = Redacted::new(text, &typed.secrets_in_file());
        overrides::hide(&mut source, &typed, overrides);
        if !typed.faults.is_empty() {
            return Err(typed.faults.into_error(&source));
        }
        Ok(Self {
            source,
            settings: typed.settings,
            axes: typed.axes,
        })
    }

    /// What the study means.
    pub fn plan(&self) -> Result<Plan, StudyError> {
        crate::build::plan(&self.settings, &self.axes)
            .map_err(|(span, fault)| self.error(span, fault))
    }

    /// The text of the file with every password replaced by `***`.
    pub fn source_redacted(&self) -> &str {
        &self.source.file.text
    }

    /// The overrides as `key=value`, in order, without passwords.
    pub fn overrides_redacted(&self) -> &[String] {
        &self.source.overrides
    }

    /// An error at a place of this study, for what only the caller can check.
    pub fn error_at(
        &self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> StudyError {
        self.error(span, Fault::new(message, help))
    }

    /// Checks the words of keys whose values only the caller knows, such as
    /// `("load.workload", &["oltp_read_write", …])`: every word at once, with
    /// the nearest one suggested.
    pub fn check_words(&self, allowed: &[(&str, &[&str])]) -> Result<(), StudyError> {
        let mut faults = Faults::default();
        for (name, words) in allowed {
            let swept = self
                .axes
                .iter()
                .filter(|a| a.key.name == *name)
                .flat_map(|a| &a.values);
            for typed in self.settings.get(name).into_iter().chain(swept) {
                if let Value::Text(text) = &typed.value
                    && !words.contains(&text.as_str())
                {
                    faults.add(typed.span, crate::read::not_one_of(name, text, words));
                }
            }
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults.into_error(&self.source))
        }
    }

    fn error(&self, span: Span, fault: Fault) -> StudyError {
        Faults::one(span, fault).into_error(&self.source)
    }
}

fn too_large(text: &str, overrides: &[(&str, &str)]) -> Option<Fault> {
    let set_bytes: usize = overrides.iter().map(|(k, v)| k.len() + v.len()).sum();
    let limit = format!("the limit is {MAX_FILE_BYTES} bytes (1 MiB)");
    if text.len() > MAX_FILE_BYTES {
        return Some(Fault::new(
            format!("the file is too large: {} bytes", text.len()),
            limit,
        ));
    }
    (set_bytes > MAX_FILE_BYTES).then(|| {
        Fault::new(
            format!("the overrides are too large: {set_bytes} bytes"),
            limit,
        )
    })
}
