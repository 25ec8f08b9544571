//! Peers that are no server of the protocol, or one that breaks off.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use client::{Connection, Error, Protocol};

use super::{PATIENCE, run};

/// A peer that serves one connection.
pub(crate) struct Peer<T = ()> {
    pub(crate) port: u16,
    thread: JoinHandle<T>,
}

impl Peer {
    /// Says these bytes and waits until the client goes.
    pub(crate) fn says(bytes: Vec<u8>) -> Self {
        Self::serve(move |mut stream| {
            stream.write_all(&bytes).unwrap();
            wait_for_end(stream);
        })
    }

    /// Says these bytes and closes.
    pub(crate) fn says_and_closes(bytes: Vec<u8>) -> Self {
        Self::serve(move |mut stream| stream.write_all(&bytes).unwrap())
    }
}

impl<T: Send + 'static> Peer<T> {
    pub(crate) fn serve(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || serve(listener.accept().unwrap().0));
        Self { port, thread }
    }

    /// What it returns once the client has gone.
    pub(crate) fn end(self) -> T {
        self.thread.join().unwrap()
    }

    /// Why nobody can log in to it.
    #[track_caller]
    pub(crate) fn refusal<P: Protocol>(self, limit: Duration, target: &P::Target) -> Error {
        let opened = run(Connection::<P>::open_within(limit, target));
        self.end();
        opened.err().expect("no login")
    }

    /// The rows of a statement after a login.
    pub(crate) fn rows<P: Protocol>(self, target: &P::Target) -> Result<u64, Error> {
        let done = run(async {
            let opened = Connection::<P>::open_within(PATIENCE, target).await;
            opened.unwrap().run("SELECT 'hello'").await
        });
        self.end();
        Ok(done?.rows)
    }
}

pub(crate) fn wait_for_end(mut stream: impl Read) {
    // However the client goes, it goes.
    let _ = stream.read_to_end(&mut Vec::new());
}
