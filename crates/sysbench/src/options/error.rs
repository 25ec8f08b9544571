//! Why a run ends before it begins.

use std::fmt::Display;

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// An error in sysbench's words, or the answer to `--help` and the like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    /// Without the end of its last line.
    pub message: String,
    pub stream: Stream,
    /// The exit code; 0 after most answers.
    pub exit: u8,
    /// Advice that sysbench does not give, for stderr.
    pub hint: Option<String>,
}

impl OptionError {
    pub(crate) fn new(stream: Stream, exit: u8, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            stream,
            exit,
            hint: None,
        }
    }

    /// A command line that sysbench does not take.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Stream::Stderr, 1, message)
    }

    /// What was asked for in place of a run.
    pub(crate) fn answer(text: String, exit: u8) -> Self {
        Self::new(Stream::Stdout, exit, text)
    }

    /// What is fatal in sysbench's log.
    pub(crate) fn fatal(message: impl Display) -> Self {
        Self::new(Stream::Stdout, 1, format!("FATAL: {message}"))
    }
}
