//! A database that can be loaded and driven, whichever engine it is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client::mysql::{
    Connection, SCHEMES, Target, TargetError, TlsOptions, refusal_remedy, unless_hung,
};
use client::reactor::{Reactor, unless};
use client::sqlite::{self, SqliteTarget};
use load::STALL_LIMIT;
use workload::schema::Dialect;
use workload::session::{FailureKind, SessionError};

use crate::failure::{Cause, Failure};

/// A database that somebody answers for.
#[derive(Debug, Clone)]
pub enum Database {
    /// A server of MySQL's protocol.
    Mysql {
        /// How to reach it.
        target: Arc<Target>,
        /// As it names itself: `MariaDB 10.11.14`.
        engine: String,
        /// Protocol version and cipher, where there is TLS.
        tls: Option<String>,
    },
    /// A file, in process.
    Sqlite(Arc<SqliteTarget>),
}

/// How to reach a database, besides its URL.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// How much TLS.
    pub tls: TlsOptions,
    /// For a URL that names no user.
    pub user: String,
    /// For a URL that holds no password.
    pub password: Option<String>,
    /// Whether to create a server's database if it does not exist. SQLite always does.
    pub create_database: bool,
}

impl Database {
    /// Reads the URL and makes sure that somebody answers there; a database of SQLite
    /// may be temporary, in the directory that `temporary` gives.
    ///
    /// # Errors
    /// When the URL names no database, or nobody answers.
    pub(crate) fn open<'a>(
        url: &str,
        access: &Access,
        temporary: impl FnOnce() -> Result<&'a Path, Failure>,
    ) -> Result<Self, Failure> {
        if url.starts_with("sqlite:") {
            let target = SqliteTarget::parse_in(url, temporary()?)
                .map_err(|error| Failure::new(Cause::Usage, error))?;
            return Self::sqlite(target);
        }
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        if !SCHEMES.contains(&scheme) {
            let message = format!("{url:?} names no database that dyno drives");
            let remedy = "write mysql://user@host:3306/database (or mariadb://…) or sqlite:file";
            return Err(Failure::new(Cause::Usage, message).remedy(Some(remedy)));
        }
        let target = Target::parse(url, access.password.as_deref(), &access.user, &access.tls)
            .map_err(|error| Failure::new(target_cause(&error), error))?;
        if access.create_database {
            create_if_missing(&target)?;
        }
        Self::mysql(target)
    }

    fn sqlite(target: SqliteTarget) -> Result<Self, Failure> {
        match target.open() {
            Ok(_) => Ok(Self::Sqlite(Arc::new(target))),
            Err(error) => {
                let failure = sqlite::session_error(&error, None);
                let message = format!(
                    "cannot open {}: {}",
                    target.path().display(),
                    failure.message
                );
                let remedy = sqlite::error_remedy(failure.code);
                Err(Failure::new(Cause::Server, message).remedy(remedy))
            }
        }
    }

    pub(crate) fn mysql(target: Target) -> Result<Self, Failure> {
        let never = AtomicBool::new(false);
        let (version, is_mariadb, tls) = connected(&target, &never, async |connection| {
            Ok((
                connection.server_version().to_owned(),
                connection.is_mariadb(),
                connection.tls_description(),
            ))
        })?;
        // MariaDB 10 calls itself "5.5.5-10.11.14-MariaDB-…" to old replicas.
        let version = version.trim_start_matches("5.5.5-");
        let ends = |c: char| c == '-' || c.is_whitespace();
        let number = version.split(ends).next().unwrap_or(version);
        let engine = if is_mariadb { "MariaDB" } else { "MySQL" };
        Ok(Self::Mysql {
            target: Arc::new(target),
            engine: format!("{engine} {number}"),
            tls,
        })
    }

    /// Its dialect of SQL.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Mysql { .. } => Dialect::Mysql,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// The engine and its version.
    #[must_use]
    pub fn engine(&self) -> String {
        match self {
            Self::Mysql { engine, .. } => engine.clone(),
            Self::Sqlite(_) => format!("SQLite {}", sqlite::version()),
        }
    }

    /// Protocol version and cipher, where there is TLS.
    #[must_use]
    pub fn tls(&self) -> Option<String> {
        match self {
            Self::Mysql { tls, .. } => tls.clone(),
            Self::Sqlite(_) => None,
        }
    }

    /// Its URL, without the password.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Mysql { target, .. } => target.shown(),
            Self::Sqlite(target) => target.shown(),
        }
    }

    /// How to reach a server; `None` for a database in process.
    #[must_use]
    pub fn target(&self) -> Option<&Arc<Target>> {
        match self {
            Self::Mysql { target, .. } => Some(target),
            Self::Sqlite(_) => None,
        }
    }

    /// The file of a database in process.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Mysql { .. } => None,
            Self::Sqlite(target) => Some(target.path()),
        }
    }

    /// What the user can do about an error of a statement.
    #[must_use]
    pub fn remedy(&self, error: &SessionError) -> Option<&'static str> {
        match self {
            Self::Mysql { .. }
                if matches!(error.kind, FailureKind::Lost | FailureKind::Away)
                    && error.code == 0 =>
            {
                Some("look into the server's error log for why the connection ended")
            }
            Self::Mysql { .. } => refusal_remedy(u16::try_from(error.code).ok()?),
            Self::Sqlite(_) => sqlite::error_remedy(error.code),
        }
    }
}

/// The server's error number of a database that does not exist.
const UNKNOWN_DATABASE: u16 = 1049;

/// Creates the database unless it exists; an account without the right to create one can still
/// use one that does.
fn create_if_missing(target: &Target) -> Result<(), Failure> {
    let never = AtomicBool::new(false);
    let name = format!("`{}`", target.database.replace('`', "``"));
    connected(
        &target.without_database(),
        &never,
        async |connection| match connection.run(&format!("USE {name}")).await {
            Err(error) if error.code() == Some(UNKNOWN_DATABASE) => {
                let sql = format!("CREATE DATABASE IF NOT EXISTS {name}");
                connection.run(&sql).await.map(|_| ())
            }
            used => used.map(|_| ()),
        },
    )
}

/// Does some work on one connection to a server, unless the user stops before it is done.
pub(crate) fn connected<T>(
    target: &Target,
    interrupted: &AtomicBool,
    work: impl AsyncFnOnce(&mut Connection) -> Result<T, client::mysql::Error>,
) -> Result<T, Failure> {
    let internal = |error| Failure::new(Cause::Internal, error);
    let reactor = Reactor::new().map_err(internal)?;
    let whole = async {
        let mut connection = Connection::open(target).await?;
        let done = work(&mut connection).await?;
        connection.close().await;
        Ok(done)
    };
    let stopped = || interrupted.load(Ordering::Relaxed);
    let whole = unless_hung(target, STALL_LIMIT, || 0, whole);
    match reactor.block_on(unless(stopped, whole)).map_err(internal)? {
        Some(done) => done.and_then(|done| done).map_err(mysql_failure),
        None => Err(Failure::new(Cause::Interrupted, "interrupted")),
    }
}

/// A failure of the MySQL client with its remedy.
pub(crate) fn mysql_failure(error: client::mysql::Error) -> Failure {
    let remedy = error.remedy();
    Failure::new(Cause::Server, error).remedy(remedy)
}

fn target_cause(error: &TargetError) -> Cause {
    match error {
        TargetError::Host { .. } => Cause::Server,
        TargetError::Url(_) | TargetError::Tls(_) => Cause::Usage,
    }
}
