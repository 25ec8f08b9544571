//! What answers at the port is no server of the protocol, or one that breaks off.

use std::io::{Read, Write};
use std::time::Duration;

use client::mysql::Mysql;
use client::postgres::Postgres;
use client::{Error, TlsMode, TlsOptions, Withheld};
use wire::ProtocolError;

use crate::common::peer::{Peer, wait_for_end};
use crate::common::{
    PATIENCE, assert_has, assert_told, closed, open, tls, violation, why_no_tls, why_withheld,
};
use crate::impostor::{
    ADMITTED, Impostor, KEY, OK, READY, Said, VERSION, after_login, at_login, greet, messages,
    packets, read_typed, read_untyped,
};

/// For a peer that says nothing, whatever the machine's speed.
const SHORT: Duration = Duration::from_millis(200);
const OLD: Said<'_> = (b'S', b"server_version\x0012.9\0");
const NEW: Said<'_> = (b'S', b"server_version\x0019beta1\0");
const CLEARTEXT: Said<'_> = (b'R', b"\0\0\0\x03");
const MD5: Said<'_> = (b'R', b"\0\0\0\x05salt");
const SCRAM: Said<'_> = (b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
const PLUS: Said<'_> = (b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0");

fn refusal<P: Impostor>(peer: Peer, limit: Duration, tls: &TlsOptions) -> Error {
    let target = P::target(peer.port, tls);
    peer.refusal::<P>(limit, &target)
}

