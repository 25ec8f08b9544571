//! What answers at the port is no MySQL server, or one that breaks off.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::peer::{Peer, assert_lost_in_a_reply, wait_for_end};
use crate::common::{
    PATIENCE, assert_has, assert_told, closed, open, violation, why_no_tls, why_withheld,
};
use crate::server::{OK, packets, read_packet};
use client::mysql::{Error, Mysql, Target, TlsOptions, Withheld};
use wire::ProtocolError;

/// For a peer that says nothing, whatever the machine's speed.
const SHORT: Duration = Duration::from_millis(200);

fn target(peer: &Peer, tls: &TlsOptions) -> Target {
    let url = format!("mysql://u@127.0.0.1:{}/sbtest", peer.port);
    Target::parse(&url, Some("secret"), "x", tls).unwrap()
}

fn refusal(peer: Peer, limit: Duration, tls: &TlsOptions) -> Error {
    let target = target(&peer, tls);
    peer.refusal::<Mysql>(limit, &target)
}

/// A greeting that offers everything.
fn greeting() -> Vec<u8> {
    crate::server::greeting(true)
}

/// Greets a client, and answers what it says then.
fn greet(stream: &mut TcpStream, answer: &[u8]) {
    stream.write_all(&greeting()).unwrap();
    read_packet(stream).unwrap();
    stream.write_all(answer).unwrap();
}

/// A server that answers the login so.
fn at_login(answer: Vec<u8>) -> Peer {
    Peer::serve(move |mut stream| {
        greet(&mut stream, &answer);
        wait_for_end(stream);
    })
}

/// A server that logs in whoever comes, then answers the first statement so.
fn after_login(answer: Vec<u8>) -> (Peer, Target) {
    let peer = Peer::serve(move |mut stream| {
        greet(&mut stream, &packets(2, &[OK]));
        read_packet(&mut stream).unwrap();
        stream.write_all(&answer).unwrap();
    });
    let target = target(&peer, &open());
    (peer, target)
}

#[test]
fn a_server_of_the_web_says_nothing_until_it_is_asked() {
    let peer = Peer::serve(|mut stream| {
        let mut request = [0; 1];
        if let Ok(1..) = stream.read(&mut request) {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = refusal(peer, SHORT, &open());
    let is_timeout = matches!(error, Error::Timeout { limit: SHORT, .. });
    assert!(is_timeout, "{error}");
    assert_told(&error, &["127.0.0.1", "200ms"], &["listens there"]);
}

#[test]
fn a_peer_that_speaks_first_is_named_by_what_it_says() {
    for first in [
        "SSH-2.0-OpenSSH_9.2p1\r\n",
        "220 mail.example ESMTP\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "+OK\r\n",
        "-ERR unknown command\r\n",
    ] {
        for peer in [Peer::says, Peer::says_and_closes] {
            let error = refusal(peer(first.into()), PATIENCE, &open());
            let (start, _) = first.split_at(first.find('\r').unwrap().min(20));
            assert_told(&error, &[start, "MySQL"], &["host and port"]);
        }
    }
}

#[test]
fn a_peer_that_closes_in_the_middle_of_the_login_is_lost() {
    let error = refusal(Peer::says_and_closes(Vec::new()), PATIENCE, &open());
    assert_told(&error, &["lost", "closed the connection"], &["log"]);
    // Half a greeting is no other kind of server.
    let greeting = greeting();
    let cut = |length: usize| Peer::says_and_closes(greeting[..length].to_vec());
    let greeted = Peer::serve(|mut stream| greet(&mut stream, &[]));
    for peer in (5..greeting.len()).map(cut).chain([greeted]) {
        let error = refusal(peer, PATIENCE, &open());
        assert!(matches!(error, Error::Lost(_)), "{error}");
    }
}

#[test]
fn what_has_no_place_in_a_login_is_refused() {
    let refused = |message: &[u8]| refusal(at_login(packets(2, &[message])), PATIENCE, &open());
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

/// Bytes in clear that someone put behind the greeting would pass for the server's own.
#[test]
fn nothing_is_taken_in_clear_before_tls() {
    let peer = Peer::says([greeting(), packets(2, &[OK])].concat());
    let error = refusal(peer, PATIENCE, &closed());
    assert_has(&error.to_string(), &["between the greeting and TLS"]);
}

#[test]
fn tls_with_what_speaks_no_tls() {
    let peer = at_login(packets(2, &[b"\xff\x15\x04#28000no"]));
    let error = refusal(peer, PATIENCE, &closed());
    why_no_tls(&error);
    assert!(error.remedy().is_some());
}

#[test]
fn a_server_that_goes_in_the_middle_of_a_reply_is_lost() {
    let end: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
    let answer = packets(1, &[b"\x01", b"\x03def", b"\x05hello", b"\x05world", end]);
    assert_lost_in_a_reply::<Mysql>(&answer, after_login);
}

#[test]
fn what_has_no_place_in_a_reply_is_refused() {
    let refused = |answer| {
        let (peer, target) = after_login(answer);
        violation(&peer.rows::<Mysql>(&target).unwrap_err()).clone()
    };
    let unexpected = |first, place| ProtocolError::Unexpected { first, place };
    let (got, expected) = (3, 1);
    let wrong_number = ProtocolError::Sequence { got, expected };
    assert_eq!(refused(packets(3, &[OK])), wrong_number);
    let two_replies = packets(1, &[OK, OK]);
    assert_eq!(refused(two_replies), unexpected(7, "after a reply"));
    let no_columns = packets(1, &[&[0xfe, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]]);
    assert_eq!(refused(no_columns), unexpected(0xfe, "in a reply"));
}
