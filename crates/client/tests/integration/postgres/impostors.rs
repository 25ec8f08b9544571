//! What answers at the port is not PostgreSQL, breaks off, or is after the password.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use client::postgres::{Connection, Error, Target};
use client::tls::{TlsMode, TlsOptions};
use wire::ProtocolError;
use wire::postgres::message;

use super::{assert_told, run, target, tls};
use crate::common::thief::{create_authority, thiefs_tls};

/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);
/// For a peer that says nothing, whatever the machine's speed.
const SHORT: Duration = Duration::from_millis(200);
const PASSWORD: &str = "hush-hush";

type Said<'a> = (u8, &'a [u8]);

const OK: Said<'_> = (b'R', b"\0\0\0\0");
const VERSION: Said<'_> = (b'S', b"server_version\x0015.1\0");
const KEY: Said<'_> = (b'K', b"\0\0\0\x01\0\0\0\x02");
const READY: Said<'_> = (b'Z', b"I");
const CLEARTEXT: Said<'_> = (b'R', b"\0\0\0\x03");
const MD5: Said<'_> = (b'R', b"\0\0\0\x05salt");
const SCRAM: Said<'_> = (b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");

fn messages(said: &[Said<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, payload) in said {
        message::write(&mut out, *kind, |out| out.extend_from_slice(payload));
    }
    out
}

/// A peer that serves one connection.
struct Peer<T> {
    port: u16,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Peer<T> {
    fn serve(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || serve(listener.accept().unwrap().0));
        Self { port, thread }
    }

    fn target(&self, query: &str, tls: &TlsOptions) -> Target {
        let url = format!("postgres://u@localhost:{}/sbtest{query}", self.port);
        target(&url, Some(PASSWORD), tls)
    }

    fn refusal(self, limit: Duration, tls: &TlsOptions) -> Error {
        let target = self.target("", tls);
        let error = run(Connection::open_within(limit, &target)).unwrap_err();
        self.thread.join().unwrap();
        error
    }
}

