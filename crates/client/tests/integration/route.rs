//! Connections to whichever of several servers is open to users.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{catalog, open, root, run};
use client::mysql::{Connector, StatementProtocol, Target};
use client::route::Route;
use testkit::MariaDb;
use workload::catalog::Label;
use workload::session::{Connect, FailureKind, Session};

fn connector(targets: impl IntoIterator<Item = Target>, route: &Arc<Route>) -> Connector {
    Connector {
        targets: targets.into_iter().map(Arc::new).collect(),
        route: Arc::clone(route),
        protocol: StatementProtocol::Prepared,
        stamp_replies: true,
    }
}

/// Opens only the second of two servers, after a moment.
fn move_soon<T: Send + 'static>(
    route: &Arc<Route>,
    after: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let route = Arc::clone(route);
    std::thread::spawn(move || {
        let waited = after();
        route.set(|server| server == 1);
        waited
    })
}

#[test]
fn users_of_a_server_that_hangs_move_to_the_next() {
    let (old, new) = (MariaDb::start(&[]), MariaDb::start(&[]));
    let route = Arc::new(Route::new(2, |server| server == 0, true));
    let connector = connector([root(&old), root(&new)], &route);
    let catalog = catalog(&["SELECT SLEEP(1000), @@port"]);
    run(async {
        let mut session = connector.connect(&catalog).await.unwrap();
        let idle = connector.connect(&catalog).await.unwrap();
        assert_eq!((route.connections(0), route.connections(1)), (2, 0));
        let moving = Arc::clone(&route);
        drop(move_soon(&route, move || {
            while moving.connections(0) < 2 {}
            std::thread::sleep(Duration::from_millis(50));
        }));
        let error = session.execute(0, &[]).await.unwrap_err();
        assert_eq!(error.kind, FailureKind::Lost, "{error}");
        assert_eq!(route.wait_for_alert(0, Duration::ZERO), 1);
        drop(session);
        idle.close().await;
        assert_eq!(route.connections(0), 0);
        let mut session = connector.connect(&catalog).await.unwrap();
        assert_eq!(route.connections(1), 1);
        let ports = format!("SELECT 1 / (@@port = {})", new.port());
        session.query(Label::default(), &ports).await.unwrap();
        session.close().await;
        assert_eq!(route.connections(1), 0);
    });
}

#[test]
fn a_login_to_a_server_that_hangs_is_given_up_when_it_is_closed() {
    // The kernel accepts connections, but nobody greets.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mysql://u@{}/x", silent.local_addr().unwrap());
    let target = Target::parse(&url, None, "u", &open()).unwrap();
    let route = Arc::new(Route::new(2, |server| server == 0, true));
    let connector = connector([target.clone(), target], &route);
    let moving = move_soon(&route, move || (silent.accept().unwrap(), silent));
    let error = run(connector.connect(&Arc::default())).unwrap_err();
    assert_eq!(error.kind, FailureKind::Away, "{error}");
    drop(moving.join());
    route.set(|_| false);
    assert_eq!(connector.route(), None);
    let error = run(connector.connect(&Arc::default())).unwrap_err();
    assert_eq!(error.kind, FailureKind::Away, "{error}");
}
