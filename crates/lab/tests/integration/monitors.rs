//! Monitors of real servers: what they tell is what the servers and the kernel say,
//! and what becomes of a server ends nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use engine::{Access, Database};
use lab::monitors::{self, MonitoredServer, Monitors, SampleClock};
use lab::servers::ProcessId;
use machine::site::ThisHost;
use measure::metric::{Group, Metric, MonitorPoint};
use rustix::process::{Pid, Signal, kill_process};
use testkit::{MariaDb, MySql, Postgres, PostgresServer, Server};

/// Longer than any machine takes; no test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(300);

fn database(server: &Server) -> Arc<dyn Database> {
    let url = server.url("sbtest");
    let engine = engine::of_url(&url).unwrap();
    engine.open(&url, &Access::default(), None).unwrap()
}

fn watched(number: u32, server: &Server) -> MonitoredServer {
    MonitoredServer {
        number,
        site: Arc::new(ThisHost::default()),
        process: server.process(),
        directories: vec![server.data_dir()],
        database: Some(database(server)),
        is_own: false,
    }
}

/// The kernel accepts connections for a server that was stopped, too.
fn send(server: &Server, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(server.pid().unwrap()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A clock that begins now, with a warm-up.
fn measured_after(warmup: Duration) -> SampleClock {
    let now = Instant::now();
    SampleClock {
        origin: now,
        begin: now,
        measure: now + warmup,
    }
}

/// Monitors whose measure phase begins at once.
fn watch(servers: Vec<MonitoredServer>) -> (Monitors, Receiver<MonitorPoint>) {
    let (sender, points) = channel();
    let tell = move |point| {
        let _ = sender.send(point);
    };
    let monitors = monitors::prepare(servers, Vec::new(), Vec::new(), Box::new(tell)).unwrap();
    monitors.begin(measured_after(Duration::ZERO));
    (monitors, points)
}

/// The next point for which it is true.
fn until(points: &Receiver<MonitorPoint>, is_it: impl Fn(&MonitorPoint) -> bool) -> MonitorPoint {
    loop {
        let point = points.recv_timeout(PATIENCE).unwrap();
        if is_it(&point) {
            return point;
        }
    }
}

fn has(point: &MonitorPoint, name: &str) -> bool {
    point.values.contains_key(name)
}

fn fill(server: &Server) {
    server.sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(200))");
    server.sql(&"INSERT INTO t (c) VALUES (REPEAT('x', 200));".repeat(200));
}

#[test]
fn every_stretch_is_whole_and_everything_in_it_is_known() {
    let servers = [
        MariaDb::start(&["--innodb-buffer-pool-size=64M"]),
        MySql::start(&["--skip-log-bin"]),
    ];
    let both = (1..).zip(&servers).map(|(n, server)| watched(n, server));
    let (monitors, receiver) = watch(both.collect());
    servers.iter().for_each(fill);
    let mut points: Vec<MonitorPoint> = (0..3)
        .map(|_| receiver.recv_timeout(PATIENCE).unwrap())
        .collect();
    let metrics = monitors.stop();
    points.extend(receiver.try_iter());
    for name in points.iter().flat_map(|point| point.values.keys()) {
        assert!(Metric::find(name).is_some(), "{name}");
        assert!(metrics.contains_key(name), "{name}");
    }
    for two in points.windows(2) {
        assert!(
            (two[0].t_s + two[0].seconds - two[1].t_s).abs() < 1e-6,
            "{two:?}"
        );
    }
    let categories = [
        "user", "nice", "system", "iowait", "irq", "softirq", "steal", "idle",
    ];
    for values in points.iter().map(|point| &point.values) {
        let shares = categories.map(|category| values[&format!("cpu.{category}")]);
        assert!(
            (shares.iter().sum::<f64>() - 100.0).abs() < 1e-6,
            "{shares:?}"
        );
        assert!(values.values().all(|value| *value >= 0.0), "{values:?}");
        let sum = values["server[1].cpu"] + values["server[2].cpu"];
        assert!((values["server.cpu"] - sum).abs() < 1e-6);
    }
    let total_s: f64 = points.iter().map(|point| point.seconds).sum();
    for name in ["server.cpu", "cpu.user", "monitor.cpu_ms"] {
        let summary = metrics[name];
        let sum: f64 = points.iter().map(|p| p.values[name] * p.seconds).sum();
        assert!(
            summary.min <= summary.mean && summary.mean <= summary.max,
            "{name}"
        );
        // The last rest may be too short for a stretch.
        assert!(
            sum <= summary.mean * (total_s + 0.5) * 1.01 + 1e-6,
            "{name}"
        );
    }
    assert!(metrics["server[1].rss_bytes"].mean > 1e7);
    assert!(metrics["generator.rss_bytes"].mean > 1e6);
    assert!(metrics["monitor.cpu_ms"].mean > 0.0);
}

fn is_counted_by_server(name: &str) -> bool {
    let metric = measure::metric::Metric::find(name).unwrap();
    metric.group.is_of_server_counters()
}

fn watched_postgres(server: &PostgresServer) -> MonitoredServer {
    let data_dir = server.data_dir();
    let numbers = std::fs::read_to_string(data_dir.join("postmaster.pid")).unwrap();
    let url = server.url("sbtest");
    let engine = engine::of_url(&url).unwrap();
    MonitoredServer {
        number: 1,
        site: Arc::new(ThisHost::default()),
        process: ProcessId::from(numbers.lines().next().unwrap().parse().ok()),
        directories: vec![data_dir],
        database: engine.open(&url, &Access::default(), None).ok(),
        is_own: false,
    }
}

/// The names of what a server counts while it works.
fn counted(server: MonitoredServer, work: impl Fn()) -> Vec<String> {
    let (monitors, points) = watch(vec![server]);
    // In a stretch without IO its share would be one of nothing.
    until(&points, |point| {
        work();
        has(point, "server.io.read_pct")
    });
    let names = monitors.stop().into_keys();
    names
        .filter(|name| name.starts_with("server[1].") && is_counted_by_server(name))
        .collect()
}

/// The same names from both, but for what an engine does not count.
#[test]
fn mariadb_and_mysql_tell_the_same_but_for_the_flushes_of_the_log() {
    let names = |server: &Server| {
        fill(server);
        let work = || drop(server.sql("UPDATE t SET c = IF(c = 'y', 'z', 'y')"));
        counted(watched(1, server), work)
    };
    let mut mysql = names(&MySql::start(&["--skip-log-bin"]));
    let mariadb = names(&MariaDb::start(&[]));
    let postgres = Postgres::start(&[]);
    let update = "CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS c; UPDATE t SET c = 1 - c";
    let others = counted(watched_postgres(&postgres), || drop(postgres.sql(update)));
    for metric in measure::metric::METRICS {
        let name = measure::metric::bracketed(metric.name, "1");
        let is_told = mysql.contains(&name) || others.contains(&name);
        // Only members of clusters have those.
        let is_counted = metric.group.is_of_server_counters() && metric.group != Group::Replication;
        assert!(is_told || !is_counted, "{name}");
    }
    mysql.retain(|name| !name.ends_with("log.fsyncs_per_s"));
    assert_eq!(mariadb, mysql);
}

#[test]
fn a_server_that_is_killed_is_absent_and_one_that_comes_back_is_there() {
    let mut server = MariaDb::start(&[]);
    let (monitors, points) = watch(vec![watched(1, &server)]);
    let cpu = "server[1].cpu";
    let reads = "server[1].io.reads_per_s";
    until(&points, |point| has(point, cpu) && has(point, reads));
    server.kill();
    let gone = until(&points, |point| !has(point, cpu) && !has(point, reads));
    assert!(has(&gone, "cpu.user") && has(&gone, "generator.cpu"));
    assert!(
        !gone.values.keys().any(|name| name.starts_with("server")),
        "{gone:?}"
    );
    server.restart();
    // Its process has another number now; its counters begin anew.
    let back = until(&points, |point| has(point, cpu) && has(point, reads));
    assert!(back.values.values().all(|value| *value >= 0.0), "{back:?}");
    let metrics = monitors.stop();
    assert!(metrics.contains_key(reads) && metrics.contains_key(cpu));
}

#[test]
fn a_server_that_hangs_keeps_nobody_waiting() {
    let server = MariaDb::start(&[]);
    let silent = MariaDb::start(&[]);
    let other = MonitoredServer {
        number: 2,
        site: Arc::new(ThisHost::default()),
        process: ProcessId::default(),
        directories: Vec::new(),
        database: Some(database(&silent)),
        is_own: false,
    };
    send(&silent, Signal::STOP);
    let (monitors, points) = watch(vec![watched(1, &server), other]);
    let (cpu, reads) = ("server[1].cpu", "server[1].io.reads_per_s");
    until(&points, |point| has(point, reads));
    send(&server, Signal::STOP);
    let hung = until(&points, |point| !has(point, reads));
    assert!(has(&hung, cpu));
    // No second is lost while it hangs, on a host that is not late itself.
    let next = points.recv_timeout(PATIENCE).unwrap();
    assert!(
        next.seconds < 1.9 || next.values["monitor.late_ms"] > 100.0,
        "{next:?}"
    );
    send(&server, Signal::CONT);
    until(&points, |point| has(point, reads));
    let metrics = monitors.stop();
    assert!(!metrics.keys().any(|name| name.starts_with("server[2]")));
}

#[test]
fn stopped_before_the_measure_phase_there_is_nothing() {
    let prepared =
        || monitors::prepare(Vec::new(), Vec::new(), Vec::new(), Box::new(|_| {})).unwrap();
    let monitors = prepared();
    monitors.begin(measured_after(PATIENCE));
    assert!(monitors.stop().is_empty());
    // Stopped before the load began.
    assert!(prepared().stop().is_empty());
}

/// A phase that is shorter than a stretch has its numbers all the same.
#[test]
fn a_short_measure_phase_has_the_numbers_of_its_ends() {
    let (monitors, points) = watch(Vec::new());
    std::thread::sleep(Duration::from_millis(100));
    let metrics = monitors.stop();
    if points.try_iter().next().is_none() {
        let user = metrics["cpu.user"];
        assert_eq!((user.min, user.max), (user.mean, user.mean));
    }
    assert!(metrics.contains_key("generator.cpu"));
}

/// Its work is done by children, which end with their connections.
#[test]
fn a_postgres_is_all_of_its_processes() {
    let server = Postgres::start(&[]);
    let (monitors, points) = watch(vec![watched_postgres(&server)]);
    std::thread::scope(|scope| {
        scope.spawn(|| server.sql("SELECT count(*) FROM generate_series(1, 5000000) AS n"));
        until(&points, |point| point.values["server[1].cpu"] > 5.0);
    });
    until(&points, |point| {
        point.values.get("server.transactions.commits_per_s") > Some(&0.0)
    });
    let metrics = monitors.stop();
    for (name, metric) in &metrics {
        assert!(Metric::find(name).is_some(), "{name}");
        assert!(metric.min >= 0.0, "{name}: {metric:?}");
    }
    for name in ["cache.hit_pct", "log.mb_per_s", "locks.wait_ms_per_s"] {
        assert!(metrics.contains_key(&format!("server[1].{name}")), "{name}");
    }
    // Shared buffers count once.
    let memory = metrics["server[1].rss_bytes"].max;
    assert!((1e7..2e8).contains(&memory), "{memory}");
}
