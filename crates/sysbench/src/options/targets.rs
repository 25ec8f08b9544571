//! The database servers, and how to use them.

use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plan::{LoginSpec, StatementProtocol, TlsMode};
use workload::session::{FailureKind, SessionError};

use super::error::OptionError;
use super::line::CommandLine;
use super::values::{Values, number};

const MYSQL_PORT: u16 = 3306;
/// Where MySQL's client looks for the server of `localhost`.
const MYSQL_SOCKET: &str = "/run/mysqld/mysqld.sock";
/// The error of a lost connection, which the server did not report.
const LOST: u32 = 2013;
const PROTOCOLS: [(&str, StatementProtocol); 2] = [
    ("auto", StatementProtocol::Prepared),
    ("disable", StatementProtocol::Text),
];
/// What remedies say to users of dyno's own options, and to those of sysbench's; `*` is the driver.
#[rustfmt::skip] // A line for each.
const REMEDIES: [(&str, &str); 10] = [
    ("the port (", "--*-host and --*-port ("),
    ("name the socket in the URL", "name it with --*-socket"),
    ("the host, the port,", "--*-host, --*-port,"),
    ("host and port:", "--*-host and --*-port:"),
    ("check the path", "check --*-socket"),
    ("DYNO_PASSWORD or --option-file", "MYSQL_PWD"),
    (" or use dyno bench --create-database, or name another database in the URL", ", or name another database with --*-db"),
    ("run with --prepare missing", "run the command prepare"),
    ("--protocol text", "--db-ps-mode=disable"),
    ("--tls-mode required", "--mysql-ssl=on"),
];

/// The servers, and how to use them. Without `Debug`, because of the password.
pub struct Targets {
    /// `mysql` or `pgsql`.
    pub driver: String,
    /// Of each server, without the password, in the order in which connections take them, again and
    /// again. None if the user emptied the lists.
    pub urls: Vec<String>,
    pub user: String,
    pub password: String,
    /// The use of TLS.
    pub login: LoginSpec,
    pub protocol: StatementProtocol,
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
        let (variable, tls) = match driver {
            "mysql" => ("MYSQL_PWD", "mysql-ssl"),
            "pgsql" => ("PGPASSWORD", "pgsql-sslmode"),
            _ => return Err(values.invalid("db-driver")),
        };
        let name = |option: &str| format!("{driver}-{option}");
        let text = |option: &str| values.text(&name(option)).to_owned();
        let given = |option: &str| Some(text(option)).filter(|text| !text.is_empty());
        let file = |option: &str| given(option).map(PathBuf::from);
        let password = given("password").or_else(|| environment(variable));
        Ok(Self {
            driver: driver.to_owned(),
            urls: urls(values, driver)?,
            user: text("user"),
            password: password.unwrap_or_default(),
            login: LoginSpec {
                tls_mode: Some(tls_mode(tls, values.text(tls))?),
                tls_ca: file("ssl-ca"),
                tls_cert: file("ssl-cert"),
                tls_key: file("ssl-key"),
                ..LoginSpec::default()
            },
            protocol: values.choose("db-ps-mode", &PROTOCOLS)?,
            ignored_errors: values.list(&name("ignore-errors")),
            is_dry_run: values.bool(&name("dry-run")),
        })
    }

    /// A remedy in terms of sysbench's options.
    pub fn remedy(&self, text: &str) -> String {
        let own = |text: String, (dyno, sysbench): &(&str, &str)| text.replace(dyno, sysbench);
        let text = REMEDIES.iter().fold(text.to_owned(), own);
        let text = text.replace("--*", &format!("--{}", self.driver));
        // Its host may be the directory of a socket.
        text.replace("--pgsql-socket", "--pgsql-host")
    }

    /// What sysbench logs as fatal for an error that ends a run.
    pub fn fatal(&self, error: &SessionError) -> String {
        let message = &error.message;
        match &error.statement {
            _ if error.kind == FailureKind::Script => message.clone(),
            None => {
                let lost = "unable to connect to the database server, aborting...";
                format!("{lost}\nFATAL: {message}")
            }
            Some(query) if self.driver == "pgsql" => {
                format!("PQexec() failed: 7 {message}\nFATAL: failed query was: {query}")
            }
            Some(query) => {
                let number = error.number.unwrap_or(LOST);
                format!("mysql_drv_query() returned error {number} ({message}) for query '{query}'")
            }
        }
    }
}

/// Those of all sockets, or of every port of the first host, then of the next.
fn urls(values: &Values, driver: &str) -> Result<Vec<String>, OptionError> {
    let option = |name: &str| format!("{driver}-{name}");
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let [user, database] = ["user", "db"].map(|name| encoded(values.text(&option(name))));
    let by_socket = |path: &str| {
        format!(
            "mysql://{user}@localhost/{database}?socket={}",
            encoded(path)
        )
    };
    let sockets = values.list(&option("socket"));
    if !sockets.is_empty() {
        return Ok(sockets.iter().map(|path| by_socket(path)).collect());
    }
    let scheme = driver.replace("pgsql", "postgres");
    let has_socket = driver == "mysql" && Path::new(MYSQL_SOCKET).exists();
    let mut urls = Vec::new();
    for host in values.list(&option("host")) {
        for port in values.list(&option("port")) {
            let port = number::<u16>(&option("port"), &port)?;
            urls.push(match host.as_str() {
                "localhost" if port == MYSQL_PORT && has_socket => by_socket(MYSQL_SOCKET),
                _ if host.contains(':') => format!("{scheme}://{user}@[{host}]:{port}/{database}"),
                _ if host.starts_with('/') => {
                    format!("{scheme}://{user}@{}:{port}/{database}", encoded(&host))
                }
                _ => format!("{scheme}://{user}@{host}:{port}/{database}"),
            });
        }
    }
    Ok(urls)
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
