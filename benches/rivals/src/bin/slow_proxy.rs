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
//! input does.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

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

/// Passes on what comes until one side has closed.
fn pass_on(mut from: TcpStream, mut to: TcpStream, mut before: impl FnMut()) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        before();
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // So the other direction ends, too. A socket that is closed already needs no more.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn serve(client: TcpStream, server: &str, network: Duration, rate: f64) -> Result<(), Failure> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (replies, to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || pass_on(replies, to_client, || ()));
    let mut pace = Pace {
        network,
        rate,
        last: None,
    };
    thread::spawn(move || pass_on(client, server, || pace.delay()));
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
