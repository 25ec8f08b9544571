//! Errors of result directories, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "{} already exists and is not empty\n  Results are never overwritten: choose another \
         directory with --out, or move this one.", path.display()
    )]
    Exists { path: PathBuf },
    /// A directory that dyno would remove contains something that it did not write.
    #[error(
        "{} was not written by dyno, and would be removed with an unfinished trial\n  Move it, \
         then try again.", path.display()
    )]
    Foreign { path: PathBuf },
    #[error("another dyno is writing to {}\n  Wait until it ends.", path.display())]
    InUse { path: PathBuf },
    /// A file is damaged or was not written by dyno.
    #[error(
        "{}{}: not a file that dyno wrote: {why}\n  It was changed or damaged; restore it, or leave \
         this result out.", path.display(), line.map_or(String::new(), |line| format!(":{line}"))
    )]
    Corrupt {
        path: PathBuf,
        /// The line, from 1; `None` for the whole file.
        line: Option<u64>,
        why: String,
    },
    /// Another version of dyno wrote it, whose fields have another meaning.
    #[error(
        "{} was written by {} dyno: schema version {version}; this dyno reads version \
         {known}\n  Read it with the version of dyno that wrote it, or run its study again.",
        path.display(), if version < known { "an older" } else { "a newer" }
    )]
    Version {
        path: PathBuf,
        version: u32,
        known: u32,
    },
    /// It is larger than anything that dyno writes.
    #[error(
        "{} is larger than {limit} {unit}\n  dyno reads no more than that of one file, to limit \
         its memory.", path.display()
    )]
    TooLarge {
        path: PathBuf,
        limit: u64,
        unit: &'static str,
    },
    #[error("cannot {what} {}: {source}\n  {}", path.display(), remedy(what, source.kind()))]
    Io {
        /// The operation, for example `write`.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

fn remedy(what: &str, kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if what == "create" => {
            "Choose another directory with --out, below one in which files can be created."
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free some space, or choose another directory with --out; what was written before is kept."
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Run as a user with permission, or choose another directory with --out."
        }
        // A file in place of a directory is not a result either.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            "Name a result directory: one that contains result.json."
        }
        _ => "Fix the cause, or choose another directory with --out.",
    }
}

impl StoreError {
    pub fn is_missing(&self) -> bool {
        use io::ErrorKind::{NotADirectory, NotFound};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), NotFound | NotADirectory))
    }

    /// For a line from 1; `None` for the whole file.
    pub(crate) fn corrupt(path: &Path, line: Option<u64>, why: impl Into<String>) -> Self {
        let (path, why) = (path.to_owned(), why.into());
        Self::Corrupt { path, line, why }
    }

    pub(crate) fn too_large(path: &Path, limit: u64, unit: &'static str) -> Self {
        let path = path.to_owned();
        Self::TooLarge { path, limit, unit }
    }

    /// Something that must not exist yet cannot be created.
    pub(crate) fn cannot_create(path: &Path) -> impl FnOnce(io::Error) -> Self + use<'_> {
        |error| match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists {
                path: path.to_owned(),
            },
            _ => Self::at("create", path)(error),
        }
    }

    /// An error of the operating system at a path, as a closure for `map_err`.
    pub(crate) fn at<'a>(
        what: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self::Io {
            what,
            path: path.to_owned(),
            source,
        }
    }
}
