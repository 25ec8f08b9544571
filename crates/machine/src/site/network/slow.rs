//! Makes the links of a namespace slow.

use std::net::Ipv4Addr;

use plan::SlowLink;

use super::Namespace;
use super::delay::Delay;
use super::shaping;
use crate::failure::Failure;
use crate::site::Site;

/// What makes the links of a namespace slow.
#[derive(Debug)]
pub(super) struct Slowed {
    /// Whether the kernel's queueing disciplines limit the links.
    is_shaped: bool,
    /// Delays packets if the kernel does not, and drops some.
    delay: Option<Delay>,
}

impl Slowed {
    /// Slows down the links to these addresses.
    pub(super) fn new(
        site: &Namespace,
        peers: &[Ipv4Addr],
        how: &SlowLink,
    ) -> Result<Self, Failure> {
        // The kernel's module cannot drop packets by a seed.
        if how.loss.is_none() && shaping::slow(&site.name(), peers, how)? {
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
        let own = site.address().addr();
        let is_delayed = how.delay.is_some() || how.loss.is_some();
        let delay = || Delay::start(site.path(), &site.name(), own, peers, how);
        Ok(Self {
            delay: is_delayed.then(delay).transpose()?,
            is_shaped: shaping::slow(&site.name(), peers, &rate)?,
        })
    }

    /// Restores the links.
    pub(super) fn stop(&self, namespace: &str) -> Result<(), Failure> {
        let delay = self.delay.as_ref();
        let stopped = delay.map_or(Ok(()), |delay| delay.stop(namespace));
        match self.is_shaped {
            true => stopped.and(shaping::remove(namespace)),
            false => stopped,
        }
    }
}
