//! What answers at the port is no MySQL server, or one that breaks off.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::peer::{OK, packets, read_packet};
use crate::common::{self, assert_has, closed, open, run, told};
use client::mysql::{Connection, Error, Target, Withheld};
use wire::ProtocolError;

/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);
/// For a peer that says nothing, whatever the machine's speed.
const SHORT: Duration = Duration::from_millis(200);

/// A peer that serves one connection.
struct Peer {
    port: u16,
    thread: JoinHandle<()>,
}

impl Peer {
    fn serve(serve: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || serve(listener.accept().unwrap().0));
        Self { port, thread }
    }

    /// Says these bytes and waits until the client goes.
    fn says(bytes: Vec<u8>) -> Self {
        Self::serve(move |mut stream| {
            stream.write_all(&bytes).unwrap();
            wait_for_end(stream);
        })
    }

    /// Says these bytes and closes.
    fn says_and_closes(bytes: Vec<u8>) -> Self {
        Self::serve(move |mut stream| stream.write_all(&bytes).unwrap())
    }

    fn target(&self, tls: &client::mysql::TlsOptions) -> Target {
        let url = format!("mysql://u@127.0.0.1:{}/sbtest", self.port);
        Target::parse(&url, Some("secret"), "x", tls).unwrap()
    }

    fn refusal(self, limit: Duration) -> Error {
        let error = run(Connection::open_within(limit, &self.target(&open()))).unwrap_err();
        self.thread.join().unwrap();
        error
    }
}

fn wait_for_end(mut stream: TcpStream) {
    // However the client goes, it goes.
    let _ = stream.read_to_end(&mut Vec::new());
}

/// A greeting that offers everything.
fn greeting() -> Vec<u8> {
    common::peer::greeting(true)
}

/// A server that logs in whoever comes, then answers the first statement so.
fn after_login(answer: Vec<u8>) -> Peer {
    Peer::serve(move |mut stream| {
        stream.write_all(&greeting()).unwrap();
        read_packet(&mut stream);
        stream.write_all(&packets(2, &[OK])).unwrap();
        read_packet(&mut stream);
        stream.write_all(&answer).unwrap();
    })
}

#[test]
fn a_server_of_the_web_says_nothing_until_it_is_asked() {
    let peer = Peer::serve(|mut stream| {
        let mut request = [0; 1];
        if let Ok(1..) = stream.read(&mut request) {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = peer.refusal(SHORT);
    assert!(
        matches!(error, Error::Timeout { limit: SHORT, .. }),
        "{error}"
    );
    let (text, remedy) = told(&error);
    assert_has(&text, &["127.0.0.1", "200ms"]);
    assert_has(remedy, &["listens there"]);
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
        for peer in [
            Peer::says(first.into()),
            Peer::says_and_closes(first.into()),
        ] {
            let error = peer.refusal(PATIENCE);
            let (text, remedy) = told(&error);
            let (start, _) = first.split_at(first.find('\r').unwrap().min(20));
            assert_has(&text, &[start, "MySQL"]);
            assert_has(remedy, &["host and port"]);
        }
    }
}

#[test]
fn a_peer_that_closes_at_once_is_lost() {
    let error = Peer::says_and_closes(Vec::new()).refusal(PATIENCE);
    let (text, remedy) = told(&error);
    assert_has(&text, &["lost", "closed the connection"]);
    assert_has(remedy, &["log"]);
}

#[test]
fn half_a_greeting_is_a_lost_connection_and_not_another_server() {
    let greeting = greeting();
    for length in 5..greeting.len() {
        let error = Peer::says_and_closes(greeting[..length].to_vec()).refusal(PATIENCE);
        assert!(matches!(error, Error::Lost(_)), "{length} bytes: {error}");
    }
}

#[test]
fn a_server_that_goes_in_the_middle_of_the_login_is_lost() {
    let peer = Peer::serve(|mut stream| {
        stream.write_all(&greeting()).unwrap();
        read_packet(&mut stream);
    });
    let error = peer.refusal(PATIENCE);
    assert!(matches!(error, Error::Lost(_)), "{error}");
}

#[test]
fn what_has_no_place_in_a_login_is_refused() {
    type Check = fn(&Error) -> bool;
    let cases: [(&[u8], Check); 5] = [
        (b"\xfedialog\0nonce", |error| {
            error.to_string().contains("\"dialog\"")
        }),
        (b"\xfemysql_clear_password\0", |error| {
            matches!(
                error,
                Error::Withheld {
                    why: Withheld::Cleartext,
                    ..
                }
            )
        }),
        (b"\x01\x04", |error| {
            matches!(error, Error::Protocol(ProtocolError::OutOfTurn))
        }),
        (b"\x05", |error| {
            matches!(
                error,
                Error::Protocol(ProtocolError::Unexpected { first: 5, .. })
            )
        }),
        (b"", |error| {
            matches!(error, Error::Protocol(ProtocolError::Truncated(_)))
        }),
    ];
    for (message, is_expected) in cases {
        let peer = Peer::serve(move |mut stream| {
            stream.write_all(&greeting()).unwrap();
            read_packet(&mut stream);
            stream.write_all(&packets(2, &[message])).unwrap();
            wait_for_end(stream);
        });
        let error = peer.refusal(PATIENCE);
        assert!(is_expected(&error), "{error}");
    }
}

/// Bytes in clear that someone put behind the greeting would pass for the server's own.
#[test]
fn nothing_is_taken_in_clear_before_tls() {
    let peer = Peer::says([greeting(), packets(2, &[OK])].concat());
    let target = peer.target(&closed());
    let error = run(Connection::open_within(PATIENCE, &target)).unwrap_err();
    assert_has(&error.to_string(), &["between the greeting and TLS"]);
    peer.thread.join().unwrap();
}

#[test]
fn tls_with_what_speaks_no_tls() {
    let peer = Peer::serve(|mut stream| {
        stream.write_all(&greeting()).unwrap();
        read_packet(&mut stream);
        stream
            .write_all(&packets(2, &[b"\xff\x15\x04#28000no"]))
            .unwrap();
        wait_for_end(stream);
    });
    let target = peer.target(&closed());
    let error = run(Connection::open_within(PATIENCE, &target)).unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
    assert!(error.remedy().is_some());
    peer.thread.join().unwrap();
}

#[test]
fn a_server_that_goes_in_the_middle_of_a_reply_is_lost() {
    let end: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
    let answer = packets(1, &[b"\x01", b"\x03def", b"\x05hello", b"\x05world", end]);
    for length in 0..=answer.len() {
        let peer = after_login(answer[..length].to_vec());
        let target = peer.target(&open());
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
    let wrong_number = packets(3, &[OK]);
    let two_replies = packets(1, &[OK, OK]);
    let unexpected = |first, place| ProtocolError::Unexpected { first, place };
    let no_columns = packets(1, &[&[0xfe, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]]);
    for (answer, wanted) in [
        (
            wrong_number,
            ProtocolError::Sequence {
                got: 3,
                expected: 1,
            },
        ),
        (two_replies, unexpected(7, "after a reply")),
        (no_columns, unexpected(0xfe, "in a reply")),
    ] {
        let peer = after_login(answer);
        let target = peer.target(&open());
        let error = run(async {
            let mut connection = Connection::open_within(PATIENCE, &target).await.unwrap();
            connection.run("SELECT 1").await.unwrap_err()
        });
        assert!(
            matches!(&error, Error::Protocol(found) if *found == wanted),
            "{error}"
        );
        peer.thread.join().unwrap();
    }
}
