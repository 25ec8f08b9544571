//! Why something failed: [`Failure`].

use std::time::Duration;

pub use plan::{Exit, Fact, Failure};

pub(crate) fn hung(server: &str, limit: Duration) -> Failure {
    Failure::server(format!(
        "{server} hangs: no reply to a statement for {limit:?}, or to a new connection"
    ))
    .remedy("check the server's log, its disk, and the network")
}
