//! Which server, as whom: `mysql://user:password@host:port/database?socket=/path`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::pki_types::ServerName;

use super::password::Permissions;
use crate::net::Address;
use crate::tls::{TlsMode, TlsOptions};

/// The schemes of a URL that names a server; both mean the same protocol.
pub const SCHEMES: [&str; 2] = ["mysql", "mariadb"];
/// MySQL's port.
pub const DEFAULT_PORT: u16 = 3306;
/// The database that sysbench uses.
const DEFAULT_DATABASE: &str = "sbtest";

/// A server and an account. Its `Debug` and [`Target::shown`] hide the password.
#[derive(Clone)]
pub struct Target {
    /// Where the server listens.
    pub(super) address: Address,
    /// The host as the user wrote it, for messages and certificates.
    pub(super) host: String,
    pub(super) port: u16,
    /// The account.
    pub user: String,
    pub(super) password: String,
    /// The database that holds the tables.
    pub database: String,
    pub(super) tls_mode: TlsMode,
    pub(super) tls: Option<(Arc<rustls::ClientConfig>, ServerName<'static>)>,
    pub(super) permissions: Permissions,
}

/// A URL or an option that names no server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The text is not of the form.
    #[error(
        "{0}; a server is named like mysql://user@host:3306/sbtest or mysql://user@localhost/sbtest?socket=/run/mysqld/mysqld.sock"
    )]
    Url(String),
    /// The name has no address.
    #[error("the host {host:?} was not found: {why}; check the name, or write the address")]
    Host {
        /// As written.
        host: String,
        /// The system's words.
        why: String,
    },
    /// TLS options that do not work.
    #[error("TLS: {0}")]
    Tls(String),
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Target {
    /// Reads a URL. `password` is used when the URL has none; `default_user` when
    /// it names nobody.
    ///
    /// # Errors
    /// When the URL is not of the form, the host has no address, or the TLS
    /// options do not work.
    pub fn parse(
        url: &str,
        password: Option<&str>,
        default_user: &str,
        tls: &TlsOptions,
    ) -> Result<Self, TargetError> {
        let parsed = url::Url::parse(url)
            .map_err(|error| TargetError::Url(format!("this is no URL: {error}")))?;
        if !SCHEMES.contains(&parsed.scheme()) {
            return Err(TargetError::Url(format!(
                "{:?} is neither mysql: nor mariadb:",
                parsed.scheme()
            )));
        }
        check_unreserved(&parsed)?;
        let host = parsed
            .host_str()
            .unwrap_or("localhost")
            .trim_matches(['[', ']'])
            .to_owned();
        let port = parsed.port().unwrap_or(DEFAULT_PORT);
        let address = match socket_path(&parsed)? {
            Some(path) => Address::Unix(path),
            None => resolve(&host, port)?,
        };
        tls.check().map_err(TargetError::Tls)?;
        let permissions = Permissions::from(tls);
        let tls_mode = match (&address, tls.mode()) {
            // Nobody can read along on a Unix socket, as MySQL's clients see it too.
            (Address::Unix(_), TlsMode::Preferred) => TlsMode::Disable,
            (_, mode) => mode,
        };
        let tls = (tls_mode != TlsMode::Disable)
            .then(|| {
                let name = ServerName::try_from(host.clone())
                    .map_err(|_| format!("{host:?} can be in no certificate"))?;
                Ok((tls.client_config()?, name))
            })
            .transpose()
            .map_err(TargetError::Tls)?;
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = match parsed.username() {
            "" => default_user.to_owned(),
            user => decoded(user),
        };
        let database = match decoded(parsed.path().trim_start_matches('/')) {
            path if path.is_empty() => DEFAULT_DATABASE.to_owned(),
            path => path,
        };
        Ok(Self {
            address,
            host,
            port,
            user,
            password: parsed
                .password()
                .map(decoded)
                .or_else(|| password.map(str::to_owned))
                .unwrap_or_default(),
            database,
            tls_mode,
            tls,
            permissions,
        })
    }

    /// Pins the server's RSA public key (PEM), with which it gets the password where it
    /// asks for the password itself.
    #[must_use]
    pub fn with_server_public_key(mut self, pem: Vec<u8>) -> Self {
        self.permissions.pin(pem);
        self
    }

    /// The same server and account without a default database, for when it does not exist yet.
    #[must_use]
    pub fn without_database(&self) -> Self {
        Self {
            database: String::new(),
            ..self.clone()
        }
    }

    /// The addresses that its host has; none for a Unix socket, which is on this host.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        match &self.address {
            Address::Unix(_) => &[],
            Address::Tcp(addresses) => addresses,
        }
    }

    /// The server and account, without the password.
    #[must_use]
    pub fn shown(&self) -> String {
        let (user, database) = (&self.user, &self.database);
        match &self.address {
            Address::Unix(path) => format!(
                "mysql://{user}@localhost/{database}?socket={}",
                path.display()
            ),
            Address::Tcp(_) if self.host.contains(':') => {
                format!("mysql://{user}@[{}]:{}/{database}", self.host, self.port)
            }
            Address::Tcp(_) => format!("mysql://{user}@{}:{}/{database}", self.host, self.port),
        }
    }
}

