//! Why something failed, and how dyno ends because of it.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Span;

/// How dyno ends after a failure. The numbers are exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    Threshold = 1,
    /// Bad usage or a bad study. Includes a study that this host cannot run, if that is known
    /// before anything starts.
    Usage = 2,
    /// A server could not be started or reached, or refused the work.
    Server = 3,
    /// The user interrupted, the server was lost, or a disk is full: results so far are kept.
    Interrupted = 4,
    /// An error in dyno, or of the operating system.
    Internal = 5,
}

/// Distinctions that callers need besides [`Exit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    Io(#[serde(with = "io_kind")] ErrorKind),
    NoProgram,
    Endless,
    PortTaken,
    /// A server rejected its settings or ended before it was ready. Another one with the same
    /// settings would fail in the same way.
    NotStarted,
    /// An agent works for another run.
    Busy,
    /// A fault was to affect or heal a server that does not run.
    NotRunning,
}

/// What failed, why, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub exit: Exit,
    /// What failed, where, and why, with the server's message if there is one.
    pub message: String,
    pub remedy: Option<String>,
    pub key: Option<String>,
    #[serde(skip)]
    pub span: Option<Span>,
    pub fact: Option<Fact>,
}

impl Failure {
    pub fn new(exit: Exit, message: impl Display) -> Self {
        Self {
            exit,
            message: message.to_string(),
            remedy: None,
            key: None,
            span: None,
            fact: None,
        }
    }

    pub fn threshold(message: impl Display) -> Self {
        Self::new(Exit::Threshold, message)
    }

    pub fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub fn server(message: impl Display) -> Self {
        Self::new(Exit::Server, message)
    }

    pub fn interrupted(message: impl Display) -> Self {
        Self::new(Exit::Interrupted, message)
    }

    pub fn internal(message: impl Display) -> Self {
        Self::new(Exit::Internal, message)
    }

    /// The operating system refused an operation on a file, such as `write`. For `map_err`.
    pub fn at<'a, E: Into<io::Error>, P: AsRef<Path> + ?Sized>(
        what: &'a str,
        path: &'a P,
    ) -> impl FnOnce(E) -> Self + Copy + use<'a, E, P> {
        move |error| {
            let error: io::Error = error.into();
            Self::server(format!(
                "cannot {what} {}: {error}",
                path.as_ref().display()
            ))
            .perhaps(io_remedy(error.kind()))
            .fact(Fact::Io(error.kind()))
        }
    }

    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        self.perhaps(Some(remedy))
    }

    /// Adds a remedy if there is one.
    pub fn perhaps(mut self, remedy: Option<impl Into<String>>) -> Self {
        self.remedy = remedy.map(Into::into);
        self
    }

    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    pub fn span(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    pub fn fact(mut self, fact: Fact) -> Self {
        self.fact = Some(fact);
        self
    }

    /// Prepends what failed because of this failure.
    pub fn context(mut self, what: impl Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    pub fn is(&self, fact: Fact) -> bool {
        self.fact == Some(fact)
    }

    pub fn is_interrupted(&self) -> bool {
        self.exit == Exit::Interrupted
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Kinds of errors as words, of which only those are kept that callers distinguish.
mod io_kind {
    use std::io::ErrorKind;

    use serde::{Deserialize, Deserializer, Serializer};

    const KINDS: [(&str, ErrorKind); 3] = [
        ("full", ErrorKind::StorageFull),
        ("quota", ErrorKind::QuotaExceeded),
        ("missing", ErrorKind::NotFound),
    ];

    pub(super) fn serialize<S: Serializer>(kind: &ErrorKind, to: S) -> Result<S::Ok, S::Error> {
        let known = KINDS.iter().find(|(_, known)| known == kind);
        to.serialize_str(known.map_or("other", |(word, _)| word))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<ErrorKind, D::Error> {
        let word = String::deserialize(from)?;
        let known = KINDS.iter().find(|(known, _)| *known == word);
        Ok(known.map_or(ErrorKind::Other, |(_, kind)| *kind))
    }
}

fn io_remedy(error: ErrorKind) -> Option<&'static str> {
    Some(match error {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some disk space, or choose another disk: DYNO_CACHE_DIR for dyno's cache, volume.directory for the servers' data"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "remount it read-write (mount -o remount,rw), or set DYNO_CACHE_DIR to a directory on another disk"
        }
        ErrorKind::PermissionDenied => {
            "run as a user with permission, or set DYNO_CACHE_DIR to a directory of your own"
        }
        _ => return None,
    })
}
