//! The open loop: response time counts from the intended start, so that a server that stalls cannot hide it.

use std::time::Duration;

use crate::common::{Finished, Program, Proxy, database, mariadb};
use testkit::Server;

/// One stall in the ten seconds of the measurement.
const STALL: Duration = Duration::from_millis(500);
/// How often the machine may stall besides.
const TRIES: u32 = 3;
const TABLES: &str = "--workload oltp_point_select --tables 1 --rows 1000";

/// 2000 arrivals, 100 of them (5 %) in the stall. At most 8 are with the server when it begins (0.4 %);
/// the others wait for a free user.
fn with_a_stall(server: &Server) -> Finished {
    let proxy = Proxy::start(server.port());
    let url = format!("mysql://root@127.0.0.1:{}/stalls", proxy.port());
    let words = "--prepare never --warmup 0s --time 10s --threads 8 --rate 200 --arrivals constant";
    let mut running = Program::bench(&url).args(TABLES).args(words).start();
    running.says("  measure  ");
    proxy.hold();
    std::thread::sleep(STALL);
    proxy.release();
    running.wait().succeeds()
}

#[test]
fn a_stall_shows_in_the_response_time_though_not_in_the_service_time() {
    let server = mariadb();
    let program = Program::bench(&database(&*server, "stalls")).args(TABLES);
    program.args("--prepare only").succeeds();
    // With so few users, service times stay low unless the machine itself stalls.
    let hides_it = |done: &Finished| {
        let trial = done.trial();
        trial.service_ms.unwrap().p99 < trial.response_ms.unwrap().p99 / 2.0
    };
    let mut runs = (0..TRIES).map(|_| with_a_stall(&server));
    let done = runs.find(hides_it).unwrap();
    let trial = done.trial();
    let (response, service) = (trial.response_ms.unwrap(), trial.service_ms.unwrap());
    assert!(response.p99 >= 200.0, "the stall is missing: {response:?}");
    assert!(service.max >= 400.0 && response.max >= 400.0);
    // Nothing that arrived was left out, however late the measurement ended.
    let arrivals = 200.0 * 10.0;
    let done_and_due = trial.transactions.count + trial.generator.backlog_end.unwrap();
    let missing = (done_and_due + trial.unfinished.count) as f64 - arrivals;
    assert!(missing.abs() <= 10.0, "{done_and_due} of {arrivals}");
    assert!(trial.generator.backlog_peak.is_some() && trial.generator.lateness_p99_ms.is_some());
}