/// Refuses a URL that its author probably meant differently: a `#`, `/` or `?` in a password
/// ends the host part, and the rest is read as a path or a fragment.
fn check_unreserved(url: &url::Url) -> Result<(), TargetError> {
    if url.fragment().is_none() && !url.path().contains('@') {
        return Ok(());
    }
    Err(TargetError::Url(
        "the URL has a '#', or an '@' after its host; in a password or a name write # as %23, @ as %40, / as %2F, ? as %3F, % as %25".to_owned(),
    ))
}

fn socket_path(url: &url::Url) -> Result<Option<PathBuf>, TargetError> {
    let mut socket = None;
    for (key, value) in url.query_pairs() {
        match key.as_ref() {
            "socket" => socket = Some(PathBuf::from(value.as_ref())),
            other => {
                return Err(TargetError::Url(format!(
                    "the URL's parameter {other:?} is unknown (only socket= is)"
                )));
            }
        }
    }
    Ok(socket)
}

fn resolve(host: &str, port: u16) -> Result<Address, TargetError> {
    Address::resolve(host, port).map_err(|why| TargetError::Host {
        host: host.to_owned(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, TargetError> {
        Target::parse(url, None, "me", &TlsOptions::default())
    }

    #[test]
    fn a_url_names_all_parts() {
        let target = parse("mysql://a%40b:p%3aw@127.0.0.1:3307/shop").unwrap();
        assert_eq!(target.password, "p:w");
        assert_eq!(target.shown(), "mysql://a@b@127.0.0.1:3307/shop");
    }

    #[test]
    fn mariadb_is_another_name_of_the_scheme() {
        let target = parse("mariadb://root@127.0.0.1:3307/shop").unwrap();
        assert_eq!(target.shown(), "mysql://root@127.0.0.1:3307/shop");
    }

    #[test]
    fn what_is_left_out_has_defaults() {
        let target = parse("mysql://127.0.0.1").unwrap();
        assert_eq!(target.shown(), "mysql://me@127.0.0.1:3306/sbtest");
    }

    #[test]
    fn a_socket_needs_no_tls_unless_it_is_asked_for() {
        let target = parse("mysql://root@localhost/x?socket=/tmp/s.sock").unwrap();
        assert_eq!(target.tls_mode, TlsMode::Disable);
        assert_eq!(
            target.shown(),
            "mysql://root@localhost/x?socket=/tmp/s.sock"
        );
    }

    #[test]
    fn the_password_is_never_shown() {
        let target = parse("mysql://u:secret@127.0.0.1/x").unwrap();
        assert!(!format!("{target:?} {}", target.shown()).contains("secret"));
    }

    #[test]
    fn special_characters_are_percent_encoded() {
        for url in [
            "mysql://u:12#34@127.0.0.1/x",
            "mysql://u:12/34@127.0.0.1/x",
            "mysql://127.0.0.1/x#y",
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains("%23"), "{message}");
        }
        let target = parse("mysql://u:%2312%2F@127.0.0.1/a%40b?socket=/a@b").unwrap();
        assert_eq!(
            (target.password.as_str(), target.database.as_str()),
            ("#12/", "a@b")
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_an_example() {
        for url in ["not a url", "postgres://h/x", "mysql://h/x?sokcet=/y"] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains("mysql://user@host"), "{message}");
        }
    }
}
