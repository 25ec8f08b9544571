//! What a MySQL server says and hears while somebody logs in, for servers that are none.

use std::io::{self, Read};

use wire::mysql::packet;

/// Lets the client in.
pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// The low half of the capabilities with TLS among them.
const WITH_TLS: [u8; 2] = [0xff, 0xff];
/// The same without.
const WITHOUT_TLS: [u8; 2] = [0xff, 0xf7];

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
    let low = if offers_tls { WITH_TLS } else { WITHOUT_TLS };
    let mut payload = b"\x0a9.9.9-fake\0\x07\0\0\0abcdefgh\0".to_vec();
    payload.extend_from_slice(&low);
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
