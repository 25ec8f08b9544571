use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ipnet::Ipv4Net;
use plan::{Loss, SlowLink, SplitMix64};

use super::switch::free_subnets;
use super::{Namespace, Silence, Switch};
use crate::home::Home;
use crate::ip::inside;

/// How long to wait for a packet that must not arrive.
const SILENCE: Duration = Duration::from_millis(100);
/// How long a packet may take on a slow machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Two namespaces of one switch; `None` where this user may not create them.
fn two() -> Option<(tempfile::TempDir, Home, [Namespace; 2])> {
    let (dir, home) = crate::testing::home();
    let switch = match Switch::new(&home) {
        Ok(switch) => Arc::new(switch),
        Err(error) => {
            let remedy = error.remedy.as_deref().unwrap();
            assert!(
                remedy.contains("root") || remedy.contains("iproute2"),
                "{error}"
            );
            testkit::skip(&error.to_string());
            return None;
        }
    };
    let sites = [(); 2].map(|()| Namespace::new(&home, &switch).unwrap());
    Some((dir, home, sites))
}

/// A UDP socket in a namespace, at its address.
fn socket(site: &Namespace) -> UdpSocket {
    let (path, ip) = (site.namespace.path().to_owned(), site.address().addr());
    inside(&path, move || UdpSocket::bind((ip, 0))).unwrap()
}

