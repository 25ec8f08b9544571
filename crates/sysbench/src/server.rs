//! The servers of a command line as dyno's URLs, and their errors in sysbench's words.

use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use workload::session::{FailureKind, SessionError};

use crate::options::{Endpoint, Targets};

/// The error of a lost connection, which the server did not report.
const LOST: u32 = 2013;
const MYSQL_PORT: u16 = 3306;
/// Where MySQL's client looks for the server of `localhost`.
const MYSQL_SOCKET: &str = "/run/mysqld/mysqld.sock";

/// The URL of each server without the password, in the order in which connections take them.
pub fn urls(targets: &Targets) -> Vec<String> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let (user, database) = (encoded(&targets.user), encoded(&targets.database));
    let is_pgsql = targets.driver == "pgsql";
    let scheme = if is_pgsql { "postgres" } else { "mysql" };
    let has_socket = !is_pgsql && Path::new(MYSQL_SOCKET).exists();
    let by_socket =
        |path: &str| format!("mysql://{user}@localhost/{database}?socket={}", encoded(path));
    let url = |endpoint: &Endpoint| match endpoint {
        Endpoint::Unix(path) => by_socket(path),
        Endpoint::Tcp(host, MYSQL_PORT) if host == "localhost" && has_socket => {
            by_socket(MYSQL_SOCKET)
        }
        Endpoint::Tcp(host, port) if host.contains(':') => {
            format!("{scheme}://{user}@[{host}]:{port}/{database}")
        }
        Endpoint::Tcp(host, port) => format!("{scheme}://{user}@{host}:{port}/{database}"),
    };
    targets.endpoints.iter().map(url).collect()
}

/// What sysbench logs as fatal for an error that ends a run.
pub fn fatal(driver: &str, error: &SessionError) -> Vec<String> {
    let message = &error.message;
    if error.kind == FailureKind::Script {
        return vec![message.clone()];
    }
    let Some(query) = &error.statement else {
        let lost = "unable to connect to the database server, aborting...".to_owned();
        return vec![lost, message.clone()];
    };
    if driver == "pgsql" {
        return vec![format!("PQexec() failed: 7 {message}"), format!("failed query was: {query}")];
    }
    let number = error.number.unwrap_or(LOST);
    vec![format!("mysql_drv_query() returned error {number} ({message}) for query '{query}'")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::parse;

    fn urls_of(words: &str) -> Vec<String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let line = parse(&words, &|_| Err(String::new())).ok().unwrap();
        urls(&Targets::of(&line, |_| None).ok().unwrap())
    }

    #[test]
    fn every_host_has_every_port() {
        let words = "--mysql-host=a,::1 --mysql-port=1,2 --mysql-user=u@v --mysql-db=d/e";
        let expected = [
            "mysql://u%40v@a:1/d%2Fe",
            "mysql://u%40v@a:2/d%2Fe",
            "mysql://u%40v@[::1]:1/d%2Fe",
            "mysql://u%40v@[::1]:2/d%2Fe",
        ];
        assert_eq!(urls_of(words), expected);
        let expected = ["postgres://sbtest@localhost:5432/sbtest"];
        assert_eq!(urls_of("--db-driver=pgsql"), expected);
    }

    #[test]
    fn sockets_replace_hosts() {
        let expected = [
            "mysql://sbtest@localhost/sbtest?socket=%2Ftmp%2Fa%2Esock",
            "mysql://sbtest@localhost/sbtest?socket=%2Fb",
        ];
        let words = "--mysql-socket=/tmp/a.sock,/b --mysql-host=ignored";
        assert_eq!(urls_of(words), expected);
    }

    #[test]
    fn errors_have_the_words_of_their_driver() {
        let mut error = SessionError::of_script("no".to_owned());
        assert_eq!(fatal("mysql", &error), ["no"]);
        error.kind = FailureKind::Refused;
        error.number = Some(1051);
        error.statement = Some("DROP TABLE t".to_owned());
        let expected = "mysql_drv_query() returned error 1051 (no) for query 'DROP TABLE t'";
        assert_eq!(fatal("mysql", &error), [expected]);
        let expected = ["PQexec() failed: 7 no", "failed query was: DROP TABLE t"];
        assert_eq!(fatal("pgsql", &error), expected);
    }
}