/// Reads one message of the client, the startup message's kind included: its payload.
fn read_untyped(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut payload = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

fn read_typed(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    stream.read_exact(&mut [0])?;
    read_untyped(stream)
}

fn wait_for_end(mut stream: impl Read) {
    // However the client goes, it goes.
    let _ = stream.read_to_end(&mut Vec::new());
}

/// A peer that says these bytes to the startup message.
fn after_startup(bytes: Vec<u8>) -> Peer<()> {
    Peer::serve(move |mut stream| {
        read_untyped(&mut stream).unwrap();
        stream.write_all(&bytes).unwrap();
        wait_for_end(stream);
    })
}

fn open() -> TlsOptions {
    tls(TlsMode::Disable)
}

#[test]
fn another_protocol_is_named_by_its_first_bytes() {
    let mysql: &[u8] = b"\x4a\0\0\0\x0a8.0.36\0\x07\0\0\0abcdefgh\0";
    for first in [
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        &b"220 mail.example ESMTP\r\n"[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"-ERR unknown command\r\n",
        mysql,
        // An error of before protocol 3.0, as a server without memory sends it.
        b"Ecould not fork new process for connection\n\0",
    ] {
        for mode in [TlsMode::Disable, TlsMode::Preferred, TlsMode::Required] {
            let peer = Peer::serve(move |mut stream| {
                stream.write_all(first).unwrap();
                wait_for_end(stream);
            });
            let error = peer.refusal(PATIENCE, &tls(mode));
            let Error::Protocol(ProtocolError::OtherProtocol { first_bytes, .. }) = &error else {
                panic!("{mode:?}: {error}")
            };
            assert_eq!(first_bytes.as_bytes()[..4], first[..4]);
            assert_told(&error, &["host and port"]);
        }
    }
}

#[test]
fn a_peer_that_says_nothing_is_given_up() {
    for mode in [TlsMode::Disable, TlsMode::Preferred] {
        let peer = Peer::serve(wait_for_end);
        let error = peer.refusal(SHORT, &tls(mode));
        assert!(
            matches!(error, Error::Timeout { limit: SHORT, .. }),
            "{error}"
        );
        assert_told(&error, &["localhost", "200ms", "listens there"]);
    }
}

#[test]
fn a_peer_that_closes_in_the_middle_of_the_login_is_lost() {
    let login = messages(&[OK, VERSION, KEY, READY]);
    for length in 0..login.len() {
        let said = login[..length].to_vec();
        let peer = Peer::serve(move |mut stream| {
            read_untyped(&mut stream).unwrap();
            stream.write_all(&said).unwrap();
        });
        let error = peer.refusal(PATIENCE, &open());
        assert!(matches!(error, Error::Lost(_)), "{length} bytes: {error}");
    }
}

#[test]
fn what_has_no_place_in_a_login_is_refused() {
    let cases: [(&[Said<'_>], &str); 14] = [
        (&[(b'R', b"\0\0\0\x07")], "GSSAPI"),
        (&[(b'R', b"\0\0\0\x63")], "method 99"),
        (&[(b'R', b"\0\0\0\x0aSCRAM-SHA-1\0\0")], "SCRAM-SHA-1"),
        (
            &[(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0")],
            "SCRAM-SHA-256-PLUS",
        ),
        (&[(b'R', b"\0\0\0\x0aSCRAM")], "truncated"),
        (&[(b'R', b"\0\0\0\x0bchallenge")], "out of turn"),
        (&[(b'R', b"\0")], "truncated"),
        (&[MD5, MD5], "out of turn"),
        (&[MD5, CLEARTEXT], "out of turn"),
        (&[SCRAM, OK], "out of turn"),
        (&[OK, OK], "out of turn"),
        (&[OK, VERSION, KEY, READY, READY], "after the login"),
        (&[OK, (b'S', b"server_version\x0012.9\0"), READY], "12.9"),
        (
            &[OK, (b'S', b"server_version\x0019beta1\0"), READY],
            "19beta1",
        ),
    ];
    for (said, wanted) in cases {
        let error = after_startup(messages(said)).refusal(PATIENCE, &open());
        assert_told(&error, &[wanted]);
    }
}

/// A thief that does not know the password cannot prove that it does.
#[test]
fn a_server_that_does_not_know_the_password_is_refused() {
    for last in [&b"\0\0\0\x0cv=AAAA"[..], b"\0\0\0\0"] {
        let peer = Peer::serve(move |mut stream| {
            read_untyped(&mut stream).unwrap();
            stream.write_all(&messages(&[SCRAM])).unwrap();
            let first = read_typed(&mut stream).unwrap();
            let at = first.windows(2).position(|pair| pair == b"r=").unwrap();
            let challenge = [b"\0\0\0\x0b", &first[at..], b"x,s=c2FsdA==,i=4096"].concat();
            stream.write_all(&messages(&[(b'R', &challenge)])).unwrap();
            read_typed(&mut stream).unwrap();
            let said = messages(&[(b'R', last), OK, VERSION, KEY, READY]);
            stream.write_all(&said).unwrap();
            wait_for_end(stream);
        });
        let error = peer.refusal(PATIENCE, &open());
        let is_refused = matches!(
            error,
            Error::Protocol(ProtocolError::Authentication(_) | ProtocolError::OutOfTurn)
        );
        assert!(is_refused, "{error}");
    }
}

/// Asks for the password in clear, with TLS if the client wants it and `offers_tls`; gives
/// everything that it heard.
fn rob(mut stream: TcpStream, offers_tls: bool) -> Vec<u8> {
    let mut heard = Vec::new();
    let asks_for_tls = read_untyped(&mut stream).is_ok_and(|first| first.len() == 4);
    let answer: &[u8] = if offers_tls { b"S" } else { b"N" };
    if asks_for_tls && stream.write_all(answer).is_err() {
        return heard;
    }
    // However the client goes, what it said before is what counts.
    if asks_for_tls && offers_tls {
        let connection = rustls::ServerConnection::new(thiefs_tls()).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        let _ = read_untyped(&mut stream).and_then(|_| ask(&mut stream, &mut heard));
    } else {
        let started = match asks_for_tls {
            true => read_untyped(&mut stream).map(drop),
            false => Ok(()),
        };
        let _ = started.and_then(|()| ask(&mut stream, &mut heard));
    }
    heard
}

fn ask(stream: &mut (impl Read + Write), heard: &mut Vec<u8>) -> io::Result<()> {
    stream.write_all(&messages(&[CLEARTEXT]))?;
    stream.flush()?;
    heard.extend(read_typed(stream)?);
    Ok(())
}

fn is_robbed(offers_tls: bool, options: &TlsOptions) -> bool {
    let thief = Peer::serve(move |stream| rob(stream, offers_tls));
    let target = thief.target("", options);
    let outcome = run(Connection::open_within(PATIENCE, &target));
    let text = format!("{:?}", outcome.err());
    assert!(!text.contains(PASSWORD), "{text}");
    let heard = thief.thread.join().unwrap();
    heard
        .windows(PASSWORD.len())
        .any(|part| part == PASSWORD.as_bytes())
}

/// With its own certificate, without TLS, and where somebody answered the request for TLS
/// in the server's place: that is the same to the client.
#[test]
fn no_mode_gives_the_password_away() {
    let dir = tempfile::tempdir().unwrap();
    create_authority(dir.path());
    let authority = dir.path().join("cert.pem");
    for mode in [
        None,
        Some(TlsMode::Disable),
        Some(TlsMode::Preferred),
        Some(TlsMode::Required),
        Some(TlsMode::VerifyCa),
        Some(TlsMode::VerifyFull),
    ] {
        let verifies = matches!(mode, Some(TlsMode::VerifyCa | TlsMode::VerifyFull));
        for offers_tls in [true, false] {
            let options = TlsOptions {
                mode,
                ca: verifies.then(|| authority.clone()),
                ..TlsOptions::default()
            };
            assert!(!is_robbed(offers_tls, &options), "{mode:?} {offers_tls}");
            // The option that allows it, which also shows that this thief can steal.
            let allowed = TlsOptions {
                cleartext_plugin: true,
                ..options
            };
            let needs_tls = verifies || mode == Some(TlsMode::Required);
            let is_robbed = is_robbed(offers_tls, &allowed);
            assert_eq!(
                is_robbed,
                !verifies && (offers_tls || !needs_tls),
                "{mode:?}"
            );
        }
    }
}

/// Bytes in clear that somebody put behind the answer would pass for the server's own.
#[test]
fn nothing_is_taken_in_clear_before_tls() {
    for answer in [b'S', b'N'] {
        let peer = Peer::serve(move |mut stream| {
            read_untyped(&mut stream).unwrap();
            let said = messages(&[OK, VERSION, KEY, READY]);
            stream.write_all(&[&[answer][..], &said].concat()).unwrap();
            wait_for_end(stream);
        });
        let error = peer.refusal(PATIENCE, &tls(TlsMode::Required));
        let is_refused = matches!(error, Error::Protocol(ProtocolError::OtherProtocol { .. }));
        assert!(is_refused, "{error}");
    }
}

#[test]
fn tls_with_what_speaks_no_tls() {
    let peer = Peer::serve(|mut stream| {
        read_untyped(&mut stream).unwrap();
        stream.write_all(b"S").unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
        stream
            .write_all(&messages(&[OK, VERSION, KEY, READY]))
            .unwrap();
        wait_for_end(stream);
    });
    let error = peer.refusal(PATIENCE, &tls(TlsMode::Required));
    assert!(matches!(error, Error::Tls { .. }), "{error}");
    assert!(error.remedy().is_some());
}

/// A server that lets everybody in, then answers the first statement so and closes.
fn after_login(answer: Vec<u8>) -> Peer<()> {
    Peer::serve(move |mut stream| {
        read_untyped(&mut stream).unwrap();
        let login = messages(&[OK, VERSION, KEY, READY]);
        stream.write_all(&login).unwrap();
        read_typed(&mut stream).unwrap();
        stream.write_all(&answer).unwrap();
    })
}

#[test]
fn a_server_that_goes_in_the_middle_of_a_reply_is_lost() {
    let row: Said<'_> = (b'D', b"\0\x01\0\0\0\x05hello");
    let answer = messages(&[(b'T', b"\0\0"), row, row, (b'C', b"SELECT 2\0"), READY]);
    for length in 0..=answer.len() {
        let peer = after_login(answer[..length].to_vec());
        let target = peer.target("", &open());
        let outcome = run(async {
            let mut connection = Connection::open_within(PATIENCE, &target).await.unwrap();
            connection.run("SELECT 'hello'").await
        });
        peer.thread.join().unwrap();
        match outcome {
            Ok(done) => assert_eq!((length, done.rows), (answer.len(), 2)),
            Err(error) => assert!(matches!(error, Error::Lost(_)), "{length} bytes: {error}"),
        }
    }
}

#[test]
fn what_has_no_place_in_a_reply_is_refused() {
    let done: Said<'_> = (b'C', b"SELECT 0\0");
    for said in [
        &[done, READY, READY][..],
        &[READY],
        &[(b'D', b"\0\0")],
        &[(b'H', b"\0\0\0")],
        &[(b'G', b"\0\0\0")],
        &[done, (b'Z', b"?")],
    ] {
        let peer = after_login(messages(said));
        let target = peer.target("", &open());
        let error = run(async {
            let mut connection = Connection::open_within(PATIENCE, &target).await.unwrap();
            connection.run("SELECT 1").await.unwrap_err()
        });
        assert!(matches!(error, Error::Protocol(_)), "{error}");
        peer.thread.join().unwrap();
    }
}
