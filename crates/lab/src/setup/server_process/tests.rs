use super::*;
use crate::site::{Site, ThisHost};

fn nowhere(peer: Option<Peer>) -> ServerLocation {
    ServerLocation {
        peer,
        data_dir: PathBuf::from("/nowhere/data"),
        pid_file: PathBuf::from("/nowhere/pid"),
    }
}

fn of(peer: Option<Peer>) -> Result<FoundProcess, String> {
    let host = ThisHost::default();
    let search = Search {
        files: host.files(),
        server: &nowhere(peer),
    };
    search.process()
}

#[test]
fn a_process_that_is_not_found_has_a_reason() {
    let hidden = of(Some(Peer::Unix { pid: None })).unwrap_err();
    assert!(hidden.contains("PID namespace"), "{hidden}");
    // An address reserved for documentation (RFC 5737).
    let [local, remote] = ["127.0.0.1:1", "192.0.2.1:3306"].map(|at| at.parse().unwrap());
    let elsewhere = of(Some(Peer::Tcp { local, remote })).unwrap_err();
    assert!(
        elsewhere.contains("192.0.2.1 is another host"),
        "{elsewhere}"
    );
    // A connection that no process has.
    let remote = "127.0.0.1:2".parse().unwrap();
    let forwarded = of(Some(Peer::Tcp { local, remote })).unwrap_err();
    assert!(forwarded.contains("container"), "{forwarded}");
}

/// A child of the server holds a TCP connection; the server itself holds its Unix socket.
#[test]
fn the_server_is_found_from_its_connections_process() {
    let server = testkit::Postgres::start(&[]);
    let data = server.data_dir();
    let pid = fs::read_to_string(data.join("postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap().parse().unwrap();
    let directory = server.socket_directory().display();
    let socket = format!(
        "postgres://root@/sbtest?host={directory}&port={}",
        server.port()
    );
    for url in [server.url("sbtest"), socket] {
        let engine = engine::of_url(&url).unwrap();
        let opened = engine.open(&url, &engine::Access::default(), None);
        let found = find(ThisHost::default().files(), &*opened.unwrap()).unwrap();
        let expected = FoundProcess {
            pid,
            data_dir: Some(data.clone()),
        };
        assert_eq!(found, expected, "{url}");
    }
}

#[test]
fn a_process_in_another_directory_is_not_the_server() {
    let pid = Some(std::process::id());
    let proxy = of(Some(Peer::Unix { pid })).unwrap_err();
    assert!(proxy.contains("a proxy or a tunnel"), "{proxy}");
}

/// The port belongs to another user, who runs no server or several.
#[test]
fn a_server_is_not_guessed() {
    let host = ThisHost::default();
    let search = Search {
        files: host.files(),
        server: &nowhere(None),
    };
    let reason = search.only_server_of(u32::MAX - 1).unwrap_err();
    assert!(reason.contains("only root"), "{reason}");
}
