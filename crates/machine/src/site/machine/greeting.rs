//! What a host reports about itself when dyno connects to it, and whether servers can run there.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::site::LOOPBACK;

/// What a host reports about itself.
pub(super) struct Greeting {
    system: String,
    pub(super) uid: u32,
    pub(super) user: String,
    /// The client's address and port, then the host's.
    pub(super) connection: String,
    page_bytes: String,
    ticks_per_s: String,
    missing: String,
}

impl Greeting {
    pub(super) fn of(lines: &[String]) -> Option<Self> {
        let [
            system,
            uid,
            user,
            connection,
            page_bytes,
            ticks_per_s,
            missing,
        ] = lines
        else {
            return None;
        };
        Some(Self {
            system: system.clone(),
            uid: uid.parse().ok()?,
            user: user.clone(),
            connection: connection.clone(),
            page_bytes: page_bytes.clone(),
            ticks_per_s: ticks_per_s.clone(),
            missing: missing.trim().to_owned(),
        })
    }

    /// Why servers cannot run there, and the remedy; `None` if they can.
    pub(super) fn unfit(&self) -> Option<(String, String)> {
        let is_same = |theirs: &str, ours: u64| theirs.parse() == Ok(ours);
        if self.system != "Linux" {
            let why = format!("it runs {}", self.system);
            return Some((why, "choose a host that runs Linux".to_owned()));
        }
        if !self.missing.is_empty() {
            let why = format!("it has no {}", self.missing.replace(' ', ", "));
            return Some((why, format!("install there: {}", self.missing)));
        }
        let page_bytes = u64::try_from(rustix::param::page_size()).unwrap_or(0);
        if !is_same(&self.page_bytes, page_bytes)
            || !is_same(&self.ticks_per_s, rustix::param::clock_ticks_per_second())
        {
            let why = format!(
                "its kernel has pages of {} bytes and {} ticks per second; this host's are {page_bytes} and {}",
                self.page_bytes,
                self.ticks_per_s,
                rustix::param::clock_ticks_per_second()
            );
            return Some((why, "choose a host with the same kind of CPU".to_owned()));
        }
        None
    }
}

/// The address that servers listen on: the one that the client connected to, with the smallest
/// network that also contains the client's.
pub(super) fn address(connection: &str) -> Option<Ipv4Net> {
    let mut words = connection.split_whitespace();
    let client: Ipv4Addr = words.next()?.parse().ok()?;
    let server: Ipv4Addr = words.nth(1)?.parse().ok()?;
    if server.is_loopback() {
        return Some(LOOPBACK);
    }
    let differing = (u32::from(client) ^ u32::from(server)).leading_zeros();
    Ipv4Net::new(server, u8::try_from(differing).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_admit_the_smallest_network_with_the_client() {
        let of = |connection| address(connection).map(|net| net.to_string());
        assert_eq!(of("127.0.0.1 50 127.0.0.1 22"), Some("127.0.0.1/32".into()));
        assert_eq!(of("10.0.0.7 50 10.0.0.5 22"), Some("10.0.0.5/30".into()));
        assert_eq!(of("10.0.0.5 50 10.0.0.5 22"), Some("10.0.0.5/32".into()));
        assert_eq!(of("192.168.1.1 50 10.0.0.5 22"), Some("10.0.0.5/0".into()));
        for wrong in ["", "::1 50 ::1 22", "10.0.0.7 50"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
