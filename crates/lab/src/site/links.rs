//! What a site can do to its links with other sites.

use std::fmt;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use plan::Loss;

use crate::failure::Failure;

/// Breaks the links of a site with others, in the direction away from it. Whatever else it sends,
/// such as replies to clients on this host, is not affected unless their address is named.
pub trait Links: fmt::Debug + Send + Sync {
    /// Drops what the site sends to these addresses, without telling the sender; returns when that
    /// took effect. Counts: an address that was cut off twice has to be restored twice.
    fn cut(&self, peers: &[Ipv4Addr]) -> Result<Instant, Failure>;

    /// This host's address in its network, from which clients connect.
    fn clients(&self) -> Ipv4Addr;

    /// Undoes [`Links::cut`]; returns when that took effect.
    fn restore(&self, peers: &[Ipv4Addr]) -> Result<Instant, Failure>;

    /// Limits or delays what the site sends to these addresses, all of them together, or drops a share
    /// of it; returns when that took effect. A site has at most one such limit.
    fn slow(&self, peers: &[Ipv4Addr], how: &SlowLink) -> Result<Instant, Failure>;

    /// Undoes [`Links::slow`]; returns when that took effect.
    fn speed_up(&self) -> Result<Instant, Failure>;
}

/// How slow a link is.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowLink {
    /// What it carries each second; `None`: no limit.
    pub bytes_per_s: Option<u64>,
    /// How long it delays each packet; `None`: not at all.
    pub delay: Option<Duration>,
    /// Which packets get lost; `None`: none.
    pub loss: Option<Loss>,
}
