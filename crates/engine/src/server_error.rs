//! Failures of servers.

use std::time::Duration;

use client::Error;

/// A failure of a server, or of the connection to it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ServerError {
    pub(crate) message: String,
    pub(crate) remedy: Option<&'static str>,
}

impl ServerError {
    /// What the user can do about it.
    pub fn remedy(&self) -> Option<&'static str> {
        self.remedy
    }

    pub(crate) fn hung(server: String, limit: Duration) -> Self {
        Self {
            message: format!(
                "{server} hangs: no reply to a statement for {limit:?}, or to a new connection"
            ),
            remedy: Some("check the server's log, its disk, and the network"),
        }
    }
}

impl From<Error> for ServerError {
    fn from(error: Error) -> Self {
        Self {
            remedy: error.remedy(),
            message: error.to_string(),
        }
    }
}
