//! The account `root` of a private server: the only one that can log in.
//!
//! In a template, `root` is locked. Each run of a server sets a new password by its init file,
//! which the server executes before it accepts connections.

use client::mysql::{Target, TlsOptions};
use ipnet::Ipv4Net;

use crate::failure::Failure;
use crate::launch::{LOOPBACK, Login};
use crate::remote::url_path;

pub(super) const INIT_FILE: &str = "init.sql";

/// The statements that unlock the account with a password, for `localhost` (the socket) and for the
/// network of the server's address. They are neither replicated nor logged.
///
/// If `ignores_read_only` is given, clients from the network lose that privilege: without it, they
/// obey `read_only`.
pub(super) fn statements(
    address: Ipv4Net,
    password: &str,
    ignores_read_only: Option<&str>,
) -> Vec<String> {
    // The host part of an account for a whole network.
    let clients = match address.prefix_len() == address.max_prefix_len() {
        true => address.addr().to_string(),
        false => format!("{}/{}", address.network(), address.netmask()),
    };
    let mut statements = vec!["SET sql_log_bin = 0, sql_log_off = 1".to_owned()];
    // Templates have the account for the loopback address.
    if address != LOOPBACK {
        statements.extend([
            format!("CREATE USER IF NOT EXISTS root@'{clients}' ACCOUNT LOCK"),
            format!("GRANT ALL ON *.* TO root@'{clients}' WITH GRANT OPTION"),
        ]);
    }
    let revoke = |right| format!("REVOKE {right} ON *.* FROM root@'{clients}'");
    statements.extend(ignores_read_only.map(revoke));
    statements.push(format!(
        "ALTER USER root@localhost IDENTIFIED BY '{password}', \
         root@'{clients}' IDENTIFIED BY '{password}' ACCOUNT UNLOCK"
    ));
    statements
}

/// Only the server's own user can create sockets in its directory, while any user may take a port.
pub(super) fn socket_target(login: &Login<'_>) -> Result<Target, Failure> {
    let path = url_path(login.socket);
    let url = format!("mysql://root@localhost/mysql?socket={path}");
    target(&url, login.password)
}

/// How to log in at `url` as `root`.
pub(super) fn target(url: &str, password: &str) -> Result<Target, Failure> {
    let tls = TlsOptions::disabled();
    Target::parse(url, Some(password), "root", &tls).map_err(Failure::internal)
}
