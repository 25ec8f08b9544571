//! Delays or drops packets that a namespace sends, without the kernel's `netem` module.
//!
//! Routes to the peers lead through a TUN device. A thread reads packets from it and sends each on
//! through the original interface once its delay has passed. A seeded generator chooses the packets
//! that are dropped.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plan::{SlowLink, SplitMix64};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use socket2::{Domain, Protocol, Socket, Type};

use crate::failure::Failure;
use crate::ip::{self, inside, no_network};

const TUN: &str = "/dev/net/tun";
/// Name of the TUN device in the namespace.
const DEVICE: &str = "delay";
/// The interface through which packets leave the namespace.
const INTERFACE: &str = "eth0";
/// `TUNSETIFF`
const ATTACH: Opcode = opcode::write::<i32>(b'T', 202);
/// `IFF_TUN | IFF_NO_PI`: whole IP packets, and nothing before them.
const PACKETS: u16 = 0x0001 | 0x1000;
/// Larger than any packet.
const PACKET_BYTES: usize = 65_536;
/// Maximum number of waiting packets; further ones are dropped, as in a router's queue.
const MAX_WAITING: usize = 100_000;
/// How often the thread checks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A thread that delays packets until this value is dropped.
#[derive(Debug)]
pub(super) struct Delay {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Delay {
    /// Starts to delay or drop what the namespace sends from its address to `peers`.
    pub(super) fn start(
        namespace: &Path,
        name: &str,
        own: Ipv4Addr,
        peers: &[Ipv4Addr],
        how: &SlowLink,
    ) -> Result<Self, Failure> {
        let opened = inside(namespace, || Ok((open_device()?, open_sender()?)));
        let (device, sender) = opened.map_err(|error| {
            let (what, remedy) = match how.loss {
                Some(_) => ("lost: ", "load the module: modprobe tun"),
                None => (
                    "delayed: the kernel has no module sch_netem, and ",
                    "load one of the modules: modprobe sch_netem, or modprobe tun",
                ),
            };
            let why = format!("packets cannot be {what}{TUN} cannot be used ({error})");
            no_network(why, remedy)
        })?;
        let ends = Arc::new(AtomicBool::new(false));
        let line = Line {
            device,
            sender,
            delay: how.delay.unwrap_or_default(),
            loss: how
                .loss
                .map(|loss| (loss.share, SplitMix64::new(loss.seed))),
            waiting: VecDeque::new(),
            ends: Arc::clone(&ends),
        };
        let thread = thread::Builder::new().name("delay".to_owned());
        let thread = thread.spawn(|| line.run());
        let started = Self {
            thread: Some(thread.map_err(Failure::at("start a thread for", TUN))?),
            ends,
        };
        ip::run(
            "ip",
            &format!("-n {name} link set {DEVICE} up txqueuelen 10000"),
        )?;
        let route = |peer| format!("route replace {peer}/32 dev {DEVICE} src {own}\n");
        let routes: String = peers.iter().map(route).collect();
        ip::run_with("ip", &format!("-n {name} -batch -"), &routes)?;
        Ok(started)
    }

    /// Stops delaying. Packets that are already delayed still arrive on time.
    pub(super) fn stop(&self, name: &str) -> Result<(), Failure> {
        let stopped = ip::run("ip", &format!("-n {name} route flush dev {DEVICE}"));
        stopped.map(drop)
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked delays nothing.
            let _ = thread.join();
        }
    }
}

/// Packets in transit.
struct Line {
    device: File,
    sender: Socket,
    delay: Duration,
    /// The fraction of packets to drop, and the generator that chooses them.
    loss: Option<(f64, SplitMix64)>,
    /// Time of forwarding and bytes of each packet, in order of time.
    waiting: VecDeque<(Instant, Vec<u8>)>,
    ends: Arc<AtomicBool>,
}

impl Line {
    fn run(mut self) {
        let mut buffer = vec![0; PACKET_BYTES];
        while !self.ends.load(Ordering::Relaxed) || !self.waiting.is_empty() {
            let now = Instant::now();
            while self.waiting.front().is_some_and(|(due, _)| *due <= now) {
                if let Some((_, packet)) = self.waiting.pop_front() {
                    self.send(&packet);
                }
            }
            let next = self.waiting.front();
            let pause = next.map_or(POLL_INTERVAL, |(due, _)| *due - now);
            let pause = Timespec::try_from(pause.min(POLL_INTERVAL)).ok();
            let readable = PollFd::new(&self.device, PollFlags::IN);
            if poll(&mut [readable], pause.as_ref()).is_err() {
                continue;
            }
            // No new packets once the thread is to end, even if routes still lead here.
            while !self.ends.load(Ordering::Relaxed)
                && let Ok(length @ 1..) = self.device.read(&mut buffer)
            {
                let packet = buffer.get(..length).unwrap_or_default();
                if self.waiting.len() < MAX_WAITING && self.carries(packet) {
                    self.waiting
                        .push_back((Instant::now() + self.delay, packet.to_owned()));
                }
            }
        }
    }

    /// Whether a packet is forwarded. The kernel's own IPv6 packets are dropped without drawing from
    /// the seeded generator, so that they do not shift its choices.
    fn carries(&mut self, packet: &[u8]) -> bool {
        let is_v4 = packet.first().is_some_and(|byte| byte >> 4 == 4);
        let mut is_lost = || {
            let loss = self.loss.as_mut();
            loss.is_some_and(|(share, random)| random.unit() < *share)
        };
        is_v4 && !is_lost()
    }

    /// Sends a packet to the destination in its header.
    fn send(&self, packet: &[u8]) {
        let to: Option<[u8; 4]> = packet.get(16..20).and_then(|ip| ip.try_into().ok());
        if let Some(to) = to {
            // A packet that cannot be sent is lost, as on any link.
            let _ = self
                .sender
                .send_to(packet, &SocketAddrV4::new(to.into(), 0).into());
        }
    }
}

/// The layout of the kernel's `struct ifreq`, as far as `TUNSETIFF` reads it.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    unused: [u8; 22],
}

/// Creates a TUN device in this thread's namespace. It disappears when the file is closed.
#[expect(
    unsafe_code,
    reason = "neither std nor rustix can create a TUN device; the call only reads a structure"
)]
fn open_device() -> io::Result<File> {
    accept_replies()?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let device = options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(TUN)?;
    let mut request = InterfaceRequest {
        name: [0; 16],
        flags: PACKETS,
        unused: [0; 22],
    };
    for (to, from) in request.name.iter_mut().zip(DEVICE.bytes()) {
        *to = from;
    }
    // SAFETY: TUNSETIFF reads a `struct ifreq` of 40 bytes, whose layout the type has.
    unsafe { ioctl(device.as_fd(), Setter::<ATTACH, _>::new(request))? };
    Ok(device)
}

/// Makes the interface accept packets from the peers although no route to them leads through it any
/// more.
fn accept_replies() -> io::Result<()> {
    for interface in ["all", INTERFACE] {
        let file = format!("/proc/sys/net/ipv4/conf/{interface}/rp_filter");
        if fs::read_to_string(&file)?.trim() != "0" {
            fs::write(&file, "0")?;
        }
    }
    Ok(())
}

/// A socket that sends whole packets through the interface, whatever the routes.
fn open_sender() -> io::Result<Socket> {
    let raw = Protocol::from(rustix::net::ipproto::RAW.as_raw().get().cast_signed());
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(raw))?;
    socket.bind_device(Some(INTERFACE.as_bytes()))?;
    Ok(socket)
}
