//! A server and an account: `postgres://user:password@host:port/database?name=value`.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::utf8_percent_encode;

use super::parameters::Parameters;
use super::passfile;
use crate::endpoint::{Endpoint, IN_NAME, IN_QUERY, TargetError};
use crate::error::NoPassword;
use crate::net::Address;
use crate::tls::{TlsMode, TlsOptions};

const DEFAULT_PORT: u16 = 5432;
/// The database that sysbench uses.
const DEFAULT_DATABASE: &str = "sbtest";
/// Directories of servers' Unix sockets: of Debian's and Red Hat's packages, and of PostgreSQL
/// itself.
const SOCKET_DIRECTORIES: [&str; 3] = ["/run/postgresql", "/var/run/postgresql", "/tmp"];

/// A server and an account. It is shown without the password.
#[derive(Clone)]
pub struct Target {
    pub(super) endpoint: Endpoint,
    pub user: String,
    /// The password, or why there is none.
    pub(super) password: Result<String, NoPassword>,
    /// The database that holds the tables.
    pub database: String,
    pub(super) channel_binding: ChannelBindingMode,
    pub(super) tls: TlsOptions,
    /// Settings of the session (`-c name=value`).
    pub(super) options: Option<String>,
    pub(super) application_name: String,
    /// The parameters for sessions, as in a URL.
    query: String,
}

/// Whether SCRAM must be bound to the TLS connection (libpq's `channel_binding`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChannelBindingMode {
    Disable,
    Prefer,
    Require,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A URL of server, account, and sessions, without the password.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = utf8_percent_encode(&self.user, &IN_NAME);
        let database = utf8_percent_encode(&self.database, &IN_NAME);
        let (host, port) = (&self.endpoint.host, self.endpoint.port);
        let host = utf8_percent_encode(host, &IN_QUERY);
        let (authority, place) = match &self.endpoint.address {
            Address::Unix(_) => (String::new(), format!("host={host}&port={port}")),
            Address::Tcp(_) => (self.endpoint.authority(), String::new()),
        };
        let query = [place.as_str(), &self.query];
        let query: Vec<_> = query.into_iter().filter(|part| !part.is_empty()).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let query = query.join("&");
        write!(f, "postgres://{user}@{authority}/{database}{mark}{query}")
    }
}

