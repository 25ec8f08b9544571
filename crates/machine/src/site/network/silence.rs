//! Makes this host fall silent: rules of its kernel drop what it sends and receives, as if its cable
//! were cut. The kernel itself ends that in time, whatever becomes of dyno and of the connection to it.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::home::Home;
use crate::home::journal::Kind;
use crate::home::outside::Outside;
use crate::process;

/// The program that sets up the rules.
const PROGRAM: &str = "nft";
const APPLY: &str = "-f -";
/// Where the journal says that a table is.
const TABLES: &str = "/";
/// Where sshd tells a session its connection: the client's address and port, then its own.
const SESSION: &str = "SSH_CONNECTION";

/// A silent host. It is heard again once this value is dropped, and at the latest when its time is up.
#[derive(Debug)]
pub struct Silence {
    table: Outside,
    pub since: Instant,
}

impl Silence {
    /// Cuts this host off for at most `limit` from everyone but the client of the ssh session that this
    /// process runs in.
    pub fn begin(home: &Home, limit: Duration) -> Result<Self, Failure> {
        let session = std::env::var(SESSION).unwrap_or_default();
        let Some(own) = spared(&session) else {
            let why = format!(
                "the host cannot fall silent: {SESSION} does not name dyno's own connection"
            );
            return Err(Failure::server(why).remedy("connect to an address of the host"));
        };
        let table = Outside::make(home, Kind::Table, Path::new(TABLES))?;
        nft(APPLY, &rules(&table.name(), Some(own), limit))?;
        let since = Instant::now();
        Ok(Self { table, since })
    }

    /// Checks that this host can be cut off, and changes nothing.
    pub fn check() -> Result<(), Failure> {
        nft("-c -f -", &rules("dyno", None, Duration::ZERO))
    }

    /// Returns when the host was heard again.
    pub fn end(self) -> Result<Instant, Failure> {
        self.table.end()?;
        Ok(Instant::now())
    }
}

fn spared(session: &str) -> Option<[SocketAddr; 2]> {
    let words: Vec<&str> = session.split_whitespace().collect();
    let [client, client_port, own, own_port] = words[..] else {
        return None;
    };
    let end = |address: &str, port: &str| {
        let address: IpAddr = address.parse().ok()?;
        Some(SocketAddr::new(address, port.parse().ok()?))
    };
    Some([end(client, client_port)?, end(own, own_port)?])
}

/// Timeouts are rounded up: what is cut off for no time is cut off for good.
fn rules(table: &str, spared: Option<[SocketAddr; 2]>, limit: Duration) -> String {
    let accepted = |from: SocketAddr, to: SocketAddr| {
        let family = if from.is_ipv4() { "ip" } else { "ip6" };
        format!(
            "{family} saddr {} {family} daddr {} tcp sport {} tcp dport {} accept;",
            from.ip(),
            to.ip(),
            from.port(),
            to.port()
        )
    };
    let [received, sent] = match spared {
        Some([client, own]) => [accepted(client, own), accepted(own, client)],
        None => Default::default(),
    };
    let seconds = limit.as_secs() + 1;
    format!(
        "table inet {table} {{
            set silent {{ type nf_proto; flags timeout; }}
            chain received {{
                type filter hook prerouting priority raw; iif lo accept; {received} meta nfproto @silent drop;
            }}
            chain sent {{
                type filter hook output priority raw; oif lo accept; {sent} meta nfproto @silent drop;
            }}
        }}
        add element inet {table} silent {{ ipv4 timeout {seconds}s, ipv6 timeout {seconds}s }}\n"
    )
}

/// Adds an empty table.
pub(crate) fn add_table(name: &str) -> Result<(), Failure> {
    nft(APPLY, &format!("add table inet {name}\n"))
}

/// Removes a table, if there is one, with its rules.
pub(crate) fn remove_table(name: &str) -> Result<(), Failure> {
    let script = format!("add table inet {name}\ndelete table inet {name}\n");
    nft(APPLY, &script)
}

fn nft(arguments: &str, script: &str) -> Result<(), Failure> {
    let cannot = |why: &str, remedy: &str| {
        Failure::server(format!("the host cannot fall silent: {why}")).remedy(remedy)
    };
    let ran = process::fed(PROGRAM, arguments, script).map_err(|error| {
        let remedy =
            "install nftables there, and log in as root, whose PATH contains its directory";
        cannot(&error.message, remedy)
    })?;
    ran.map(drop).map_err(|words| {
        let first = words.lines().next().unwrap_or_default();
        let remedy = "log in there as root, on a kernel with nf_tables";
        cannot(&format!("nft: {first}"), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_of_a_session_is_spared() {
        let ends = spared("10.0.0.1 51000 10.0.0.2 22").unwrap();
        assert_eq!(ends.map(|end| end.port()), [51000, 22]);
        assert!(spared("fe80::1 51000 fe80::2 22").unwrap()[0].is_ipv6());
        for none in [
            "",
            "10.0.0.1 51000 10.0.0.2",
            "a 1 b 2",
            "10.0.0.1 x 10.0.0.2 22",
        ] {
            assert_eq!(spared(none), None, "{none}");
        }
    }
}
