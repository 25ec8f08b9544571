//! What answers at the port is not PostgreSQL, breaks off, or is after the password.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use client::postgres::{Error, Postgres, Target};
use client::{TlsMode, TlsOptions};
use wire::ProtocolError;
use wire::postgres::message;

use super::target;
use crate::common::peer::{Peer, assert_lost_in_a_reply, wait_for_end};
use crate::common::thief::{self, PASSWORD, modes, options, thiefs_tls};
use crate::common::{PATIENCE, assert_has, assert_told, open, tls, violation, why_no_tls};

/// For a peer that says nothing, whatever the machine's speed.
const SHORT: Duration = Duration::from_millis(200);

type Said<'a> = (u8, &'a [u8]);

const OK: Said<'_> = (b'R', b"\0\0\0\0");
const VERSION: Said<'_> = (b'S', b"server_version\x0015.1\0");
const OLD: Said<'_> = (b'S', b"server_version\x0012.9\0");
const NEW: Said<'_> = (b'S', b"server_version\x0019beta1\0");
const KEY: Said<'_> = (b'K', b"\0\0\0\x01\0\0\0\x02");
const READY: Said<'_> = (b'Z', b"I");
const CLEARTEXT: Said<'_> = (b'R', b"\0\0\0\x03");
const MD5: Said<'_> = (b'R', b"\0\0\0\x05salt");
const SCRAM: Said<'_> = (b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
const PLUS: Said<'_> = (b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0");

fn messages(said: &[Said<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, payload) in said {
        message::write(&mut out, *kind, |out| out.extend_from_slice(payload));
    }
    out
}

fn target_of<T>(peer: &Peer<T>, tls: &TlsOptions) -> Target {
    let url = format!("postgres://u@localhost:{}/sbtest", peer.port);
    target(&url, Some(PASSWORD), tls)
}

fn refusal(peer: Peer, limit: Duration, tls: &TlsOptions) -> Error {
    let target = target_of(&peer, tls);
    peer.refusal::<Postgres>(limit, &target)
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

/// A peer that says these bytes to the startup message.
fn after_startup(bytes: Vec<u8>) -> Peer {
    Peer::serve(move |mut stream| {
        read_untyped(&mut stream).unwrap();
        stream.write_all(&bytes).unwrap();
        wait_for_end(stream);
    })
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
            let error = refusal(Peer::says(first.to_vec()), PATIENCE, &tls(mode));
            let ProtocolError::OtherProtocol { first_bytes, .. } = violation(&error) else {
                panic!("{mode:?}: {error}")
            };
            assert_eq!(first_bytes.as_bytes()[..4], first[..4]);
            assert_told(&error, &[], &["host and port"]);
        }
    }
}

#[test]
fn a_peer_that_says_nothing_is_given_up() {
    for mode in [TlsMode::Disable, TlsMode::Preferred] {
        let error = refusal(Peer::serve(wait_for_end), SHORT, &tls(mode));
        let is_timeout = matches!(error, Error::Timeout { limit: SHORT, .. });
        assert!(is_timeout, "{error}");
        assert_told(&error, &["localhost", "200ms"], &["listens there"]);
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
        let error = refusal(peer, PATIENCE, &open());
        assert!(matches!(error, Error::Lost(_)), "{length} bytes: {error}");
    }
}

