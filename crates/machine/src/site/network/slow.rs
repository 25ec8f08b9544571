//! Makes the links of a namespace slow, with the kernel's queueing disciplines where they can.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use plan::SlowLink;

use super::delay::Delay;
use crate::failure::Failure;
use crate::ip;

/// Bytes that may wait for a slow link before further packets are dropped.
const QUEUE_BYTES: u64 = 64 * 1514;
/// Maximum number of packets that may be delayed at a time.
const DELAYED_PACKETS: u32 = 100_000;
/// The time over which a link's rate may be sent in a single burst.
const BURST: Duration = Duration::from_millis(5);
/// A full-sized packet, which is the smallest burst.
const MIN_BURST_BYTES: u64 = 1600;

/// What makes the links of a namespace slow.
#[derive(Debug)]
pub(super) struct Slowed {
    /// Whether the kernel's queueing disciplines limit the links.
    is_shaped: bool,
    /// Delays packets if the kernel does not, and drops some.
    delay: Option<Delay>,
}

impl Slowed {
    /// Slows down the links of a namespace, which has the address `own`, to these addresses.
    pub(super) fn new(
        namespace: &str,
        path: &Path,
        own: Ipv4Addr,
        peers: &[Ipv4Addr],
        how: &SlowLink,
    ) -> Result<Self, Failure> {
        // The kernel's module cannot drop packets by a seed.
        if how.loss.is_none() && shape(namespace, peers, how)? {
            return Ok(Self {
                is_shaped: true,
                delay: None,
            });
        }
        let rate = SlowLink {
            delay: None,
            loss: None,
            ..how.clone()
        };
        let is_delayed = how.delay.is_some() || how.loss.is_some();
        let delay = || Delay::start(path, namespace, own, peers, how);
        Ok(Self {
            delay: is_delayed.then(delay).transpose()?,
            is_shaped: shape(namespace, peers, &rate)?,
        })
    }

    /// Restores the links.
    pub(super) fn stop(&self, namespace: &str) -> Result<(), Failure> {
        let delay = self.delay.as_ref();
        let stopped = delay.map_or(Ok(()), |delay| delay.stop(namespace));
        match self.is_shaped {
            true => stopped.and(unshape(namespace)),
            false => stopped,
        }
    }
}

/// Limits what a namespace sends to these addresses. Returns false if nothing is limited, because
/// nothing was asked for or because the kernel cannot delay packets.
fn shape(namespace: &str, peers: &[Ipv4Addr], how: &SlowLink) -> Result<bool, Failure> {
    let Some(disciplines) = disciplines(peers, how) else {
        return Ok(false);
    };
    let arguments = format!("-n {namespace} -batch -");
    let made = ip::run_with("tc", &arguments, &disciplines);
    let Err(error) = made else {
        return Ok(true);
    };
    // Remove what was set up before the kernel refused.
    let _ = unshape(namespace);
    match how.delay.is_some() && error.to_string().contains("qdisc kind is unknown") {
        true => Ok(false),
        false => Err(error),
    }
}

fn unshape(namespace: &str) -> Result<(), Failure> {
    let removed = ip::run("tc", &format!("-n {namespace} qdisc del dev eth0 root"));
    removed.map(drop)
}

/// The commands for `tc`; `None` if nothing is limited. The filters come last, because packets that
/// they do not match are sent at once.
fn disciplines(peers: &[Ipv4Addr], how: &SlowLink) -> Option<String> {
    let limit = match (how.delay, how.bytes_per_s) {
        (Some(delay), rate) => {
            let rate = rate.map_or(String::new(), |rate| format!(" rate {rate}bps"));
            let delay_us = delay.as_micros();
            format!("netem limit {DELAYED_PACKETS} delay {delay_us}us{rate}")
        }
        (None, Some(rate)) => {
            let burst = (rate as f64 * BURST.as_secs_f64()) as u64 + MIN_BURST_BYTES;
            let limit = burst + QUEUE_BYTES;
            format!("tbf rate {rate}bps burst {burst} limit {limit}")
        }
        (None, None) => return None,
    };
    let filter = |peer: &Ipv4Addr| {
        format!("filter add dev eth0 parent 1: protocol ip u32 match ip dst {peer}/32 flowid 1:1\n")
    };
    let filters: String = peers.iter().map(filter).collect();
    Some(format!(
        "qdisc add dev eth0 root handle 1: htb\n\
         class add dev eth0 parent 1: classid 1:1 htb rate 10gbit quantum 60000\n\
         qdisc add dev eth0 parent 1:1 {limit}\n{filters}"
    ))
}
