//! A hop before a server that takes a given share of its users' throughput: what a
//! comparison has to find.
//!
//! Each request is delayed in proportion to the time since the one before it on the same
//! connection, so throughput falls by the share however fast the host is just then. A
//! delay in microseconds would be more or less than what was asked for with every change
//! of the host's pace. It can be a network as well, whose round trip is always the same. It
//! spins: timers are too coarse for microseconds.
//!
//! It listens on a free port of 127.0.0.1, prints the port, and ends when its standard
//! input does. When a connection closes it prints how many replies it passed on and the
//! median and p99, in microseconds, of the time from a request's arrival, as the kernel
//! stamped it, to the sending of its reply: what a client should have measured.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "usage: slow_proxy HOST:PORT SHARE NETWORK_US
  SHARE       by which throughput falls, from 0 (pass on only) to 0.5
  NETWORK_US  a round trip that each request takes besides, from 0 to 5000 µs";
const BUFFER_BYTES: usize = 64 * 1024;
/// The longest round trip.
const FARTHEST_US: u64 = 5000;
/// No request is slowed down by more: a connection that slept must not keep a CPU busy.
const LONGEST: Duration = Duration::from_millis(1);

/// When requests of one connection are passed on.
struct Pace {
    /// Of a round trip.
    network: Duration,
    /// Delay for each second that passes without one.
    rate: f64,
    /// When the last request was passed on.
    last: Option<Instant>,
}

impl Pace {
    fn delay(&mut self) {
        let came = Instant::now();
        let taken = self.last.map_or(Duration::ZERO, |last| came - last);
        let taken = taken + self.network;
        let until = came + self.network + taken.mul_f64(self.rate).min(LONGEST);
        let mut now = came;
        while now < until {
            std::hint::spin_loop();
            now = Instant::now();
        }
        self.last = Some(now);
    }
}

/// The wall clock, which is the one that the kernel stamps packets with.
fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Asks the kernel to stamp what arrives.
fn ask_for_stamps(socket: &TcpStream) -> Result<(), Failure> {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is an integer that outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

/// Reads what has arrived and when it did; nothing when the other side has closed.
fn read_stamped(socket: &TcpStream, buffer: &mut [u8]) -> Option<(usize, u64)> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = [0_u64; 16];
    // SAFETY: a message header of zeros is valid; it then points at buffers that outlive
    // the call, with their lengths, and a control message's data is read unaligned.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let length = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        let length = usize::try_from(length).ok().filter(|&length| length > 0)?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_stamp = !header.is_null() && (*header).cmsg_type == libc::SCM_TIMESTAMPNS;
        let at_ns = match is_stamp {
            true => {
                let at: libc::timespec = libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
            }
            false => wall_ns(),
        };
        Some((length, at_ns))
    }
}

/// Passes on requests, each delayed, and notes when the last one arrived.
fn pass_requests(
    client: &TcpStream,
    mut server: TcpStream,
    mut pace: Pace,
    arrived_ns: &AtomicU64,
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Some((length, at_ns)) = read_stamped(client, &mut buffer) {
        arrived_ns.store(at_ns, Ordering::Release);
        pace.delay();
        if server.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    close(client, &server);
}

/// Passes on replies and gives how long each took, in nanoseconds.
fn pass_replies(mut server: TcpStream, mut client: TcpStream, arrived_ns: &AtomicU64) -> Vec<u64> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut taken_ns = Vec::new();
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        let sent_ns = wall_ns();
        if client.write_all(&buffer[..length]).is_err() {
            break;
        }
        match arrived_ns.load(Ordering::Acquire) {
            0 => {}
            at_ns => taken_ns.push(sent_ns.saturating_sub(at_ns)),
        }
    }
    close(&server, &client);
    taken_ns
}

/// Ends the other direction, too. A socket that is closed already needs no more.
fn close(from: &TcpStream, to: &TcpStream) {
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Prints how long a connection's replies took.
fn say(mut taken_ns: Vec<u64>) {
    taken_ns.sort_unstable();
    let at = |share: f64| {
        let place = (taken_ns.len() as f64 * share) as usize;
        taken_ns.get(place).map_or(0.0, |&ns| ns as f64 / 1e3)
    };
    println!("{} {:.1} {:.1}", taken_ns.len(), at(0.5), at(0.99));
}

fn serve(client: TcpStream, server: &str, network: Duration, rate: f64) -> Result<(), Failure> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    ask_for_stamps(&client)?;
    let (replies, to_client) = (server.try_clone()?, client.try_clone()?);
    let pace = Pace {
        network,
        rate,
        last: None,
    };
    let arrived_ns = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&arrived_ns);
    thread::spawn(move || say(pass_replies(replies, to_client, &seen)));
    thread::spawn(move || pass_requests(&client, server, pace, &arrived_ns));
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, share, network_us] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let share: f64 = share.parse()?;
    let network_us: u64 = network_us.parse()?;
    if !(0.0..=0.5).contains(&share) || network_us > FARTHEST_US {
        return Err(USAGE.into());
    }
    // What took (1 - share) takes 1, so throughput falls by the share.
    let rate = share / (1.0 - share);
    let network = Duration::from_micros(network_us);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("{}", listener.local_addr()?.port());

    let server = server.clone();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if let Err(error) = serve(client, &server, network, rate) {
                eprintln!("slow_proxy: cannot connect to {server}: {error}");
            }
        }
    });
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
