//! Roles of members that hang.

use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use testkit::{MariaDb, Proxy};

use super::*;

/// Listens on a port once it is free.
fn listen(port: u16) -> TcpListener {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => return listener,
            Err(error) => assert!(Instant::now() < deadline, "port {port}: {error}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// One after the other, each of them would be waited for.
#[test]
fn members_that_hang_are_asked_at_the_same_time() {
    let server = MariaDb::start(&[]);
    server.sql("CREATE DATABASE hung");
    let proxies = [(); 2].map(|()| Proxy::start(server.port()));
    let ports = proxies.each_ref().map(Proxy::port);
    let [one, other] = ports;
    let url = format!("mysql://root@127.0.0.1:{one},127.0.0.1:{other}/hung");
    let engine = engine::of_url(&url).unwrap();
    let database = engine.open(&url, &engine::Access::default(), None).unwrap();
    let cluster = Cluster::found(&database, 1);
    drop(proxies);
    // They accept connections and say nothing.
    let listeners = ports.map(listen);
    thread::scope(|scope| {
        let asked = scope.spawn(|| roles(&cluster));
        let [mut first, _second] = listeners.each_ref().map(|one| one.accept().unwrap().0);
        first.set_nonblocking(true).unwrap();
        let mut bytes = [0; 100];
        let waits = first.read(&mut bytes).unwrap_err();
        assert_eq!(waits.kind(), ErrorKind::WouldBlock, "it was given up");
        assert_eq!(asked.join().unwrap(), [None, None]);
    });
}
