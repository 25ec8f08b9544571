//! Why a test failed.

use std::fmt::Display;
use std::io;

/// Why a test failed, in sysbench's words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct NativeError {
    /// What sysbench prints after `FATAL: `.
    pub message: String,
    /// What may be wrong; sysbench prints it after `WARNING: `.
    pub hint: Option<&'static str>,
}

impl NativeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn invalid(option: &str, value: impl Display) -> Self {
        Self::new(format!("Invalid value for {option}: {value}"))
    }

    /// A system call that failed.
    pub(crate) fn system(what: impl Display, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        let code = error.raw_os_error().unwrap_or_default();
        let text = error.to_string();
        // Without the number that the standard library adds.
        let text = text.split(" (os error").next().unwrap_or_default();
        Self::new(format!("{what} errno = {code} ({text})"))
    }

    pub(crate) fn with_hint(self, hint: &'static str) -> Self {
        Self {
            hint: Some(hint),
            ..self
        }
    }
}
