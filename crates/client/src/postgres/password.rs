//! Changes passwords.

use wire::postgres::scram;

use super::login::nonce;
use super::protocol::Connection;
use crate::error::Error;

impl Connection {
    /// Sets a role's password; an empty one locks the role out. Only the server's stored form is
    /// sent, so that no log can contain the password.
    pub async fn set_password(&mut self, role: &str, password: &str) -> Result<(), Error> {
        let stored = match password {
            "" => "NULL".to_owned(),
            password => format!("'{}'", scram::verifier(password, nonce()?.as_bytes())),
        };
        let role = role.replace('"', "\"\"");
        let statement = format!("ALTER ROLE \"{role}\" PASSWORD {stored}");
        self.run(&statement).await.map(drop)
    }
}
