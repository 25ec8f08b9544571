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
pub enum Endpoint {
    Tcp(String, u16),
    Unix(String),
}

/// The servers, and how to use them. Without `Debug`, because of the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Targets {
    /// `mysql` or `pgsql`.
    pub driver: String,
    /// In the order in which connections take them, again and again. None if the user emptied the
    /// lists.
    pub endpoints: Vec<Endpoint>,
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
}

impl Targets {
    /// Reads the options of the driver, unless one has no meaning. `environment` has the password
    /// that they do not have.
    pub fn of(
        line: &CommandLine,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OptionError> {
        let values = &line.values;
        let driver = values.text("db-driver");
        let (variable, tls, ignored) = match driver {
            "mysql" => ("MYSQL_PWD", "mysql-ssl", values.list("mysql-ignore-errors")),
            "pgsql" => ("PGPASSWORD", "pgsql-sslmode", PGSQL_IGNORED.map(str::to_owned).into()),
            _ => return Err(OptionError::invalid("db-driver", driver)),
        };
        let name = |option: &str| format!("{driver}-{option}");
        let text = |option: &str| values.text(&name(option)).to_owned();
        let given = |option: &str| Some(text(option)).filter(|text| !text.is_empty());
        let file = |option: &str| given(option).map(PathBuf::from);
        let list = |option: &str| values.list(&name(option));
        let port = |text: &String| number::<u16>(&name("port"), text);
        let ports = list("port").iter().map(port).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            driver: driver.to_owned(),
            endpoints: match list("socket") {
                sockets if sockets.is_empty() => tcp(&list("host"), &ports),
                sockets => sockets.into_iter().map(Endpoint::Unix).collect(),
            },
            user: text("user"),
            password: given("password").or_else(|| environment(variable)).unwrap_or_default(),
            database: text("db"),
            login: LoginSpec {
                tls_mode: Some(tls_mode(tls, values.text(tls))?),
                tls_ca: file("ssl-ca"),
                tls_cert: file("ssl-cert"),
                tls_key: file("ssl-key"),
                ..LoginSpec::default()
            },
            prepares: match values.text("db-ps-mode") {
                "auto" => true,
                "disable" => false,
                mode => return Err(OptionError::invalid("db-ps-mode", mode)),
            },
            ignored_errors: ignored,
            is_dry_run: values.bool(&name("dry-run")),
        })
    }
}

/// Every port of the first host, then of the next.
fn tcp(hosts: &[String], ports: &[u16]) -> Vec<Endpoint> {
    let each = hosts.iter().flat_map(|host| {
        let ports = ports.iter();
        ports.map(move |port| Endpoint::Tcp(host.clone(), *port))
    });
    each.collect()
}

fn tls_mode(option: &str, mode: &str) -> Result<TlsMode, OptionError> {
    match mode.to_ascii_lowercase().replace('-', "_").as_str() {
        "off" | "disabled" | "disable" => Ok(TlsMode::Disable),
        "" | "preferred" | "prefer" | "allow" => Ok(TlsMode::Preferred),
        "on" | "required" | "require" => Ok(TlsMode::Required),
        "verify_ca" => Ok(TlsMode::VerifyCa),
        "verify_identity" | "verify_full" => Ok(TlsMode::VerifyFull),
        _ => Err(OptionError::invalid(option, mode)),
    }
}
