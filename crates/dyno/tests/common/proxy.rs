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
                    join(&shared, client, server, reply_delay);
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

fn join(gate: &Arc<Gate>, client: TcpStream, server: TcpStream, reply_delay: Duration) {
    let copies = (client.try_clone(), server.try_clone());
    let (Ok(client_copy), Ok(server_copy)) = copies else {
        return;
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
        gate.streams.lock().unwrap().extend(stream.try_clone().ok());
    }
    let (there, back) = (Arc::clone(gate), Arc::clone(gate));
    std::thread::spawn(move || copy(&there, client, server, Duration::ZERO));
    std::thread::spawn(move || copy(&back, server_copy, client_copy, reply_delay));
}

fn copy(gate: &Gate, mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut bytes = [0; 64 * 1024];
    loop {
        match from.read(&mut bytes) {
            Ok(count @ 1..) => {
                gate.pass();
                std::thread::sleep(delay);
                if to.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            _ => break,
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
