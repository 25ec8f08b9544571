//! The database under load, whichever engine it is.

use std::path::Path;
use std::sync::Arc;

use client::mysql::{Connection, Target, TlsMode, TlsOptions, refusal_remedy};
use client::reactor::Reactor;
use client::sqlite::{self, SqliteTarget};
use workload::schema::Dialect;
use workload::session::{FailureKind, SessionError};

use crate::cli::{ConnectionArgs, TlsModeArg};
use crate::failure::{Exit, Failure};
use crate::secrets::{OptionFile, PASSWORD_VARIABLE};

/// A database that can be loaded and driven.
#[derive(Debug, Clone)]
pub(crate) enum Server {
    Mysql {
        target: Arc<Target>,
        /// `MariaDB 10.11.14`.
        engine: String,
        tls: Option<String>,
    },
    Sqlite(Arc<SqliteTarget>),
}

/// How to reach it, besides its URL.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) tls: TlsOptions,
    pub(crate) file: OptionFile,
}

impl Access {
    pub(crate) fn of(args: &ConnectionArgs) -> Result<Self, Failure> {
        // Who names an authority wants it checked.
        let asks_to_check = args.tls_ca.is_some() && args.tls_mode == TlsModeArg::Preferred;
        let mode = match args.tls_mode {
            _ if asks_to_check => TlsMode::VerifyFull,
            TlsModeArg::Disable => TlsMode::Disable,
            TlsModeArg::Preferred => TlsMode::Preferred,
            TlsModeArg::Required => TlsMode::Required,
            TlsModeArg::VerifyCa => TlsMode::VerifyCa,
            TlsModeArg::VerifyFull => TlsMode::VerifyFull,
        };
        let file = args.option_file.as_deref().map(OptionFile::read);
        Ok(Self {
            tls: TlsOptions {
                mode,
                ca: args.tls_ca.clone(),
                certificate: args.tls_cert.clone(),
                key: args.tls_key.clone(),
            },
            file: file.transpose()?.unwrap_or_default(),
        })
    }
}

impl Server {
    /// Reads the URL and makes sure that somebody answers there.
    pub(crate) fn open(url: &str, access: &Access) -> Result<Self, Failure> {
        if url.starts_with("sqlite:") {
            let target =
                SqliteTarget::parse(url).map_err(|error| Failure::new(Exit::Usage, error))?;
            return Self::sqlite(target);
        }
        if !url.starts_with("mysql:") {
            let message = format!("{url:?} names no database that dyno drives");
            let remedy = "write mysql://user@host:3306/database or sqlite:file";
            return Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)));
        }
        let password = std::env::var(PASSWORD_VARIABLE)
            .ok()
            .or(access.file.password.clone());
        let user = access
            .file
            .user
            .clone()
            .or_else(|| std::env::var("USER").ok())
            .unwrap_or_else(|| "root".to_owned());
        let target = Target::parse(url, password.as_deref(), &user, &access.tls)
            .map_err(|error| Failure::new(target_exit(&error), error))?;
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
                Err(Failure::new(Exit::Server, message).remedy(remedy))
            }
        }
    }

    fn mysql(target: Target) -> Result<Self, Failure> {
        let reactor = Reactor::new().map_err(|error| Failure::new(Exit::Internal, error))?;
        let opened = reactor.block_on(async {
            let connection = Connection::open(&target).await?;
            let version = connection.server_version().to_owned();
            let (is_mariadb, tls) = (connection.is_mariadb(), connection.tls_description());
            connection.close().await;
            Ok::<_, client::mysql::Error>((version, is_mariadb, tls))
        });
        let (version, is_mariadb, tls) = opened
            .map_err(|error| Failure::new(Exit::Internal, error))?
            .map_err(mysql_failure)?;
        // MariaDB 10 calls itself "5.5.5-10.11.14-MariaDB-…" to old replicas.
        let version = version.trim_start_matches("5.5.5-");
        let number = version.split('-').next().unwrap_or(version);
        let engine = if is_mariadb { "MariaDB" } else { "MySQL" };
        Ok(Self::Mysql {
            target: Arc::new(target),
            engine: format!("{engine} {number}"),
            tls,
        })
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Mysql { .. } => Dialect::Mysql,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    pub(crate) fn engine(&self) -> String {
        match self {
            Self::Mysql { engine, .. } => engine.clone(),
            Self::Sqlite(_) => format!("SQLite {}", sqlite::version()),
        }
    }

    pub(crate) fn tls(&self) -> Option<String> {
        match self {
            Self::Mysql { tls, .. } => tls.clone(),
            Self::Sqlite(_) => None,
        }
    }

    /// The database without its password.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Mysql { target, .. } => target.shown(),
            Self::Sqlite(target) => target.shown(),
        }
    }

    /// The file of a database in process.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Mysql { .. } => None,
            Self::Sqlite(target) => Some(target.path()),
        }
    }

    /// What the user can do about an error of a statement.
    pub(crate) fn remedy(&self, error: &SessionError) -> Option<&'static str> {
        match self {
            Self::Mysql { .. } if error.kind == FailureKind::Lost && error.code == 0 => {
                Some("look into the server's error log for why the connection ended")
            }
            Self::Mysql { .. } => refusal_remedy(u16::try_from(error.code).ok()?),
            Self::Sqlite(_) => sqlite::error_remedy(error.code),
        }
    }
}

/// A failure of the MySQL client with its remedy.
pub(crate) fn mysql_failure(error: client::mysql::Error) -> Failure {
    let remedy = error.remedy();
    Failure::new(Exit::Server, error).remedy(remedy)
}

fn target_exit(error: &client::mysql::TargetError) -> Exit {
    match error {
        client::mysql::TargetError::Host { .. } => Exit::Server,
        client::mysql::TargetError::Url(_) | client::mysql::TargetError::Tls(_) => Exit::Usage,
    }
}
