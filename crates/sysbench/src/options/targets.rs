//! The database servers, and how to use them.

use std::path::PathBuf;

use plan::{LoginSpec, TlsMode};

use super::error::OptionError;
use super::line::CommandLine;
use super::values::number;

/// The SQLSTATEs that never end a run of PostgreSQL.
const PGSQL_IGNORED: [&str; 3] = ["40P01", "23505", "40001"];

/// Where one connection goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint<'a> {
    Tcp { host: &'a str, port: u16 },
    Unix(&'a str),
}

/// The servers, and how to use them. Without `Debug`, because of the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Targets {
    /// `mysql` or `pgsql`.
    pub driver: String,
    pub user: String,
    pub password: String,
    pub database: String,
    /// The use of TLS.
    pub login: LoginSpec,
    /// Whether the server prepares statements.
    pub prepares: bool,
    /// Numbers or SQLSTATEs, or `all`.
    pub ignored_errors: Vec<String>,
    /// Whether there are no connections, and every statement succeeds.
    pub is_dry_run: bool,
    hosts: Vec<String>,
    ports: Vec<u16>,
    sockets: Vec<String>,
}

impl Targets {
    /// Reads the options of the driver, unless one has no meaning. `environment` has the password
    /// that they do not have.
    pub fn of(
        line: &CommandLine,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OptionError> {
        let values = &line.values;
        let driver = values.text("db_driver");
        let (variable, tls, ignored) = match driver {
            "mysql" => ("MYSQL_PWD", "ssl", values.list("mysql_ignore_errors")),
            "pgsql" => ("PGPASSWORD", "sslmode", PGSQL_IGNORED.map(str::to_owned).into()),
            _ => {
                let message = format!("invalid database driver name: '{driver}'");
                return Err(OptionError::fatal(message));
            }
        };
        let name = |option: &str| format!("{driver}_{option}");
        let text = |option: &str| values.text(&name(option)).to_owned();
        let given = |option: &str| Some(text(option)).filter(|text| !text.is_empty());
        let file = |option: &str| given(option).map(PathBuf::from);
        let ports = values.list(&name("port"));
        let ports = ports.iter().map(|port| number::<u16>(&name("port"), port));
        Ok(Self {
            driver: driver.to_owned(),
            user: text("user"),
            password: given("password").or_else(|| environment(variable)).unwrap_or_default(),
            database: text("db"),
            login: LoginSpec {
                tls_mode: Some(tls_mode(&name(tls), &text(tls))?),
                tls_ca: file("ssl_ca"),
                tls_cert: file("ssl_cert"),
                tls_key: file("ssl_key"),
                ..LoginSpec::default()
            },
            prepares: prepares(values.text("db_ps_mode"))?,
            ignored_errors: ignored,
            is_dry_run: values.bool(&name("dry_run")),
            hosts: values.list(&name("host")),
            ports: ports.collect::<Result<Vec<_>, _>>()?,
            sockets: values.list(&name("socket")),
        })
    }

    /// The servers, in the order in which connections take them, again and again. None if the
    /// user emptied the lists.
    pub fn endpoints(&self) -> impl Iterator<Item = Endpoint<'_>> {
        let sockets = self.sockets.iter().map(|path| Endpoint::Unix(path));
        let hosts = self.hosts.iter().filter(move |_| self.sockets.is_empty());
        sockets.chain(hosts.flat_map(move |host| {
            let ports = self.ports.iter();
            ports.map(move |&port| Endpoint::Tcp { host, port })
        }))
    }
}

fn prepares(mode: &str) -> Result<bool, OptionError> {
    match mode {
        "auto" => Ok(true),
        "disable" => Ok(false),
        _ => Err(OptionError::fatal(format!("Invalid value for db-ps-mode: {mode}"))),
    }
}

fn tls_mode(name: &str, mode: &str) -> Result<TlsMode, OptionError> {
    match mode.to_ascii_lowercase().replace('-', "_").as_str() {
        "off" | "disabled" | "disable" => Ok(TlsMode::Disable),
        "" | "preferred" | "prefer" | "allow" => Ok(TlsMode::Preferred),
        "on" | "required" | "require" => Ok(TlsMode::Required),
        "verify_ca" => Ok(TlsMode::VerifyCa),
        "verify_identity" | "verify_full" => Ok(TlsMode::VerifyFull),
        _ => {
            let name = name.replace('_', "-");
            Err(OptionError::usage(format!("invalid option: --{name}={mode}")))
        }
    }
}
