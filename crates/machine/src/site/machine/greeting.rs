//! What a machine reports about itself, and whether servers can run there.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// The line after which the greeting begins; a shell's start-up files may print something before it.
const BEGIN: &str = "dyno-host-begins";

pub(super) struct Greeting {
    system: String,
    /// The kind of its CPUs, as `uname` names it.
    cpus: String,
    /// The client's address and port, then the machine's.
    pub(super) connection: String,
    /// The size of its pages in bytes, and its ticks per second.
    kernel: [String; 2],
    missing: String,
}

impl Greeting {
    /// Parses what `greet.sh` prints.
    pub(super) fn of(said: &str) -> Option<Self> {
        let mut lines = said.lines().skip_while(|line| *line != BEGIN).skip(1);
        let mut line = || lines.next().map(str::to_owned);
        Some(Self {
            system: line()?,
            cpus: line()?,
            connection: line()?,
            kernel: [line()?, line()?],
            missing: line()?.trim().to_owned(),
        })
    }

    /// Why servers cannot run there, and the remedy; `None` if they can.
    pub(super) fn unfit(&self) -> Option<(String, String)> {
        let [page_bytes, ticks_per_s] = &self.kernel;
        let here = [
            rustix::param::page_size().to_string(),
            rustix::param::clock_ticks_per_second().to_string(),
        ];
        if self.system != "Linux" {
            let why = format!("it runs {}", self.system);
            Some((why, "choose a host that runs Linux".to_owned()))
        } else if self.cpus != own_cpus() {
            let why = format!("its CPUs are {}; this host's are {}", self.cpus, own_cpus());
            Some((why, "choose a host with the same kind of CPU".to_owned()))
        } else if !self.missing.is_empty() {
            let why = format!("it has no {}", self.missing.replace(' ', ", "));
            Some((why, format!("install there: {}", self.missing)))
        } else if self.kernel != here {
            let why = format!(
                "its kernel has pages of {page_bytes} bytes and {ticks_per_s} ticks per second; this host's are {} and {}",
                here[0], here[1]
            );
            Some((why, "choose a host with the same kind of CPU".to_owned()))
        } else {
            None
        }
    }
}

/// The kind of this host's CPUs. Other hosts run the same program.
fn own_cpus() -> String {
    let system = rustix::system::uname();
    system.machine().to_string_lossy().into_owned()
}

/// The client's address, and the one that servers listen on: that which the client connected to, with
/// the smallest network that also contains the client's.
pub(super) fn addresses(connection: &str) -> Option<(Ipv4Addr, Ipv4Net)> {
    let mut words = connection.split_whitespace();
    let client: Ipv4Addr = words.next()?.parse().ok()?;
    let server: Ipv4Addr = words.nth(1)?.parse().ok()?;
    if server.is_loopback() {
        return Some((client, Ipv4Addr::LOCALHOST.into()));
    }
    Some((client, widened(server.into(), &client.into())))
}

/// The address `own`, in the smallest network that contains its network and another one.
pub fn widened(own: Ipv4Net, other: &Ipv4Net) -> Ipv4Net {
    let lengths = (0..=own.prefix_len()).rev();
    let mut networks = lengths.filter_map(|length| Ipv4Net::new(own.addr(), length).ok());
    networks.find(|net| net.contains(other)).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_admit_the_smallest_network_with_the_client() {
        let of = |connection| addresses(connection).map(|(_, net)| net.to_string());
        assert_eq!(of("127.0.0.1 50 127.0.0.1 22"), Some("127.0.0.1/32".into()));
        assert_eq!(of("10.0.0.7 50 10.0.0.5 22"), Some("10.0.0.5/30".into()));
        assert_eq!(of("10.0.0.5 50 10.0.0.5 22"), Some("10.0.0.5/32".into()));
        assert_eq!(of("192.168.1.1 50 10.0.0.5 22"), Some("10.0.0.5/0".into()));
        for wrong in ["", "::1 50 ::1 22", "10.0.0.7 50"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
