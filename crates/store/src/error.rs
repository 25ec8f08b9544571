//! What can go wrong with a result directory, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// A failure to keep or read results.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the quota is full.
    #[error(
        "cannot {what} {}: {source}\n  Free some space there, or give another place with --out; \
         what was written before is kept.", path.display()
    )]
    Full {
        /// What was tried, for example `write`.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// Not allowed.
    #[error(
        "cannot {what} {}: {source}\n  Run as a user who may, or give another place with --out.",
        path.display()
    )]
    Permission {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// Results are never overwritten.
    #[error(
        "{} exists already and is not empty\n  Results are never overwritten: give another place \
         with --out, or move it away.", path.display()
    )]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// Something that dyno did not write stands where it would remove its own.
    #[error(
        "{} was not written by dyno, and would be removed with an unfinished trial\n  Move it away, \
         then try again.", path.display()
    )]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// Another dyno writes there.
    #[error("another dyno is writing to {}\n  Wait until it has ended.", path.display())]
    InUse {
        /// Where.
        path: PathBuf,
    },
    /// There is no such result.
    #[error(
        "cannot {what} {}: {source}\n  Give a result directory: one that holds result.json.",
        path.display()
    )]
    Missing {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error(
        "{}{}: not what dyno writes: {why}\n  It was changed or damaged; restore it, or leave this \
         result out.", path.display(), line.map_or(String::new(), |line| format!(":{line}"))
    )]
    Corrupt {
        /// Where.
        path: PathBuf,
        /// The line, from 1; `None` when the whole file is meant.
        line: Option<u64>,
        /// The parser's words.
        why: String,
    },
    /// A newer dyno wrote it, and its numbers may mean something else by now.
    #[error(
        "{} has schema version {version}; this dyno reads up to {known}\n  Read it with a newer dyno, \
         or leave this result out.", path.display()
    )]
    Newer {
        /// Where.
        path: PathBuf,
        /// Its version…
        version: u32,
        /// …and the newest that is known.
        known: u32,
    },
    /// More than anything dyno writes.
    #[error(
        "{} is larger than {limit} {unit}\n  dyno reads no more than that of one file, to keep \
         within memory.", path.display()
    )]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// The limit…
        limit: u64,
        /// …and what it counts.
        unit: &'static str,
    },
    /// Anything else that the operating system refuses.
    #[error("cannot {what} {}: {source}\n  See what is wrong there, or give another place with --out.", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
}

impl StoreError {
    /// Sorts an error of the operating system by what the user can do.
    pub(crate) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { what, path, source }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission { what, path, source }
            }
            // A file in place of a directory is no result either.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Self::Missing { what, path, source }
            }
            _ => Self::Io { what, path, source },
        }
    }

    /// The same as a closure for `map_err`.
    pub(crate) fn at<'a>(
        what: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self::io(what, path, source)
    }
}
