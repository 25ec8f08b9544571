//! Short requests by HTTP to programs of the laboratory.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// How long connecting may take, and the answer to a question.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// The longest reply that is read, in bytes.
const MAX_REPLY_BYTES: u64 = 64 << 10;

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The status code, such as 200.
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Who asks: a name and a password.
pub(crate) type Credentials<'a> = (&'a str, &'a str);

/// Asks for a page.
///
/// # Errors
/// When it cannot be reached, or does not answer by HTTP within 2 s.
pub(crate) fn get(address: SocketAddr, path: &str) -> io::Result<Reply> {
    ask(address, "GET", path, None, "", ANSWER_LIMIT)
}

/// Sends a request with a text in JSON; each read may take `limit`.
///
/// # Errors
/// As [`get`]'s.
pub(crate) fn send(
    address: SocketAddr,
    method_and_path: (&str, &str),
    credentials: Credentials<'_>,
    json: &str,
    limit: Duration,
) -> io::Result<Reply> {
    let (method, path) = method_and_path;
    ask(address, method, path, Some(credentials), json, limit)
}

fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    credentials: Option<Credentials<'_>>,
    json: &str,
    limit: Duration,
) -> io::Result<Reply> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(ANSWER_LIMIT))?;
    let login = credentials.map_or(String::new(), |(name, password)| {
        let login = STANDARD.encode(format!("{name}:{password}"));
        format!("Authorization: Basic {login}\r\n")
    });
    // HTTP/1.0: the server closes the connection after its reply, which is not divided into chunks.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\n{login}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
        json.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(MAX_REPLY_BYTES).read_to_end(&mut bytes)?;
    parse(&String::from_utf8_lossy(&bytes))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the reply is not HTTP"))
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