#[test]
fn what_has_no_place_in_a_login_is_refused() {
    let cases: [(&[Said<'_>], &str); 14] = [
        (&[(b'R', b"\0\0\0\x07")], "GSSAPI"),
        (&[(b'R', b"\0\0\0\x63")], "method 99"),
        (&[(b'R', b"\0\0\0\x0aSCRAM-SHA-1\0\0")], "SCRAM-SHA-1"),
        (&[PLUS], "SCRAM-SHA-256-PLUS"),
        (&[(b'R', b"\0\0\0\x0aSCRAM")], "truncated"),
        (&[(b'R', b"\0\0\0\x0bchallenge")], "out of turn"),
        (&[(b'R', b"\0")], "truncated"),
        (&[MD5, MD5], "out of turn"),
        (&[MD5, CLEARTEXT], "out of turn"),
        (&[SCRAM, OK], "out of turn"),
        (&[OK, OK], "out of turn"),
        (&[OK, VERSION, KEY, READY, READY], "after the login"),
        (&[OK, OLD, READY], "12.9"),
        (&[OK, NEW, READY], "19beta1"),
    ];
    for (said, wanted) in cases {
        let error = refusal(after_startup(messages(said)), PATIENCE, &open());
        let text = format!("{error}; {}", error.remedy().expect("there is a remedy"));
        assert_has(&text, &[wanted]);
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
        let error = refusal(peer, PATIENCE, &open());
        let violation = violation(&error);
        let is_forged = matches!(violation, ProtocolError::Authentication(_));
        assert!(
            is_forged || *violation == ProtocolError::OutOfTurn,
            "{error}"
        );
    }
}

/// Asks for the password in clear, with TLS if the client wants it and `offers_tls`; gives
/// everything that it heard.
fn rob(mut stream: TcpStream, offers_tls: bool) -> io::Result<Vec<u8>> {
    let asks_for_tls = read_untyped(&mut stream)?.len() == 4;
    if asks_for_tls {
        stream.write_all(if offers_tls { b"S" } else { b"N" })?;
    }
    if asks_for_tls && offers_tls {
        let mut stream = rustls::StreamOwned::new(thiefs_tls(), stream);
        read_untyped(&mut stream)?;
        return ask(&mut stream);
    }
    if asks_for_tls {
        read_untyped(&mut stream)?;
    }
    ask(&mut stream)
}

fn ask(stream: &mut (impl Read + Write)) -> io::Result<Vec<u8>> {
    stream.write_all(&messages(&[CLEARTEXT]))?;
    stream.flush()?;
    read_typed(stream)
}

fn is_robbed(offers_tls: bool, options: &TlsOptions) -> bool {
    // However the client goes, what it said before is what counts.
    let thief = Peer::serve(move |stream| rob(stream, offers_tls).into_iter().collect());
    let target = target_of(&thief, options);
    let heard = thief::heard::<Postgres>(thief, &target);
    heard.iter().any(|said| thief::holds_password(said))
}

/// With its own certificate, without TLS, and where somebody answered the request for TLS
/// in the server's place: that is the same to the client.
#[test]
fn no_mode_gives_the_password_away() {
    for mode in modes() {
        let verifies = matches!(mode, Some(TlsMode::VerifyCa | TlsMode::VerifyFull));
        for offers_tls in [true, false] {
            let mut options = options(mode);
            assert!(!is_robbed(offers_tls, &options), "{mode:?} {offers_tls}");
            // The option that allows it, which also shows that this thief can steal.
            options.cleartext_plugin = true;
            let can_steal = !verifies && (offers_tls || mode != Some(TlsMode::Required));
            assert_eq!(is_robbed(offers_tls, &options), can_steal, "{mode:?}");
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
        let error = refusal(peer, PATIENCE, &tls(TlsMode::Required));
        let is_refused = matches!(violation(&error), ProtocolError::OtherProtocol { .. });
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
    let error = refusal(peer, PATIENCE, &tls(TlsMode::Required));
    why_no_tls(&error);
    assert!(error.remedy().is_some());
}

/// A server that lets everybody in, then answers the first statement so and closes.
fn after_login(answer: Vec<u8>) -> (Peer, Target) {
    let peer = Peer::serve(move |mut stream| {
        read_untyped(&mut stream).unwrap();
        let login = messages(&[OK, VERSION, KEY, READY]);
        stream.write_all(&login).unwrap();
        read_typed(&mut stream).unwrap();
        stream.write_all(&answer).unwrap();
    });
    let target = target_of(&peer, &open());
    (peer, target)
}

#[test]
fn a_server_that_goes_in_the_middle_of_a_reply_is_lost() {
    let row: Said<'_> = (b'D', b"\0\x01\0\0\0\x05hello");
    let answer = messages(&[(b'T', b"\0\0"), row, row, (b'C', b"SELECT 2\0"), READY]);
    assert_lost_in_a_reply::<Postgres>(&answer, after_login);
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
        let (peer, target) = after_login(messages(said));
        violation(&peer.rows::<Postgres>(&target).unwrap_err());
    }
}
