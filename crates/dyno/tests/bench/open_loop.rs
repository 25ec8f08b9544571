//! The open loop: response time counts from the intended start, so that a server that stalls cannot hide it,
//! and overload is shown and never an abort.

use std::time::Duration;

use crate::common::{Finished, Program, Proxy, database, mariadb};
use measure::warning::Warning;
use testkit::Server;

/// One stall in the ten seconds of the measurement.
const STALL: Duration = Duration::from_millis(500);
/// How often the machine may stall besides.
const TRIES: u32 = 3;
const TABLES: &str = "--workload oltp_point_select --tables 1 --rows 1000";

fn prepare(server: &Server, name: &str) {
    let program = Program::bench(&database(server, name)).args(TABLES);
    program.args("--prepare only").succeeds();
}

fn bench(proxy: &Proxy, name: &str) -> Program {
    let url = format!("mysql://root@127.0.0.1:{}/{name}", proxy.port());
    let program = Program::bench(&url).args(TABLES);
    program.args("--prepare never --warmup 0s")
}

/// 2000 arrivals, 100 of them (5 %) in the stall. At most 8 are with the server when it begins (0.4 %);
/// the others wait for a free user.
fn with_a_stall(server: &Server) -> Finished {
    let proxy = Proxy::start(server.port());
    let program = bench(&proxy, "stalls").args("--time 10s --threads 8 --rate 200");
    let mut running = program.args("--arrivals constant").start();
    running.says("  measure  ");
    std::thread::sleep(Duration::from_secs(3));
    proxy.hold();
    std::thread::sleep(STALL);
    proxy.release();
    running.wait().succeeds()
}

#[test]
fn a_stall_shows_in_the_response_time_though_not_in_the_service_time() {
    let server = mariadb();
    prepare(&server, "stalls");
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
    // Nothing that arrived was left out.
    let arrivals = 200.0 * trial.measured_s;
    let done_and_due = trial.transactions.count + trial.generator.backlog_end.unwrap();
    let missing = (done_and_due + trial.unfinished.count) as f64 - arrivals;
    assert!(missing.abs() <= 10.0, "{done_and_due} of {arrivals}");
    assert!(trial.generator.backlog_peak.is_some() && trial.generator.lateness_p99_ms.is_some());
}

#[test]
fn overload_is_a_backlog_and_a_warning_and_ends_in_time() {
    let server = mariadb();
    prepare(&server, "overload");
    // Four users with replies of 5 ms or more: not even 800 a second.
    let proxy = Proxy::delaying(server.port(), Duration::from_millis(5));
    let done = bench(&proxy, "overload").args("--time 11s --threads 4 --rate 3000");
    let done = done.succeeds();
    let trial = done.trial();
    // The rest would take another half a minute.
    assert!((10.9..30.0).contains(&trial.measured_s), "{done}");
    let backlogs: Vec<u64> = done.series().iter().filter_map(|s| s.backlog).collect();
    assert!(backlogs.is_sorted(), "{backlogs:?}");
    assert!(*backlogs.last().unwrap() > 2200 * 10, "{backlogs:?}");
    let told = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    assert!(trial.warnings.iter().any(told), "{:?}", trial.warnings);
    done.prints(&["cannot keep up with the arrival rate"]);
    let (_, headline) = done.stdout.trim_end().rsplit_once("\n\n").unwrap();
    assert!(headline.starts_with("Only "), "{headline}");
    assert!(headline.contains(" of 3,000/s were served."), "{headline}");
    done.tells(&["backlog"]);
    let (response, service) = (trial.response_ms.unwrap(), trial.service_ms.unwrap());
    assert!(response.p99 > 3000.0 && service.p50 < 1000.0);
}