/// Sends a packet; returns how long it took to arrive, `None` if it did not within the limit.
fn travels(from: &UdpSocket, to: &UdpSocket, limit: Duration) -> Option<Duration> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let sent = LAST.fetch_add(1, Ordering::Relaxed).to_ne_bytes();
    let began = Instant::now();
    match from.send_to(&sent, to.local_addr().unwrap()) {
        // A rule of this host dropped it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
        done => done.unwrap(),
    };
    to.set_read_timeout(Some(limit)).unwrap();
    let mut bytes = [0; 4];
    loop {
        match to.recv_from(&mut bytes) {
            Ok((4, sender)) if sender == from.local_addr().unwrap() => {
                // On a busy machine, one that was delayed may be later than a cut took.
                if bytes == sent {
                    return Some(began.elapsed());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            other => panic!("{other:?}"),
        }
    }
}

fn ip(socket: &UdpSocket) -> Ipv4Addr {
    match socket.local_addr().unwrap().ip() {
        std::net::IpAddr::V4(ip) => ip,
        std::net::IpAddr::V6(_) => panic!("an IPv4 socket"),
    }
}

#[test]
fn from_the_cut_on_nothing_arrives_and_the_sender_learns_nothing() {
    let Some((_dir, _home, [one, other])) = two() else {
        return;
    };
    let (from, to) = (socket(&one), socket(&other));
    assert!(travels(&from, &to, LIMIT).is_some());
    for _ in 0..20 {
        one.cut(&[ip(&to)]).unwrap();
        assert_eq!(travels(&from, &to, SILENCE), None);
        // The other direction.
        assert!(travels(&to, &from, LIMIT).is_some());
        one.restore(&[ip(&to)]).unwrap();
        assert!(travels(&from, &to, LIMIT).is_some());
    }
}

/// How many seconds a played dyno is silent.
const SECONDS: &str = "DYNO_TEST_SILENT_SECONDS";

/// Plays dyno on a host that falls silent until a line of its input ends.
#[test]
fn a_silent_dyno() {
    let Ok(seconds) = std::env::var(SECONDS) else {
        return;
    };
    let (_dir, home) = crate::testing::home();
    let limit = Duration::from_secs(seconds.parse().unwrap());
    let silence = Silence::begin(&home, limit).unwrap();
    eprintln!("silent");
    io::stdin().read_line(&mut String::new()).unwrap();
    silence.end().unwrap();
    eprintln!("heard");
}

fn play(site: &Namespace, session: &str, seconds: u32) -> Child {
    let entry = site.entry();
    let mut played = Command::new(&entry[0]);
    played
        .args(&entry[1..])
        .arg(std::env::current_exe().unwrap());
    played.args([
        "--exact",
        "site::network::tests::a_silent_dyno",
        "--nocapture",
    ]);
    played
        .env("SSH_CONNECTION", session)
        .env(SECONDS, seconds.to_string());
    played
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut played = played.spawn().unwrap();
    says(&mut played, "silent");
    played
}

fn says(played: &mut Child, expected: &str) {
    let (mut said, mut byte) = (String::new(), [0]);
    while !said.contains(expected) {
        let from = played.stderr.as_mut().unwrap();
        assert_eq!(
            from.read(&mut byte).unwrap(),
            1,
            "{said} (scripts/install-servers.sh ssh)"
        );
        said.push(byte[0].into());
    }
}

/// Both directions, all protocols, and no longer than its time; dyno's connection is spared.
#[test]
fn a_silent_host_is_heard_again_without_help() {
    let Some((_dir, _home, [one, other])) = two() else {
        return;
    };
    let (own, theirs) = (socket(&one), socket(&other));
    let address = one.address().addr();
    let listener = inside(one.namespace.path(), move || {
        TcpListener::bind((address, 0))
    })
    .unwrap();
    let to = listener.local_addr().unwrap();
    let connect = |limit| {
        inside(other.namespace.path(), move || {
            TcpStream::connect_timeout(&to, limit)
        })
    };
    let mut spared = connect(LIMIT).unwrap();
    let client = spared.local_addr().unwrap();
    let session = format!(
        "{} {} {} {}",
        client.ip(),
        client.port(),
        to.ip(),
        to.port()
    );
    let (mut accepted, _) = listener.accept().unwrap();
    assert!(travels(&own, &theirs, LIMIT).is_some());

    let mut played = play(&one, &session, 600);
    assert_eq!(travels(&own, &theirs, SILENCE), None);
    assert_eq!(travels(&theirs, &own, SILENCE), None);
    assert!(connect(SILENCE).is_err());
    spared.write_all(b"a").unwrap();
    accepted.read_exact(&mut [0]).unwrap();
    accepted.write_all(b"b").unwrap();
    spared.read_exact(&mut [0]).unwrap();
    drop(played.stdin.take());
    says(&mut played, "heard");
    assert!(travels(&theirs, &own, LIMIT).is_some());
    played.wait().unwrap();

    // Killed, it can end nothing.
    let mut played = play(&one, &session, 1);
    played.kill().unwrap();
    played.wait().unwrap();
    let until = Instant::now() + LIMIT;
    while travels(&own, &theirs, SILENCE).is_none() {
        assert!(Instant::now() < until, "it is silent for good");
    }
}

#[test]
fn a_delay_holds_in_one_direction() {
    let Some((_dir, _home, [one, other])) = two() else {
        return;
    };
    let (from, to) = (socket(&one), socket(&other));
    let delay = Duration::from_millis(200);
    let how = SlowLink {
        bytes_per_s: None,
        delay: Some(delay),
        loss: None,
    };
    for _ in 0..2 {
        one.slow(&[ip(&to)], &how).unwrap();
        for _ in 0..5 {
            let took = travels(&from, &to, LIMIT).unwrap();
            assert!(took >= delay, "{took:?}");
            // The other direction.
            assert!(travels(&to, &from, LIMIT).is_some());
        }
        one.cut(&[ip(&to)]).unwrap();
        assert_eq!(travels(&from, &to, delay + SILENCE), None);
        one.restore(&[ip(&to)]).unwrap();
        one.speed_up().unwrap();
        assert!(travels(&from, &to, LIMIT).is_some());
    }
}

/// Of numbered packets, exactly those that the generator spares must arrive.
#[test]
fn a_seed_chooses_the_packets_that_get_lost() {
    let Some((_dir, _home, [one, other])) = two() else {
        return;
    };
    let (from, to) = (socket(&one), socket(&other));
    assert!(travels(&from, &to, LIMIT).is_some());
    let loss = Loss {
        share: 0.3,
        seed: 7,
    };
    let how = SlowLink {
        bytes_per_s: None,
        delay: None,
        loss: Some(loss),
    };
    one.slow(&[ip(&to)], &how).unwrap();
    for number in 0..100 {
        from.send_to(&[number], to.local_addr().unwrap()).unwrap();
    }
    let mut random = SplitMix64::new(loss.seed);
    let arrives = |_: &u8| random.unit() >= loss.share;
    for number in (0..100).filter(arrives) {
        let mut packet = [0; 16];
        to.set_read_timeout(Some(LIMIT)).unwrap();
        let (length, _) = to.recv_from(&mut packet).unwrap();
        assert_eq!(&packet[..length], [number]);
    }
    one.speed_up().unwrap();
    for _ in 0..20 {
        assert!(travels(&from, &to, LIMIT).is_some());
    }
}

#[test]
fn a_subnet_to_which_a_route_leads_is_not_free() {
    let routes = "default via 192.0.2.1 dev eth0 \n\
                  198.18.0.0/16 dev tun0 scope link \n\
                  blackhole 198.19.128.0/17 \n\
                  local 198.19.3.9 dev lo table local proto kernel scope host src 198.19.3.9 \n\
                  198.19.64.0/18 via 192.0.2.7 dev eth0 table 7";
    let mut found: Vec<Ipv4Net> = free_subnets(routes).collect();
    found.sort();
    assert_eq!(found.len(), 63);
    assert!(!found.contains(&"198.19.3.0/24".parse().unwrap()));
    assert_eq!(found.last(), Some(&"198.19.63.0/24".parse().unwrap()));
    assert_eq!(free_subnets("default via 192.0.2.1 dev eth0").count(), 512);
}
