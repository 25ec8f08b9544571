//! A proxy between dyno and a server, which a test can stall, slow down or cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::wait_until;

/// Forwards connections of a free port; its threads end with it.
pub struct Proxy {
    port: u16,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
    over: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// A proxy to a port of this host, which delays each reply.
    pub fn start(upstream: u16, reply_delay: Duration) -> Self {
        Self::forward(upstream, reply_delay, u64::MAX)
    }

    /// A proxy that closes each connection behind so many bytes of replies.
    pub fn cutting(upstream: u16, reply_bytes: u64) -> Self {
        Self::forward(upstream, Duration::ZERO, reply_bytes)
    }

    fn forward(upstream: u16, reply_delay: Duration, reply_bytes: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().unwrap().port();
        let gate = Arc::new(Gate::default());
        let shared = Arc::clone(&gate);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                let address = SocketAddr::from(([127, 0, 0, 1], upstream));
                // A server that is away is seen as a connection that closes at once.
                if let Ok(server) = TcpStream::connect(address) {
                    join(&shared, client, server, reply_delay, reply_bytes);
                }
            }
        });
        Self { port, gate }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on nothing gets through.
    pub fn hold(&self) {
        *self.gate.closed.lock().unwrap() = true;
    }

    /// Lets everything through again.
    pub fn release(&self) {
        *self.gate.closed.lock().unwrap() = false;
        self.gate.opened.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.gate.over.store(true, Ordering::Relaxed);
        self.release();
        for stream in self.gate.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the listener, so that it sees the end.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Gate {
    fn pass(&self) {
        let closed = self.closed.lock().unwrap();
        drop(self.opened.wait_while(closed, |closed| *closed).unwrap());
    }
}

fn join(gate: &Arc<Gate>, client: TcpStream, server: TcpStream, delay: Duration, bytes: u64) {
    let copies = (client.try_clone(), server.try_clone());
    let (Ok(client_copy), Ok(server_copy)) = copies else {
        return;
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
        gate.streams.lock().unwrap().extend(stream.try_clone().ok());
    }
    let (there, back) = (Arc::clone(gate), Arc::clone(gate));
    std::thread::spawn(move || copy(&there, client, server, Duration::ZERO, u64::MAX));
    std::thread::spawn(move || copy(&back, server_copy, client_copy, delay, bytes));
}

/// Copies at most `left` bytes.
fn copy(gate: &Gate, mut from: TcpStream, mut to: TcpStream, delay: Duration, left: u64) {
    let mut left = left;
    let mut bytes = [0; 64 * 1024];
    while left > 0 {
        let Ok(count @ 1..) = from.read(&mut bytes) else {
            break;
        };
        gate.pass();
        std::thread::sleep(delay);
        let passed = count.min(usize::try_from(left).unwrap_or(count));
        left -= passed as u64;
        if to.write_all(&bytes[..passed]).is_err() {
            break;
        }
    }
    // Closed on purpose is closed for both.
    let how = if left == 0 {
        Shutdown::Both
    } else {
        Shutdown::Write
    };
    let _ = to.shutdown(how);
    let _ = from.shutdown(if left == 0 { how } else { Shutdown::Read });
}