#[test]
fn a_silent_peer_is_given_up() {
    fn of<P: Impostor>(peer: Peer, mode: TlsMode) {
        let error = refusal::<P>(peer, SHORT, &tls(mode));
        let is_timeout = matches!(error, Error::Timeout { limit: SHORT, .. });
        assert!(is_timeout, "{error}");
        assert_told(&error, &["localhost", "200ms"], &["listens there"]);
    }
    let web = Peer::serve(|mut stream| {
        if let Ok(1..) = stream.read(&mut [0]) {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    of::<Mysql>(web, TlsMode::Disable);
    for mode in [TlsMode::Disable, TlsMode::Preferred] {
        of::<Postgres>(Peer::serve(wait_for_end), mode);
    }
}

#[test]
fn a_peer_that_speaks_first_is_named_by_what_it_says() {
    const OTHERS: [&[u8]; 5] = [
        b"SSH-2.0-OpenSSH_9.2p1\r\n",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"+OK\r\n",
        b"-ERR unknown command\r\n",
    ];
    fn of<P: Impostor>(first: &[u8], peer: fn(Vec<u8>) -> Peer, mode: TlsMode) {
        let error = refusal::<P>(peer(first.to_vec()), PATIENCE, &tls(mode));
        let ProtocolError::OtherProtocol { first_bytes, .. } = violation(&error) else {
            panic!("{mode:?}: {error}")
        };
        assert_eq!(first_bytes.as_bytes()[..4], first[..4]);
        assert_told(&error, &[P::NAME], &["host and port"]);
    }
    for first in OTHERS {
        for peer in [Peer::says, Peer::says_and_closes] {
            of::<Mysql>(first, peer, TlsMode::Disable);
        }
    }
    let mysql: &[u8] = b"\x4a\0\0\0\x0a8.0.36\0\x07\0\0\0abcdefgh\0";
    // As a server without memory sends it: an error of before protocol 3.0.
    let old: &[u8] = b"Ecould not fork new process for connection\n\0";
    for first in OTHERS.into_iter().chain([mysql, old]) {
        for mode in [TlsMode::Disable, TlsMode::Preferred, TlsMode::Required] {
            of::<Postgres>(first, Peer::says, mode);
        }
    }
}

#[test]
fn a_peer_that_closes_in_the_middle_of_the_login_is_lost() {
    fn of<P: Impostor>(peer: Peer) {
        let error = refusal::<P>(peer, PATIENCE, &open());
        assert!(matches!(error, Error::Lost(_)), "{error}");
        assert_told(&error, &["lost"], &["log"]);
    }
    of::<Mysql>(Peer::says_and_closes(Vec::new()));
    // Half a greeting is no other kind of server.
    let greeting = Mysql::greeting();
    for length in 5..greeting.len() {
        of::<Mysql>(Peer::says_and_closes(greeting[..length].to_vec()));
    }
    of::<Mysql>(Peer::serve(|mut stream| greet::<Mysql>(&mut stream, &[])));
    let login = Postgres::admission();
    for length in 0..login.len() {
        let said = login[..length].to_vec();
        let peer = Peer::serve(move |mut stream| greet::<Postgres>(&mut stream, &said));
        of::<Postgres>(peer);
    }
}

#[test]
fn a_server_that_goes_in_the_middle_of_a_reply_is_lost() {
    fn of<P: Impostor>() {
        let answer = P::two_rows();
        for length in 0..=answer.len() {
            let peer = after_login::<P>(answer[..length].to_vec());
            let target = P::target(peer.port, &open());
            match peer.rows::<P>(&target) {
                Ok(rows) => assert_eq!((length, rows), (answer.len(), 2)),
                Err(error) => assert!(matches!(error, Error::Lost(_)), "{length} bytes: {error}"),
            }
        }
    }
    of::<Mysql>();
    of::<Postgres>();
}

#[test]
fn what_has_no_place_in_a_mysql_login_is_refused() {
    let refused = |message: &[u8]| {
        let peer = at_login::<Mysql>(packets(2, &[message]));
        refusal::<Mysql>(peer, PATIENCE, &open())
    };
    let dialog = refused(b"\xfedialog\0nonce");
    assert_has(&dialog.to_string(), &["\"dialog\""]);
    let clear = refused(b"\xfemysql_clear_password\0");
    assert_eq!(why_withheld(&clear), Withheld::Cleartext);
    let out_of_turn = refused(b"\x01\x04");
    assert_eq!(*violation(&out_of_turn), ProtocolError::OutOfTurn);
    let unexpected = |found: &_| matches!(found, ProtocolError::Unexpected { first: 5, .. });
    assert!(unexpected(violation(&refused(b"\x05"))));
    let truncated = |found: &_| matches!(found, ProtocolError::Truncated(_));
    assert!(truncated(violation(&refused(b""))));
}

#[test]
fn what_has_no_place_in_a_postgres_login_is_refused() {
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
        (&[SCRAM, ADMITTED], "out of turn"),
        (&[ADMITTED, ADMITTED], "out of turn"),
        (&[ADMITTED, VERSION, KEY, READY, READY], "after the login"),
        (&[ADMITTED, OLD, READY], "12.9"),
        (&[ADMITTED, NEW, READY], "19beta1"),
    ];
    for (said, wanted) in cases {
        let peer = at_login::<Postgres>(messages(said));
        let error = refusal::<Postgres>(peer, PATIENCE, &open());
        let text = format!("{error}; {}", error.remedy().expect("there is a remedy"));
        assert_has(&text, &[wanted]);
    }
}

/// A thief that does not know the password cannot prove that it does.
#[test]
fn a_server_that_does_not_know_the_password_is_refused() {
    for last in [&b"\0\0\0\x0cv=AAAA"[..], b"\0\0\0\0"] {
        let peer = Peer::serve(move |mut stream| {
            greet::<Postgres>(&mut stream, &messages(&[SCRAM]));
            let first = read_typed(&mut stream).unwrap();
            let at = first.windows(2).position(|pair| pair == b"r=").unwrap();
            let challenge = [b"\0\0\0\x0b", &first[at..], b"x,s=c2FsdA==,i=4096"].concat();
            stream.write_all(&messages(&[(b'R', &challenge)])).unwrap();
            read_typed(&mut stream).unwrap();
            let said = messages(&[(b'R', last), ADMITTED, VERSION, KEY, READY]);
            stream.write_all(&said).unwrap();
            wait_for_end(stream);
        });
        let error = refusal::<Postgres>(peer, PATIENCE, &open());
        let violation = violation(&error);
        let is_forged = matches!(violation, ProtocolError::Authentication(_));
        let is_refused = is_forged || *violation == ProtocolError::OutOfTurn;
        assert!(is_refused, "{error}");
    }
}

/// Clear text that somebody put behind the answer would pass for the server's own.
#[test]
fn nothing_is_taken_in_clear_before_tls() {
    let peer = Peer::says([Mysql::greeting(), Mysql::admission()].concat());
    let error = refusal::<Mysql>(peer, PATIENCE, &closed());
    assert_has(&error.to_string(), &["between the greeting and TLS"]);
    for answer in [b'S', b'N'] {
        let said = [&[answer][..], &Postgres::admission()].concat();
        let error = refusal::<Postgres>(at_login::<Postgres>(said), PATIENCE, &closed());
        let is_refused = matches!(violation(&error), ProtocolError::OtherProtocol { .. });
        assert!(is_refused, "{error}");
    }
}

#[test]
fn tls_with_what_speaks_no_tls() {
    let refused = at_login::<Mysql>(packets(2, &[b"\xff\x15\x04#28000no"]));
    let admits = Peer::serve(|mut stream| {
        read_untyped(&mut stream).unwrap();
        stream.write_all(b"S").unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.write_all(&Postgres::admission()).unwrap();
        wait_for_end(stream);
    });
    for error in [
        refusal::<Mysql>(refused, PATIENCE, &closed()),
        refusal::<Postgres>(admits, PATIENCE, &closed()),
    ] {
        why_no_tls(&error);
        assert!(error.remedy().is_some());
    }
}

#[test]
fn what_has_no_place_in_a_reply_is_refused() {
    fn of<P: Impostor>(answer: Vec<u8>) -> ProtocolError {
        let peer = after_login::<P>(answer);
        let target = P::target(peer.port, &open());
        violation(&peer.rows::<P>(&target).unwrap_err()).clone()
    }
    let unexpected = |first, place| ProtocolError::Unexpected { first, place };
    let (got, expected) = (3, 1);
    let wrong_number = ProtocolError::Sequence { got, expected };
    assert_eq!(of::<Mysql>(packets(3, &[OK])), wrong_number);
    let two_replies = packets(1, &[OK, OK]);
    assert_eq!(of::<Mysql>(two_replies), unexpected(7, "after a reply"));
    let no_columns = packets(1, &[&[0xfe, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]]);
    assert_eq!(of::<Mysql>(no_columns), unexpected(0xfe, "in a reply"));
    let done: Said<'_> = (b'C', b"SELECT 0\0");
    for said in [
        &[done, READY, READY][..],
        &[READY],
        &[(b'D', b"\0\0")],
        &[(b'H', b"\0\0\0")],
        &[(b'G', b"\0\0\0")],
        &[done, (b'Z', b"?")],
    ] {
        of::<Postgres>(messages(said));
    }
}
