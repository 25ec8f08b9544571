//! A proxy between a client and a server, which a test can stall, slow down or cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Forwards connections of a free port of 127.0.0.1; its threads end with it.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    gate: Arc<Gate>,
}

#[derive(Debug, Clone, Copy)]
struct Behavior {
    reply_delay: Duration,
    /// Closes a connection after so many bytes of replies.
    most_reply_bytes: u64,
}

const FORWARD: Behavior = Behavior {
    reply_delay: Duration::ZERO,
    most_reply_bytes: u64::MAX,
};

#[derive(Debug)]
struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
    is_over: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
    /// The gate closes when one connection has sent so many bytes.
    closes_after_bytes: AtomicU64,
}

impl Proxy {
    pub fn start(upstream: u16) -> Self {
        Self::forward(std::iter::repeat(upstream), FORWARD, u64::MAX)
    }

    pub fn delaying(upstream: u16, reply_delay: Duration) -> Self {
        let behavior = Behavior {
            reply_delay,
            ..FORWARD
        };
        Self::forward(std::iter::repeat(upstream), behavior, u64::MAX)
    }

    /// A proxy that closes each connection after so many bytes of replies.
    pub fn cutting(upstream: u16, most_reply_bytes: u64) -> Self {
        let behavior = Behavior {
            most_reply_bytes,
            ..FORWARD
        };
        Self::forward(std::iter::repeat(upstream), behavior, u64::MAX)
    }

    /// A proxy that holds everything once one of its connections has sent so many bytes, however
    /// fast that comes. The first connection goes to the first of these ports, and so on.
    pub fn holding(upstreams: impl Iterator<Item = u16> + Send + 'static, sent_bytes: u64) -> Self {
        Self::forward(upstreams, FORWARD, sent_bytes)
    }

    fn forward(
        upstreams: impl Iterator<Item = u16> + Send + 'static,
        behavior: Behavior,
        closes_after_bytes: u64,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().unwrap().port();
        let gate = Arc::new(Gate {
            is_closed: Mutex::default(),
            opened: Condvar::new(),
            is_over: AtomicBool::new(false),
            streams: Mutex::default(),
            closes_after_bytes: AtomicU64::new(closes_after_bytes),
        });
        let shared = Arc::clone(&gate);
        std::thread::spawn(move || {
            let clients = listener.incoming().map_while(Result::ok);
            for (client, upstream) in clients.zip(upstreams) {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                // A server that is away is seen as a connection that closes at once.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", upstream)) {
                    join(&shared, client, server, behavior);
                }
            }
        });
        Self { port, gate }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether nothing gets through.
    pub fn is_holding(&self) -> bool {
        *self.gate.is_closed.lock().unwrap()
    }

    /// From now on nothing gets through.
    pub fn hold(&self) {
        *self.gate.is_closed.lock().unwrap() = true;
    }

    /// Lets everything through again, whatever is sent from now on.
    pub fn release(&self) {
        self.gate
            .closes_after_bytes
            .store(u64::MAX, Ordering::Relaxed);
        *self.gate.is_closed.lock().unwrap() = false;
        self.gate.opened.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.gate.is_over.store(true, Ordering::Relaxed);
        for stream in self.gate.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.release();
        // Wakes the listener, so that it sees the end.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Gate {
    /// Waits until it is open, for a connection that has sent so many bytes.
    fn pass(&self, sent_bytes: u64) {
        let mut is_closed = self.is_closed.lock().unwrap();
        *is_closed |= sent_bytes >= self.closes_after_bytes.load(Ordering::Relaxed);
        drop(self.opened.wait_while(is_closed, |closed| *closed).unwrap());
    }
}

fn join(gate: &Arc<Gate>, client: TcpStream, server: TcpStream, behavior: Behavior) {
    let copies = (client.try_clone(), server.try_clone());
    let (Ok(client_copy), Ok(server_copy)) = copies else {
        return;
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
        gate.streams.lock().unwrap().extend(stream.try_clone().ok());
    }
    let (there, back) = (Arc::clone(gate), Arc::clone(gate));
    std::thread::spawn(move || copy(&there, client, server, true, FORWARD));
    std::thread::spawn(move || copy(&back, server_copy, client_copy, false, behavior));
}

/// Copies one direction of a connection. The gate counts the bytes that the client sends
/// (`is_sent`), not those of replies.
fn copy(gate: &Gate, mut from: TcpStream, mut to: TcpStream, is_sent: bool, behavior: Behavior) {
    let (mut sent_bytes, mut left) = (0, behavior.most_reply_bytes);
    let mut bytes = [0; 64 * 1024];
    while left > 0 {
        let Ok(count @ 1..) = from.read(&mut bytes) else {
            break;
        };
        if is_sent {
            sent_bytes += count as u64;
        }
        gate.pass(sent_bytes);
        std::thread::sleep(behavior.reply_delay);
        let passed = count.min(usize::try_from(left).unwrap_or(count));
        left -= passed as u64;
        if to.write_all(&bytes[..passed]).is_err() {
            break;
        }
    }
    // Cut on purpose, it is closed in both directions.
    let (of_receiver, of_sender) = match left {
        0 => (Shutdown::Both, Shutdown::Both),
        _ => (Shutdown::Write, Shutdown::Read),
    };
    let _ = to.shutdown(of_receiver);
    let _ = from.shutdown(of_sender);
}
