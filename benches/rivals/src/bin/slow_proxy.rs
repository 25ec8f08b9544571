//! A proxy that reduces throughput by a given share, which a comparison must detect.
//!
//! It delays each request in proportion to the time since the previous one on the same
//! connection, so the share does not depend on the speed of the host, as a delay in
//! microseconds would. It can also simulate a network with a constant round-trip time. It
//! spins, because timers are too coarse for microseconds.
//!
//! It listens on a free port of 127.0.0.1, prints the port, and exits at the end of its
//! standard input. When a connection closes, it prints the number of replies, and the median
//! and p99, in microseconds, of the time from a request's arrival, as the kernel stamped it,
//! until its reply is sent: what a client should have measured.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "usage: slow_proxy HOST:PORT SHARE NETWORK_US
  SHARE       reduction of throughput, from 0 (forward only) to 0.5
  NETWORK_US  additional round-trip time of each request, from 0 to 5000 µs";
const BUFFER_BYTES: usize = 64 * 1024;
/// Longest simulated round trip.
const FARTHEST_US: u64 = 5000;
/// Longest delay of a request: a connection that was idle must not keep a CPU busy.
const LONGEST: Duration = Duration::from_millis(1);

/// When requests of one connection are forwarded.
struct Pace {
    /// Simulated round-trip time.
    network: Duration,
    /// Delay per second since the previous request.
    rate: f64,
    /// When the last request was forwarded.
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

/// The wall clock, with which the kernel stamps packets.
fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Makes the kernel stamp arriving packets.
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

/// Reads the bytes that have arrived, and when they did; none if the peer has closed.
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

/// Forwards requests with their delay, and records when the last one arrived.
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

/// Forwards replies, and returns how long each took, in nanoseconds.
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

/// Ends the other direction, too. If the socket is already closed, there is nothing to do.
fn close(from: &TcpStream, to: &TcpStream) {
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Prints the statistics of a connection.
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
    // What took (1 - share) then takes 1, so throughput falls by the share.
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
