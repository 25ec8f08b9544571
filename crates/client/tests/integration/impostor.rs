//! What a server of each protocol says and hears, for peers that pretend to be one.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use client::mysql::{self, Mysql};
use client::postgres::{self, Postgres};
use client::{Protocol, TlsOptions};
use wire::mysql::packet;
use wire::postgres::message;

use crate::common::peer::{Peer, wait_for_end};
use crate::common::thief::PASSWORD;

/// A protocol that a peer can pretend to speak.
pub(crate) trait Impostor: Protocol {
    const NAME: &str;
    /// What it says before the client does.
    fn greeting() -> Vec<u8>;
    /// What lets a client in.
    fn admission() -> Vec<u8>;
    /// Two rows, the answer to a statement.
    fn two_rows() -> Vec<u8>;
    fn read_login(stream: &mut TcpStream) -> io::Result<Vec<u8>>;
    fn read_command(stream: &mut TcpStream) -> io::Result<Vec<u8>>;
    fn target(port: u16, tls: &TlsOptions) -> Self::Target;
}

/// A server that answers the client's first message so, and then waits.
pub(crate) fn at_login<P: Impostor>(answer: Vec<u8>) -> Peer {
    Peer::serve(move |mut stream| {
        greet::<P>(&mut stream, &answer);
        wait_for_end(stream);
    })
}

/// A server that logs in whoever comes, then answers the first statement so and closes.
pub(crate) fn after_login<P: Impostor>(answer: Vec<u8>) -> Peer {
    Peer::serve(move |mut stream| {
        greet::<P>(&mut stream, &P::admission());
        P::read_command(&mut stream).unwrap();
        stream.write_all(&answer).unwrap();
    })
}

/// Greets a client, and answers its first message.
pub(crate) fn greet<P: Impostor>(stream: &mut TcpStream, answer: &[u8]) {
    stream.write_all(&P::greeting()).unwrap();
    P::read_login(stream).unwrap();
    stream.write_all(answer).unwrap();
}

/// Lets a MySQL client in.
pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

impl Impostor for Mysql {
    const NAME: &str = "MySQL";

    fn greeting() -> Vec<u8> {
        greeting(true)
    }

    fn admission() -> Vec<u8> {
        packets(2, &[OK])
    }

    fn two_rows() -> Vec<u8> {
        let end: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
        let column = b"\x03def\0\0\0\x01c\0";
        packets(1, &[b"\x01", column, b"\x05hello", b"\x05world", end])
    }

    fn read_login(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
        Self::read_command(stream)
    }

    fn read_command(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
        read_packet(stream).map(|(_, payload)| payload)
    }

    fn target(port: u16, tls: &TlsOptions) -> mysql::Target {
        let url = format!("mysql://u@localhost:{port}/sbtest");
        mysql::Target::parse(&url, Some(PASSWORD), "x", tls).unwrap()
    }
}

/// Packets of a server, the first with this number.
pub(crate) fn packets(mut number: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for payload in payloads {
        number = packet::write(&mut out, number, |out| out.extend_from_slice(payload));
    }
    out
}

/// A greeting that offers everything, TLS only where asked.
pub(crate) fn greeting(offers_tls: bool) -> Vec<u8> {
    let mut payload = b"\x0a9.9.9-fake\0\x07\0\0\0abcdefgh\0".to_vec();
    payload.extend_from_slice(&[0xff, if offers_tls { 0xff } else { 0xf7 }]);
    payload.extend_from_slice(&[45, 2, 0, 0xff, 0xff, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    packets(0, &[&payload])
}

/// Reads one packet of the client: its number and payload.
pub(crate) fn read_packet(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut payload = vec![0; packet::Header::parse(header).length];
    stream.read_exact(&mut payload)?;
    Ok((header[3], payload))
}

/// A message of a PostgreSQL server: its type and payload.
pub(crate) type Said<'a> = (u8, &'a [u8]);

pub(crate) const ADMITTED: Said<'_> = (b'R', b"\0\0\0\0");
pub(crate) const VERSION: Said<'_> = (b'S', b"server_version\x0015.1\0");
pub(crate) const KEY: Said<'_> = (b'K', b"\0\0\0\x01\0\0\0\x02");
pub(crate) const READY: Said<'_> = (b'Z', b"I");

impl Impostor for Postgres {
    const NAME: &str = "PostgreSQL";

    fn greeting() -> Vec<u8> {
        Vec::new()
    }

    fn admission() -> Vec<u8> {
        messages(&[ADMITTED, VERSION, KEY, READY])
    }

    fn two_rows() -> Vec<u8> {
        let row: Said<'_> = (b'D', b"\0\x01\0\0\0\x05hello");
        messages(&[(b'T', b"\0\0"), row, row, (b'C', b"SELECT 2\0"), READY])
    }

    fn read_login(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
        read_untyped(stream)
    }

    fn read_command(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
        read_typed(stream)
    }

    fn target(port: u16, tls: &TlsOptions) -> postgres::Target {
        let url = format!("postgres://u@localhost:{port}/sbtest");
        crate::postgres::target(&url, Some(PASSWORD), tls)
    }
}

pub(crate) fn messages(said: &[Said<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, payload) in said {
        message::write(&mut out, *kind, |out| out.extend_from_slice(payload));
    }
    out
}

/// Reads a message without a type, as the client's first.
pub(crate) fn read_untyped(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut payload = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

pub(crate) fn read_typed(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    stream.read_exact(&mut [0])?;
    read_untyped(stream)
}
