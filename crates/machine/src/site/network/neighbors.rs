//! A namespace's neighbors: the link-layer addresses at which it reaches IP addresses.
//!
//! A permanent entry with an unused link-layer address makes the switch drop everything that is
//! sent there, and the sender learns nothing of it, as if a cable had been cut. Entries are set
//! through a netlink socket that stays open: starting a program would take milliseconds just when
//! time matters.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice, recv, sendto,
    socket_with,
};

use crate::failure::Failure;
use crate::ip::inside;
use crate::locked;

/// Locally administered, and not the address of any interface.
const NOBODY: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];

const RTM_NEWNEIGH: u16 = 28;
const RTM_DELNEIGH: u16 = 29;
const NLMSG_ERROR: u16 = 2;
/// `NLM_F_REQUEST | NLM_F_ACK`
const REQUEST: u16 = 1 | 4;
/// `NLM_F_CREATE | NLM_F_REPLACE`
const REPLACE: u16 = 0x400 | 0x100;
const NUD_PERMANENT: u16 = 0x80;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const AF_INET: u8 = 2;
/// Length of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;

/// The neighbors of one interface of a namespace.
#[derive(Debug)]
pub(super) struct Neighbors {
    /// Locked for a request and its answer.
    socket: Mutex<OwnedFd>,
    interface: u32,
}

impl Neighbors {
    /// The neighbors of an interface in this network namespace.
    pub(super) fn of(namespace: &Path, interface: &'static str) -> Result<Self, Failure> {
        let opened = inside(namespace, || open(interface));
        let (socket, interface) = opened.map_err(Failure::at("enter", namespace))?;
        Ok(Self {
            socket: Mutex::new(socket),
            interface,
        })
    }

    /// From now on, packets to this address are lost.
    pub(super) fn misdirect(&self, ip: Ipv4Addr) -> Result<(), Failure> {
        let request = self.request(RTM_NEWNEIGH, REQUEST | REPLACE, ip, Some(NOBODY));
        self.send(&request, "cut off")
    }

    /// From now on, the address is resolved again.
    pub(super) fn forget(&self, ip: Ipv4Addr) -> Result<(), Failure> {
        let request = self.request(RTM_DELNEIGH, REQUEST, ip, None);
        self.send(&request, "restore")
    }

    /// A `struct nlmsghdr`, a `struct ndmsg`, and two attributes.
    fn request(&self, kind: u16, flags: u16, ip: Ipv4Addr, at: Option<[u8; 6]>) -> Vec<u8> {
        let mut body = vec![AF_INET, 0, 0, 0];
        body.extend(self.interface.to_ne_bytes());
        body.extend(NUD_PERMANENT.to_ne_bytes());
        body.extend([0, 0]);
        let mut attribute = |kind: u16, value: &[u8]| {
            let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
            body.extend(length.to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        };
        attribute(NDA_DST, &ip.octets());
        if let Some(link_layer) = at {
            attribute(NDA_LLADDR, &link_layer);
        }
        let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
        let mut request = Vec::new();
        request.extend(length.to_ne_bytes());
        request.extend(kind.to_ne_bytes());
        request.extend(flags.to_ne_bytes());
        // Sequence number and port ID.
        request.extend([0; 8]);
        request.extend(body);
        request
    }

    /// Sends a request and waits until the kernel has carried it out.
    fn send(&self, request: &[u8], what: &'static str) -> Result<(), Failure> {
        let socket = locked(&self.socket);
        let kernel = SocketAddrNetlink::new(0, 0);
        let mut answer = [0; 256];
        let exchanged = sendto(&*socket, request, SendFlags::empty(), &kernel)
            .and_then(|_| recv(&*socket, &mut answer[..], RecvFlags::empty()));
        let result = exchanged.map_err(io::Error::from);
        let result = result.and_then(|(length, _)| acknowledged(&answer[..length.min(256)]));
        result.map_err(Failure::at(what, Path::new("a member of the network")))
    }
}

/// Opens a netlink socket in this thread's namespace, and finds the interface's index there.
fn open(interface: &str) -> io::Result<(OwnedFd, u32)> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let index = netdevice::name_to_index(&socket, interface)?;
    Ok((socket, index))
}

/// Reads the kernel's answer: an error number after the header, 0 for success.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok());
    let errno = answer.get(HEADER_BYTES..HEADER_BYTES + 4);
    let errno = errno.and_then(|bytes| bytes.try_into().ok());
    match (kind.map(u16::from_ne_bytes), errno.map(i32::from_ne_bytes)) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(errno)) => Err(io::Error::from_raw_os_error(-errno)),
        _ => Err(io::Error::other("the kernel sent no acknowledgment")),
    }
}
