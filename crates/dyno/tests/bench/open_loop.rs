//! The open loop: response time counts from the intended start, so that a server
//! that stalls cannot hide it, and overload is shown and never an abort.

use std::time::{Duration, Instant};

use crate::common::{Program, Proxy, database, mariadb};
use measure::warning::Warning;

/// One stall in the ten seconds of the measurement.
const STALL: Duration = Duration::from_millis(500);

#[test]
fn a_stall_shows_in_the_response_time_though_not_in_the_service_time() {
    let server = mariadb();
    let prepared = database(&server, "stalls");
    let tables = "--workload oltp_point_select --tables 1 --rows 1000";
    Program::bench(&prepared)
        .args(tables)
        .args("--prepare only")
        .run()
        .succeeds();
    let proxy = Proxy::start(server.port());
    let url = format!("mysql://root@127.0.0.1:{}/stalls", proxy.port());
    // 2000 arrivals, 100 of them (5 %) in the stall. At most 8 are with the server
    // when it begins (0.4 %); the others wait for a free user.
    let mut running = Program::bench(&url)
        .args(tables)
        .args("--prepare never --warmup 0s --time 10s")
        .args("--threads 8 --rate 200 --arrivals constant")
        .start();
    running.says("  measure  ");
    std::thread::sleep(Duration::from_secs(3));
    proxy.hold();
    let held = Instant::now();
    std::thread::sleep(STALL);
    proxy.release();
    let held = held.elapsed();
    let done = running.wait().succeeds();
    let trial = done.trial();
    let (response, service) = (trial.response_ms.unwrap(), trial.service_ms.unwrap());
    assert!(
        response.p99 >= 200.0,
        "the stall of {held:?} is missing: {response:?}"
    );
    assert!(
        service.p99 < response.p99 / 2.0,
        "{service:?} {response:?}: the service time of so few cannot show it"
    );
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
    let prepared = database(&server, "overload");
    let tables = "--workload oltp_point_select --tables 1 --rows 1000";
    Program::bench(&prepared)
        .args(tables)
        .args("--prepare only")
        .run()
        .succeeds();
    // Four users with replies of 5 ms or more: not even 800 a second.
    let proxy = Proxy::delaying(server.port(), Duration::from_millis(5));
    let url = format!("mysql://root@127.0.0.1:{}/overload", proxy.port());
    let done = Program::bench(&url)
        .args(tables)
        .args("--prepare never --warmup 0s --time 11s --threads 4 --rate 3000")
        .run()
        .succeeds();
    let trial = done.trial();
    // The rest would take another half a minute.
    assert!((10.9..30.0).contains(&trial.measured_s), "{}", done.shown());
    let backlogs: Vec<u64> = done.series().iter().filter_map(|s| s.backlog).collect();
    assert!(backlogs.is_sorted(), "{backlogs:?}");
    assert!(*backlogs.last().unwrap() > 2200 * 10, "{backlogs:?}");
    let told = |warning: &Warning| matches!(warning, Warning::Overloaded { .. });
    assert!(trial.warnings.iter().any(told), "{:?}", trial.warnings);
    assert!(done.stdout.contains("cannot keep up with the arrival rate"));
    let (_, headline) = done.stdout.trim_end().rsplit_once("\n\n").unwrap();
    assert!(headline.starts_with("Only "), "{headline}");
    assert!(headline.contains(" of 3,000/s were served."), "{headline}");
    assert!(done.stderr.contains("backlog"), "{}", done.stderr);
    let (response, service) = (trial.response_ms.unwrap(), trial.service_ms.unwrap());
    assert!(response.p99 > 3000.0 && service.p50 < 1000.0);
}
