//! Why a run ends before it begins.

use std::fmt::Display;

use plan::Failure;

/// The exit code after Ctrl-C, as shells report it.
pub const INTERRUPTED: u8 = 130;

/// An error in sysbench's words, or the answer to `--help` and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionError {
    /// Without the end of its last line.
    pub message: String,
    /// Whether the message goes to stderr; else to stdout.
    pub is_stderr: bool,
    /// The exit code: 0 after an answer, else 1.
    pub exit: u8,
    /// Advice that sysbench does not give, for stderr.
    pub hint: Option<String>,
}

impl OptionError {
    fn new(message: String, is_stderr: bool, exit: u8) -> Self {
        Self {
            message,
            is_stderr,
            exit,
            hint: None,
        }
    }

    /// A command line that sysbench does not take.
    pub(crate) fn usage(message: String) -> Self {
        Self::new(message, true, 1)
    }

    /// What is fatal in sysbench's log.
    pub(crate) fn fatal(message: impl Display) -> Self {
        Self::new(format!("FATAL: {message}"), false, 1)
    }

    pub(crate) fn invalid(option: &str, value: impl Display) -> Self {
        Self::fatal(format!("Invalid value for --{option}: {value}"))
    }

    /// What was asked for in place of a run.
    pub(crate) fn answer(message: String) -> Self {
        Self::new(message, false, 0)
    }
}

/// A failure in sysbench's log, with its remedy beside it.
impl From<Failure> for OptionError {
    fn from(failure: Failure) -> Self {
        let hint = failure.remedy.as_ref();
        Self {
            hint: hint.map(|remedy| format!("help: {remedy}")),
            ..Self::fatal(&failure.message)
        }
    }
}