impl Target {
    /// Parses a URL. What it omits comes from the arguments, a service file, and libpq's variables
    /// in `environment`, in this order. `password` is used if the URL has none, `default_user` if
    /// nothing names a user.
    pub fn parse(
        url: &str,
        password: Option<&str>,
        default_user: &str,
        tls: &TlsOptions,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, TargetError> {
        let mut parameters = Parameters::from_url(url).map_err(malformed)?;
        if let Some(password) = password {
            parameters.add("password", password);
        }
        parameters.add_service(environment).map_err(malformed)?;
        parameters.add_environment(environment);
        let port = match parameters.get("port") {
            None => DEFAULT_PORT,
            Some(text) => match text.parse() {
                Ok(port @ 1..) => port,
                _ => return Err(malformed(format!("{text:?} is not a port"))),
            },
        };
        let host = match parameters.get("host") {
            Some(host) => host.to_owned(),
            None => default_host(port),
        };
        let tls = merged(&parameters, tls)?;
        let text = |name| parameters.get(name).map(str::to_owned);
        let user = text("user").unwrap_or_else(|| default_user.to_owned());
        let database = text("dbname").unwrap_or_else(|| DEFAULT_DATABASE.to_owned());
        let port_text = port.to_string();
        let login = [host_in_pass_file(&host), &port_text, &database, &user];
        Ok(Self {
            password: password_of(&parameters, login, environment),
            channel_binding: channel_binding(&parameters)?,
            options: text("options"),
            query: parameters.query(),
            application_name: text("application_name").unwrap_or_else(|| "dyno".to_owned()),
            // A host that is a path is the directory of the Unix socket, where the server offers no
            // TLS; libpq ignores its sslmode there, too.
            endpoint: {
                let socket = host.starts_with('/').then(|| socket(&host, port));
                Endpoint::new(host, port, socket, false, &tls)?
            },
            user,
            database,
            tls,
        })
    }

    /// The password, if there is one, and how the connection is secured.
    pub fn secrets(&self) -> (Option<&str>, &TlsOptions) {
        (self.password.as_deref().ok(), &self.tls)
    }

    /// The same server and account, but another database.
    pub fn with_database(&self, name: &str) -> Self {
        Self {
            database: name.to_owned(),
            ..self.clone()
        }
    }
}

/// The directory with a server's socket for this port; `localhost` if there is none.
fn default_host(port: u16) -> String {
    let found = SOCKET_DIRECTORIES
        .iter()
        .find(|directory| socket(directory, port).exists());
    (*found.unwrap_or(&"localhost")).to_owned()
}

fn socket(directory: &str, port: u16) -> PathBuf {
    Path::new(directory).join(format!(".s.PGSQL.{port}"))
}

/// libpq looks up the usual sockets as `localhost`.
fn host_in_pass_file(host: &str) -> &str {
    match SOCKET_DIRECTORIES.contains(&host) {
        true => "localhost",
        false => host,
    }
}

fn password_of(
    parameters: &Parameters,
    login: passfile::Login<'_>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, NoPassword> {
    if let Some(password) = parameters.get("password") {
        return Ok(password.to_owned());
    }
    let in_home = || Some(Path::new(&environment("HOME")?).join(".pgpass"));
    let file = parameters.path("passfile").or_else(in_home);
    match file.map(|file| passfile::find(&file, login)) {
        Some(Ok(Some(password))) => Ok(password),
        Some(Err(why)) => Err(NoPassword::PassFile(why)),
        Some(Ok(None)) | None => Err(NoPassword::NotGiven),
    }
}

fn malformed(why: String) -> TargetError {
    TargetError::Url(format!(
        "{why}; a server is named like postgres://user@host:5432/sbtest or postgres://user@/sbtest?host=/run/postgresql"
    ))
}

/// The TLS settings of options and parameters; options take precedence.
fn merged(parameters: &Parameters, options: &TlsOptions) -> Result<TlsOptions, TargetError> {
    let ca = parameters.path("sslrootcert");
    let means_system = ca.as_deref() == Some(Path::new("system"));
    let mode = match parameters.get("sslmode") {
        None if means_system => Some(TlsMode::VerifyFull),
        None => None,
        Some("disable") => Some(TlsMode::Disable),
        Some("allow" | "prefer") => Some(TlsMode::Preferred),
        // With an authority, libpq verifies that it signed the certificate.
        Some("require") if ca.is_some() => Some(TlsMode::VerifyCa),
        Some("require") => Some(TlsMode::Required),
        Some("verify-ca") => Some(TlsMode::VerifyCa),
        Some("verify-full") => Some(TlsMode::VerifyFull),
        Some(other) => {
            return Err(malformed(format!(
                "sslmode {other:?} is unknown; known are disable, allow, prefer, require, verify-ca and verify-full"
            )));
        }
    };
    let path = |name| parameters.path(name);
    Ok(TlsOptions {
        mode: options.mode.or(mode),
        ca: options.ca.clone().or(ca.filter(|_| !means_system)),
        certificate: options.certificate.clone().or_else(|| path("sslcert")),
        key: options.key.clone().or_else(|| path("sslkey")),
        ..options.clone()
    })
}

fn channel_binding(parameters: &Parameters) -> Result<ChannelBindingMode, TargetError> {
    match parameters.get("channel_binding") {
        None | Some("prefer") => Ok(ChannelBindingMode::Prefer),
        Some("disable") => Ok(ChannelBindingMode::Disable),
        Some("require") => Ok(ChannelBindingMode::Require),
        Some(other) => Err(malformed(format!(
            "channel_binding {other:?} is unknown; known are disable, prefer and require"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, TargetError> {
        Target::parse(url, None, "me", &TlsOptions::default(), &|_| None)
    }

    #[test]
    fn what_is_left_out_has_defaults() {
        let target = parse("postgres://127.0.0.1").unwrap();
        assert_eq!(target.to_string(), "postgres://me@127.0.0.1:5432/sbtest");
        assert_eq!(target.endpoint.tls_mode, TlsMode::Preferred);
        assert_eq!(target.password, Err(NoPassword::NotGiven));
    }

    #[test]
    fn a_url_names_all_parts() {
        let target = parse("postgresql://a:p%3aw@[::1]:5433/shop").unwrap();
        assert_eq!(target.password.as_deref(), Ok("p:w"));
        assert_eq!(target.to_string(), "postgres://a@[::1]:5433/shop");
    }

    #[test]
    fn a_path_is_the_directory_of_the_socket() {
        for url in [
            "postgres://u@/d?host=/run/x&port=7&sslmode=verify-full",
            "postgres://u@%2Frun%2Fx:7/d",
        ] {
            let target = parse(url).unwrap();
            let expected = Address::Unix("/run/x/.s.PGSQL.7".into());
            assert_eq!(target.endpoint.address, expected);
            let place = "postgres://u@/d?host=/run/x&port=7";
            assert!(target.to_string().starts_with(place), "{target:?}");
            assert_eq!(target.endpoint.tls_mode, TlsMode::Disable);
        }
    }

    #[test]
    fn a_target_is_shown_as_its_url() {
        for url in [
            "postgres://a%40b%3Ac@127.0.0.1:5432/d%2F%3F%23%25",
            "postgres://a%20b@/d%40e?host=/x+y%26%20z%25&port=7",
        ] {
            assert_eq!(parse(url).unwrap().to_string(), url);
        }
    }

    #[test]
    fn libpqs_variables_are_defaults() {
        let environment = |name: &str| {
            Some(String::from(match name {
                "PGHOST" => "127.0.0.1",
                "PGPORT" => "7",
                "PGUSER" => "u",
                "PGDATABASE" => "d",
                "PGPASSWORD" => "p",
                "PGSSLMODE" => "require",
                "PGAPPNAME" => "a",
                "PGOPTIONS" => "-c x=y",
                _ => return None,
            }))
        };
        let none = TlsOptions::default();
        let parse = |url, password| Target::parse(url, password, "me", &none, &environment);
        let target = parse("postgres://", None).unwrap();
        let shown =
            "postgres://u@127.0.0.1:7/d?application_name=a&options=-c%20x=y&sslmode=require";
        assert_eq!(target.to_string(), shown);
        assert_eq!(parse(shown, None).unwrap().to_string(), shown);
        assert_eq!(target.password.as_deref(), Ok("p"));
        assert_eq!(target.endpoint.tls_mode, TlsMode::Required);
        assert_eq!(target.application_name, "a");
        assert_eq!(target.options.as_deref(), Some("-c x=y"));
        let url = "postgres://x:y@[::1]:9/z?sslmode=disable";
        let target = parse(url, Some("not this")).unwrap();
        let expected = "postgres://x@[::1]:9/z?application_name=a&options=-c%20x=y&sslmode=disable";
        assert_eq!(target.to_string(), expected);
        assert_eq!(target.password.as_deref(), Ok("y"));
        assert_eq!(target.endpoint.tls_mode, TlsMode::Disable);
        let given = parse("postgres://", Some("given")).unwrap();
        assert_eq!(given.password.as_deref(), Ok("given"));
    }

    #[test]
    fn modes_of_tls_are_libpqs() {
        for (query, mode) in [
            ("sslmode=disable", TlsMode::Disable),
            ("sslmode=allow", TlsMode::Preferred),
            ("sslmode=prefer", TlsMode::Preferred),
            ("sslmode=require", TlsMode::Required),
            ("sslmode=require&sslrootcert=ca.pem", TlsMode::VerifyCa),
            ("sslrootcert=ca.pem", TlsMode::VerifyFull),
            ("sslrootcert=system", TlsMode::VerifyFull),
            ("sslmode=verify-ca", TlsMode::VerifyCa),
        ] {
            let parameters = Parameters::from_url(&format!("postgres://h/d?{query}")).unwrap();
            let options = merged(&parameters, &TlsOptions::default()).unwrap();
            assert_eq!(options.mode(), mode, "{query}");
        }
        let disable = TlsOptions {
            mode: Some(TlsMode::Disable),
            ..TlsOptions::default()
        };
        let url = "postgres://127.0.0.1/d?sslmode=require";
        let target = Target::parse(url, None, "me", &disable, &|_| None).unwrap();
        assert_eq!(
            target.endpoint.tls_mode,
            TlsMode::Disable,
            "an option comes first"
        );
    }

    #[test]
    fn the_password_is_never_shown() {
        let target = parse("postgres://u:secret@127.0.0.1/x").unwrap();
        assert!(!format!("{target:?} {target}").contains("secret"));
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        for url in [
            "postgres://127.0.0.1/d?sslmode=on",
            "postgres://127.0.0.1/d?channel_binding=on",
            "postgres://127.0.0.1:0/d",
            "postgres://127.0.0.1:70000/d",
            "mysql://127.0.0.1/d",
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains("postgres://user@host"), "{message}");
        }
    }
}
