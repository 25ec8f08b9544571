//! Support for tests: real servers, which are private, unprivileged, and gone with the test; small disks; skipped tests.
//!
//! ```text
//! let server = testkit::MariaDb::start(&["--max-connections=500"]);
//! server.sql("CREATE TABLE t (id INT)");
//! println!("{}", server.url("sbtest")); // mysql://root@127.0.0.1:PORT/sbtest
//! ```
//!
//! A data directory is built once per machine and server version and then copied, so a start takes a fraction of a
//! second. Every server listens on a free port of 127.0.0.1 and on a socket of its own, has the account `root`
//! without a password and the database `sbtest`, and is killed when its [`Server`] is dropped or the test dies.
//!
//! The servers are those of `lab`. This crate is for tests only: what goes wrong panics with the reason, because a
//! test has nobody to return it to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support: the panic is the test's failure message"
)]

use std::path::PathBuf;

mod daemon;
mod disk;
mod docker_daemon;
mod haproxy;
mod hosts;
mod nats;
mod postgres;
mod proxy;
mod server;
mod skip;
mod ssh_host;
mod tls;

pub use disk::SmallDisk;
pub use docker_daemon::DockerDaemon;
pub use haproxy::HaProxy;
pub use hosts::Hosts;
pub use nats::NatsServer;
pub use postgres::{Postgres, PostgresBuilder, PostgresServer};
pub use proxy::Proxy;
pub use server::{Builder, Engine, Server};
pub use skip::skip;
pub use ssh_host::SshHost;
pub use tls::{certify, openssl};

/// The root of what tests keep for the next tests of the same user: templates of servers' data.
pub fn kept_root() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("dyno-testkit-cache-{user}"))
}

/// What to SELECT from a table in MySQL or MariaDB to get the count and the checksum of its rows.
pub const CHECKSUM_COLUMNS: &str = "COUNT(*), BIT_XOR(CRC32(CONCAT_WS(',',id,k,c,pad)))";

/// MariaDB, from the system's package.
#[derive(Debug)]
pub struct MariaDb;

impl MariaDb {
    /// Starts a server with these extra options (`--name=value`); they win over the kit's own.
    pub fn start(options: &[&str]) -> Server {
        Self::builder().options(options).start()
    }

    /// A server to be described further before it is started.
    pub fn builder() -> Builder {
        Builder::new(Engine::MariaDb)
    }
}

/// MySQL, from where `scripts/install-servers.sh` put it.
#[derive(Debug)]
pub struct MySql;

impl MySql {
    /// Starts a server with these extra options (`--name=value`); they win over the kit's own.
    pub fn start(options: &[&str]) -> Server {
        Self::builder().options(options).start()
    }

    /// A server to be described further before it is started.
    pub fn builder() -> Builder {
        Builder::new(Engine::MySql)
    }
}
