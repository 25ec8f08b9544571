//! Short HTTP requests to programs of the laboratory, some of which admit only holders of their
//! cluster's key.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::certificate::Certificate;

/// How long connecting, and the answer to a question, may take.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(2);
const MAX_REPLY_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// For example 200.
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> io::Result<Reply> {
    exchange(connect(address, ANSWER_LIMIT)?, address, ("GET", path), "")
}

/// Sends JSON to a program of this cluster; each read may take `limit`.
pub(crate) fn send(
    address: SocketAddr,
    request: (&str, &str),
    certificate: &Certificate,
    json: &str,
    limit: Duration,
) -> io::Result<Reply> {
    let stream = encrypted(certificate, address, limit)?;
    exchange(stream, address, request, json)
}

/// HTTP/1.0: the server closes the connection after its reply and does not send it in chunks.
fn exchange(
    mut stream: impl Read + Write,
    host: SocketAddr,
    (method, path): (&str, &str),
    json: &str,
) -> io::Result<Reply> {
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {host}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
        json.len()
    );
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut bytes = Vec::new();
    match stream.take(MAX_REPLY_BYTES).read_to_end(&mut bytes) {
        // The server need not announce that it closes an encrypted connection.
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
        _ => {}
    }
    parse(&String::from_utf8_lossy(&bytes))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the reply is not HTTP"))
}

pub(crate) fn connect(address: SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(ANSWER_LIMIT))?;
    Ok(stream)
}

/// A connection on which both ends have proven that they hold the cluster's key.
fn encrypted(
    certificate: &Certificate,
    address: SocketAddr,
    limit: Duration,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let config = tls(certificate).map_err(io::Error::other)?;
    let tls = ClientConnection::new(Arc::new(config), address.ip().into());
    let tls = tls.map_err(io::Error::other)?;
    Ok(StreamOwned::new(tls, connect(address, limit)?))
}

fn tls(certificate: &Certificate) -> Result<ClientConfig, rustls::Error> {
    let unreadable = |error: rustls::pki_types::pem::Error| {
        rustls::Error::General(format!("cannot read a certificate: {error}"))
    };
    let parse = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(unreadable);
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).map_err(unreadable)?;
    let mut roots = RootCertStore::empty();
    roots.add(parse(&certificate.authority)?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![parse(&certificate.certificate)?], key)
}

fn parse(reply: &str) -> Option<Reply> {
    let (head, body) = reply.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?;
    Some(Reply {
        status: status.parse().ok()?,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_is_a_reply() {
        let reply = parse("HTTP/1.0 503 Service Unavailable\r\nA: b\r\n\r\n{}").unwrap();
        assert_eq!((reply.status, reply.body.as_str()), (503, "{}"));
        assert!(!reply.is_success());
        for text in [
            "",
            "HTTP/1.1 200 OK",
            "SSH-2.0\r\n\r\n",
            "HTTP/1.1 OK\r\n\r\n",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
