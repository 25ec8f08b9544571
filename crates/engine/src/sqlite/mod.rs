//! SQLite, in process.

mod database;
mod load;

use std::path::Path;
use std::sync::Arc;

use client::sqlite::{DIALECT, SqliteTarget, error_remedy, session_error};
use workload::schema::Dialect;

use crate::database::{Access, Database};
use crate::engine::{Engine, InProcess};
use database::SqliteDatabase;
use plan::Failure;

pub const SQLITE: &dyn Engine = &Sqlite;

#[derive(Debug)]
struct Sqlite;

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn title(&self) -> &'static str {
        "SQLite"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["sqlite"]
    }

    fn url_syntax(&self) -> String {
        "sqlite:[FILE]".to_owned()
    }

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn open(
        &self,
        url: &str,
        _: &Access,
        directory: Option<&Path>,
    ) -> Result<Arc<dyn Database>, Failure> {
        let target = match directory {
            Some(directory) => SqliteTarget::parse_in(url, directory),
            None => SqliteTarget::parse(url),
        };
        let target = target.map_err(Failure::usage)?;
        match target.open() {
            Ok(_) => Ok(Arc::new(SqliteDatabase::new(target))),
            Err(error) => {
                let path = target.path().display();
                Err(failed(&error, None).context(format!("cannot open {path}")))
            }
        }
    }

    fn in_process(&self) -> Option<InProcess> {
        Some(InProcess {
            engine: SQLITE,
            version: client::sqlite::version(),
            temporary_url: "sqlite:",
            absolute_url,
        })
    }
}

fn failed(error: &rusqlite::Error, statement: Option<&str>) -> Failure {
    let error = session_error(error, statement);
    Failure::server(&error).perhaps(error.number.and_then(error_remedy))
}

fn absolute_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("sqlite:").unwrap_or(url);
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, settings) = match rest.split_once('?') {
        Some((path, settings)) => (path, format!("?{settings}")),
        None => (rest, String::new()),
    };
    if path.is_empty() {
        return (!settings.is_empty()).then(|| format!("sqlite://{settings}"));
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| Path::new(path).to_owned());
    Some(format!("sqlite://{}{settings}", whole.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_made_absolute() {
        for (url, found) in [
            ("sqlite:", None),
            ("sqlite://", None),
            (
                "sqlite:?journal_mode=off",
                Some("sqlite://?journal_mode=off"),
            ),
            (
                "sqlite:/a/b?synchronous=full",
                Some("sqlite:///a/b?synchronous=full"),
            ),
            ("sqlite:///a/b", Some("sqlite:///a/b")),
        ] {
            assert_eq!(absolute_url(url).as_deref(), found, "{url}");
        }
        let here = std::env::current_dir().unwrap();
        let found = format!("sqlite://{}/a.db", here.display());
        assert_eq!(absolute_url("sqlite:a.db"), Some(found));
    }
}
