//! When a reply was there, by the kernel's stamp.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, account, by_socket, catalog, closed, connector, open, run};
use client::clock::monotonic_ns;
use client::mysql::{Connector, MysqlSession, Target};
use client::net::{Address, Stream};
use testkit::MariaDb;
use workload::session::{Connect, Session};
/// The kernel may turn stamps on a moment after it was asked to.
const FIRST_REPLIES: usize = 100;
const STALL: Duration = Duration::from_millis(50);

/// Answers each byte with many, and says that it has.
fn answer(mut peer: TcpStream, answered: &std::sync::mpsc::Sender<()>) {
    let mut byte = [0];
    while peer.read_exact(&mut byte).is_ok() {
        peer.write_all(&[byte[0]; 3000]).unwrap();
        answered.send(()).unwrap();
    }
}

#[test]
fn a_stamp_tells_of_the_arrival_however_late_it_is_read() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = Address::Tcp(vec![listener.local_addr().unwrap()]);
    let (sender, answered) = std::sync::mpsc::channel();
    let server = thread::spawn(move || answer(listener.accept().unwrap().0, &sender));
    run(async {
        let mut stream = Stream::connect(&address).await.unwrap();
        assert_eq!(stream.arrived_ns(), None);
        stream.stamp_arrivals().unwrap();
        for _ in 0..FIRST_REPLIES {
            let asked_ns = monotonic_ns();
            stream.write_all(b"?").await.unwrap();
            answered.recv().unwrap();
            thread::sleep(STALL);
            let begun_ns = monotonic_ns();
            stream.receive(|_| Some(())).await.unwrap();
            if let Some(arrived_ns) = stream.arrived_ns() {
                assert!((asked_ns..begun_ns).contains(&arrived_ns), "{arrived_ns}");
                return;
            }
        }
        panic!("the kernel stamps nothing");
    });
    server.join().unwrap();
}

async fn session(target: Target, stamp_replies: bool) -> MysqlSession {
    let mut connector: Connector = connector(target);
    connector.stamp_replies = stamp_replies;
    connector.connect(&catalog(&["SELECT 1"])).await.unwrap()
}

/// How many of some replies have a stamp; each of these lies within its statement.
async fn stamped(session: &mut MysqlSession) -> usize {
    let mut count = 0;
    for _ in 0..FIRST_REPLIES {
        let sent_ns = monotonic_ns();
        assert_eq!(session.execute(0, &[]).await.unwrap().rows, 1);
        if let Some(arrived_ns) = session.reply_arrived_ns() {
            assert!((sent_ns..=monotonic_ns()).contains(&arrived_ns));
            count += 1;
        }
    }
    count
}

#[test]
fn replies_are_stamped_over_tcp_in_clear_and_under_tls_and_nowhere_else() {
    let server = MariaDb::builder().tls(true).start();
    let root = |tls| account(&server, "root", "", &tls);
    let by_socket = by_socket(&server, "root", "", &open());
    run(async {
        for target in [root(open()), root(closed())] {
            let mut asked = session(target.clone(), true).await;
            let deadline = Instant::now() + PATIENCE;
            while stamped(&mut asked).await <= FIRST_REPLIES / 2 {
                assert!(Instant::now() < deadline, "the kernel stamps too few");
            }
            asked.close().await;
            let mut unasked = session(target, false).await;
            assert_eq!(stamped(&mut unasked).await, 0);
            unasked.close().await;
        }
        let mut local = session(by_socket, true).await;
        assert_eq!(stamped(&mut local).await, 0);
        local.close().await;
    });
}
