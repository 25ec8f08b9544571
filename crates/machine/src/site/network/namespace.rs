//! A network namespace on this host, with an address of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ipnet::Ipv4Net;
use plan::SlowLink;

use super::neighbors::Neighbors;
use super::slow::Slowed;
use super::switch::Switch;
use crate::failure::Failure;
use crate::home::Home;
use crate::home::outside::Outside;
use crate::locked;

/// A network namespace connected to a [`Switch`]. Everything else is the host's.
#[derive(Debug)]
pub struct Namespace {
    pub(super) namespace: Outside,
    address: Ipv4Net,
    neighbors: Neighbors,
    /// What slows its links down at the moment.
    slowed: Mutex<Option<Slowed>>,
    /// How many faults have cut off each address.
    cut: Mutex<BTreeMap<Ipv4Addr, u32>>,
    /// The last field, so that it outlives what is connected to it.
    pub(in crate::site) switch: Arc<Switch>,
}

impl Namespace {
    /// Creates a namespace with an unused address of the switch.
    pub(crate) fn new(home: &Home, switch: &Arc<Switch>) -> Result<Self, Failure> {
        let (namespace, address) = switch.connect(home)?;
        Ok(Self {
            neighbors: Neighbors::of(namespace.path(), "eth0")?,
            namespace,
            address,
            slowed: Mutex::default(),
            cut: Mutex::default(),
            switch: Arc::clone(switch),
        })
    }

    /// The entry with which a process enters the namespace and executes the program that follows.
    pub(crate) fn entry(&self) -> Vec<OsString> {
        // Entering it directly would require `unsafe` code.
        let namespace = format!("--net={}", self.namespace.path().display());
        ["nsenter", &namespace, "--"].map(OsString::from).to_vec()
    }

    pub(crate) fn address(&self) -> Ipv4Net {
        self.address
    }

    /// Removes the namespace. The switch is removed when the last of its namespaces is dropped.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        self.namespace.end()
    }
}

/// Breaks links in the direction away from the namespace. Other packets, such as replies to clients
/// on this host, are affected only if their destination is named.
impl Namespace {
    /// Drops what the namespace sends to these addresses, without an error for the sender; returns
    /// when that took effect. Cuts are counted: an address that was cut off twice must be restored
    /// twice, even if this returned an error.
    pub fn cut(&self, peers: &[Ipv4Addr]) -> Result<Instant, Failure> {
        let mut cut = locked(&self.cut);
        // After an error, all addresses are restored, so all are counted first.
        for peer in peers {
            *cut.entry(*peer).or_default() += 1;
        }
        for peer in peers {
            self.neighbors.misdirect(*peer)?;
        }
        Ok(Instant::now())
    }

    /// The host's address in the namespace's network, from which clients connect.
    pub fn clients(&self) -> Ipv4Addr {
        self.switch.host()
    }

    /// Undoes [`Self::cut`]; returns when that took effect.
    pub fn restore(&self, peers: &[Ipv4Addr]) -> Result<Instant, Failure> {
        let mut cut = locked(&self.cut);
        let mut restored = Ok(());
        for peer in peers {
            let times = cut.entry(*peer).or_default();
            *times = times.saturating_sub(1);
            if *times == 0 {
                cut.remove(peer);
                restored = restored.and(self.neighbors.forget(*peer));
            }
        }
        restored.map(|()| Instant::now())
    }

    /// Limits or delays everything that the namespace sends to these addresses together, or drops a
    /// fraction of it; returns when that took effect. A namespace has at most one such limit.
    pub fn slow(&self, peers: &[Ipv4Addr], how: &SlowLink) -> Result<Instant, Failure> {
        let mut slowed = locked(&self.slowed);
        let own = self.address.addr();
        let (name, path) = (self.namespace.name(), self.namespace.path());
        *slowed = Some(Slowed::new(&name, path, own, peers, how)?);
        Ok(Instant::now())
    }

    /// Undoes [`Self::slow`]; returns when that took effect.
    pub fn speed_up(&self) -> Result<Instant, Failure> {
        let mut slowed = locked(&self.slowed);
        if let Some(slowed) = &*slowed {
            slowed.stop(&self.namespace.name())?;
        }
        let at = Instant::now();
        // Packets that are already delayed may still be in transit.
        *slowed = None;
        Ok(at)
    }
}
