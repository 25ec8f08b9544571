//! A server and an account: `mysql://user:password@host:port/database?socket=/path`.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::{percent_decode_str, utf8_percent_encode};

use crate::endpoint::{Endpoint, IN_NAME, IN_QUERY, RESERVED, TargetError};
use crate::net::Address;
use crate::tls::TlsOptions;

/// The schemes of a URL that names a server; both mean the same protocol.
const SCHEMES: [&str; 2] = ["mysql", "mariadb"];
const DEFAULT_PORT: u16 = 3306;
/// The database that sysbench uses.
const DEFAULT_DATABASE: &str = "sbtest";

/// A server and an account. It is shown as a URL without the password.
#[derive(Clone)]
pub struct Target {
    pub(super) endpoint: Endpoint,
    pub user: String,
    pub(super) password: String,
    /// The database that holds the tables.
    pub database: String,
    pub(super) tls: TlsOptions,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = utf8_percent_encode(&self.user, &IN_NAME);
        let database = utf8_percent_encode(&self.database, &IN_NAME);
        match &self.endpoint.address {
            Address::Unix(path) => {
                let socket = path.to_string_lossy();
                let socket = utf8_percent_encode(&socket, &IN_QUERY);
                write!(f, "mysql://{user}@localhost/{database}?socket={socket}")
            }
            Address::Tcp(_) => {
                write!(f, "mysql://{user}@{}/{database}", self.endpoint.authority())
            }
        }
    }
}

impl Target {
    /// Parses a URL. `password` is used if the URL has none, `default_user` if it names no user.
    pub fn parse(
        url: &str,
        password: Option<&str>,
        default_user: &str,
        tls: &TlsOptions,
    ) -> Result<Self, TargetError> {
        let url = parse_url(url)?;
        let host = url.host_str().unwrap_or("localhost");
        let host = host.trim_matches(['[', ']']).to_owned();
        let port = url.port().unwrap_or(DEFAULT_PORT);
        let or_default = |text: &str, default: &str| match text {
            "" => default.to_owned(),
            text => decoded(text),
        };
        let own_password = url.password().map(decoded);
        Ok(Self {
            endpoint: Endpoint::new(host, port, socket_path(&url)?, true, tls)?,
            user: or_default(url.username(), default_user),
            password: own_password.unwrap_or_else(|| password.unwrap_or_default().to_owned()),
            database: or_default(url.path().trim_start_matches('/'), DEFAULT_DATABASE),
            tls: tls.clone(),
        })
    }

    /// The password, and how the connection is secured.
    pub fn secrets(&self) -> (Option<&str>, &TlsOptions) {
        (Some(&self.password), &self.tls)
    }

    /// The same server and account, but another database; `""`: none.
    pub fn with_database(&self, name: &str) -> Self {
        Self {
            database: name.to_owned(),
            ..self.clone()
        }
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn malformed(why: String) -> TargetError {
    TargetError::Url(format!(
        "{why}; a server is named like mysql://user@host:3306/sbtest or mysql://user@localhost/sbtest?socket=/run/mysqld/mysqld.sock"
    ))
}

fn parse_url(url: &str) -> Result<url::Url, TargetError> {
    let url = url::Url::parse(url).map_err(|error| malformed(format!("not a URL: {error}")))?;
    if !SCHEMES.contains(&url.scheme()) {
        let scheme = url.scheme();
        return Err(malformed(format!(
            "{scheme:?} is neither mysql: nor mariadb:"
        )));
    }
    if !url.has_authority() {
        return Err(malformed(
            "the scheme is followed by two slashes".to_owned(),
        ));
    }
    // A '#', '/' or '?' in a password ends the host part; the rest is then read as a path.
    if url.fragment().is_some() || url.path().contains('@') {
        return Err(malformed(RESERVED.to_owned()));
    }
    Ok(url)
}

fn socket_path(url: &url::Url) -> Result<Option<PathBuf>, TargetError> {
    let mut socket = None;
    let pairs = url.query().unwrap_or_default().split('&');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key != "socket" {
            let why = format!("the URL's parameter {key:?} is unknown (only socket= is known)");
            return Err(malformed(why));
        }
        // Not as in a form, where a `+` is a space.
        socket = Some(PathBuf::from(decoded(value)));
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::TlsMode;

    fn parse(url: &str) -> Result<Target, TargetError> {
        Target::parse(url, None, "me", &TlsOptions::default())
    }

    #[test]
    fn a_url_names_all_parts() {
        let target = parse("mysql://a%40b:p%3aw@127.0.0.1:3307/shop").unwrap();
        assert_eq!(target.password, "p:w");
        assert_eq!(target.to_string(), "mysql://a%40b@127.0.0.1:3307/shop");
    }

    #[test]
    fn mariadb_is_another_name_of_the_scheme() {
        let target = parse("mariadb://root@127.0.0.1:3307/shop").unwrap();
        assert_eq!(target.to_string(), "mysql://root@127.0.0.1:3307/shop");
    }

    #[test]
    fn what_is_left_out_has_defaults() {
        let target = parse("mysql://127.0.0.1").unwrap();
        assert_eq!(target.to_string(), "mysql://me@127.0.0.1:3306/sbtest");
    }

    #[test]
    fn a_socket_needs_no_tls_unless_it_is_asked_for() {
        let target = parse("mysql://root@localhost/x?socket=/tmp/s.sock").unwrap();
        assert_eq!(target.endpoint.tls_mode, TlsMode::Disable);
        let expected = "mysql://root@localhost/x?socket=/tmp/s.sock";
        assert_eq!(target.to_string(), expected);
    }

    #[test]
    fn a_target_is_shown_as_its_url() {
        for url in [
            "mysql://a%40b%3Ac@127.0.0.1:3306/d%2F%3F%23%25",
            "mysql://a%20b@localhost/d%40e?socket=/x+y%26%20z%25",
        ] {
            assert_eq!(parse(url).unwrap().to_string(), url);
        }
    }

    #[test]
    fn the_password_is_never_shown() {
        let target = parse("mysql://u:secret@127.0.0.1/x").unwrap();
        assert!(!format!("{target:?} {target}").contains("secret"));
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
