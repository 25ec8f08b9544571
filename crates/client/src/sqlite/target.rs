//! The URL of a database: `sqlite:` (temporary) or `sqlite:path/to/file`, with settings such as
//! `?journal_mode=delete&synchronous=full`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

/// How long a connection waits for another one's lock before `SQLITE_BUSY`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const JOURNAL_MODES: [&str; 6] = ["wal", "delete", "truncate", "persist", "memory", "off"];
const SYNCHRONOUS: [&str; 4] = ["normal", "full", "extra", "off"];

#[derive(Debug)]
pub struct SqliteTarget {
    path: PathBuf,
    journal_mode: String,
    synchronous: String,
    /// Removed with the target.
    temporary: Option<tempfile::TempDir>,
}

impl SqliteTarget {
    /// Parses a URL. The default is WAL with `synchronous=normal`, as in servers that embed SQLite.
    /// A temporary database is created in `directory`, if given.
    pub fn parse(url: &str, directory: Option<&Path>) -> Result<Self, String> {
        let rest = url.strip_prefix("sqlite:");
        let rest =
            rest.ok_or_else(|| malformed(&format!("{url:?} does not begin with sqlite:")))?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        // An absolute path, sqlite:///path, has an empty host.
        let path = path.strip_prefix("//").unwrap_or(path);
        let (mut journal_mode, mut synchronous) = ("wal", "normal");
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("journal_mode", value)) => {
                    journal_mode = one_of("journal_mode", value, &JOURNAL_MODES)?;
                }
                Some(("synchronous", value)) => {
                    synchronous = one_of("synchronous", value, &SYNCHRONOUS)?;
                }
                _ => return Err(malformed(&format!("the parameter {pair:?} is unknown"))),
            }
        }
        let temporary = path.is_empty().then(|| temporary_directory(directory));
        let temporary = temporary.transpose()?;
        let path = match &temporary {
            Some(directory) => directory.path().join("dyno.sqlite"),
            None => PathBuf::from(path),
        };
        Ok(Self {
            path,
            journal_mode: journal_mode.to_owned(),
            synchronous: synchronous.to_owned(),
            temporary,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a write-ahead log.
    pub fn has_log(&self) -> bool {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        Path::new(&log).exists()
    }

    /// The database and its settings, for messages.
    pub fn shown(&self) -> String {
        let name = match &self.temporary {
            Some(_) => "sqlite: (temporary)".to_owned(),
            None => format!("sqlite:{}", self.path.display()),
        };
        format!(
            "{name}, journal_mode={}, synchronous={}",
            self.journal_mode, self.synchronous
        )
    }

    pub fn open(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", &self.journal_mode)?;
        connection.pragma_update(None, "synchronous", &self.synchronous)?;
        Ok(connection)
    }
}

fn malformed(why: &str) -> String {
    format!(
        "{why}; a database is named like sqlite: (temporary) or sqlite:path/to/file?journal_mode=wal&synchronous=full"
    )
}

fn temporary_directory(parent: Option<&Path>) -> Result<tempfile::TempDir, String> {
    let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
    let created = tempfile::Builder::new().prefix("dyno-").tempdir_in(&parent);
    created.map_err(|error| {
        format!(
            "cannot create a temporary directory in {}: {error}; set TMPDIR to a directory with free space",
            parent.display()
        )
    })
}

fn one_of<'a>(key: &str, value: &str, known: &[&'a str]) -> Result<&'a str, String> {
    let found = known.iter().copied().find(|known| *known == value);
    found.ok_or_else(|| {
        let known = known.join(", ");
        malformed(&format!("{key}={value} is unknown (one of {known})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_database_goes_with_its_target() {
        let target = SqliteTarget::parse("sqlite:", None).unwrap();
        target
            .open()
            .unwrap()
            .execute_batch("CREATE TABLE t(x)")
            .unwrap();
        let path = target.path().to_owned();
        assert!(path.exists());
        drop(target);
        assert!(!path.exists());
    }

    #[test]
    fn settings_are_checked() {
        let parse = |url| SqliteTarget::parse(url, None);
        let target = parse("sqlite:/x/y.db?journal_mode=delete&synchronous=full").unwrap();
        let expected = "sqlite:/x/y.db, journal_mode=delete, synchronous=full";
        assert_eq!(target.shown(), expected);
        assert!(parse("sqlite:x?journal_mode=wall").is_err());
        assert!(parse("sqlite:x?speed=11").is_err());
    }
}
