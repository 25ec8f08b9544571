//! The account `root` of a private server: the only one that can log in.
//!
//! In a template, `root` is locked. Each run of a server sets a new password by its init file,
//! which the server executes before it accepts connections.

/// The name of the init file.
pub(super) const INIT_FILE: &str = "init.sql";

/// The statements that open the account with a password, for `localhost` (the socket) and
/// 127.0.0.1. They are neither replicated nor logged.
pub(super) fn statements(password: &str) -> [String; 2] {
    [
        "SET sql_log_bin = 0, sql_log_off = 1".to_owned(),
        format!(
            "ALTER USER root@localhost IDENTIFIED BY '{password}', \
             root@'127.0.0.1' IDENTIFIED BY '{password}' ACCOUNT UNLOCK"
        ),
    ]
}

/// The same as an init file.
pub(super) fn init_file(password: &str) -> String {
    format!("{};\n", statements(password).join(";\n"))
}
