//! Virtual users follow the primary of a cluster when it moves.

use std::fs;
use std::process::Command;

use crate::common::{Cache, Finished, LAZY_DISK, Program, Running, in_time, primaries, trial_dir};
use measure::instance::NodeEventKind;
use measure::warning::Warning;
use rustix::process::{Pid, Signal, kill_process};
use testkit::{HaProxy, MariaDb, Server};

/// A study of three PostgreSQL servers with four virtual users.
fn study(time: &str, rest: &str) -> Program {
    let load = "workload = 'oltp_update_non_index'; threads = 4; think = '20ms'; warmup = '0s'";
    let rest = format!("[topology]; cluster = 'asynchronous'; members = 3; {rest}");
    Program::private("postgres", &format!("{load}; time = '{time}'"), &rest)
}

/// Whether transactions ended after a member became the primary.
fn has_followed(done: &Finished) -> bool {
    let events = done.trial().events.into_iter();
    let mut moves = events.filter(|event| event.what == NodeEventKind::BecamePrimary);
    let last = moves.next_back();
    last.is_some_and(|moved| done.completes_after(moved.at_s + 1.0))
}

/// The load went on after a member became the primary, which is the only change.
#[track_caller]
fn assert_followed(done: &Finished) -> u32 {
    let trial = done.completed();
    let primaries = primaries(&trial);
    assert!(primaries.len() == 1 && primaries[0] != 1, "{done}");
    assert!(has_followed(done), "{:?}", done.series());
    assert!(trial.reconnects >= 4, "{}", trial.reconnects);
    primaries[0]
}

/// Nobody tells them: replicas refuse their writes until one is promoted.
#[test]
fn users_with_a_list_of_hosts_find_the_primary() {
    let fault = "follow = 'hosts'; failover = '2s'; \
                 [[fault]]; at = '3s'; kill = 'primary'; heal = 'never'";
    let run = |time: &str| study(time, fault).run_alone().succeeds();
    let done = in_time(&["15s", "90s"], run, has_followed);
    assert_followed(&done);
    let errors = done.trial().errors;
    let mut codes = errors.iter().map(|error| error.code.as_str());
    assert!(codes.any(|code| code == "25006"), "{errors:?}");
}

#[test]
fn users_leave_a_primary_that_works_for_one_that_was_promoted_later() {
    let place = Cache::kept();
    let mut dyno = study("1h", "").cache(&place).start();
    dyno.comes_to_second(1, "measure");
    // The server refuses a login that is not dyno's.
    let port = place.ports()[0];
    let guess = format!("postgres://intruder:guess@127.0.0.1:{port}/postgres");
    let refused = Command::new("psql").arg(guess).output().unwrap();
    assert!(!refused.status.success());
    // As `pg_ctl promote` does.
    let server = place.server(2).unwrap();
    let data = fs::read_link(format!("/proc/{server}/cwd")).unwrap();
    fs::write(data.join("promote"), "").unwrap();
    let pid_file = fs::read_to_string(data.join("postmaster.pid")).unwrap();
    let pid = pid_file.lines().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::USR1).unwrap();
    let out = dyno.out();
    dyno.says("became the primary")
        .comes_to("all users there", || {
            let series = store::read_series(&trial_dir(&out, 1).unwrap(), usize::MAX).unwrap();
            series.iter().map(|second| second.reconnects).sum::<u64>() >= 4
        });
    let trial = dyno.stopped_once_it_goes_on().trial();
    assert_eq!(primaries(&trial), [2], "{:?}", trial.events);
    let is_noticed = |warning: &Warning| match warning {
        Warning::Strangers { seen } => seen.iter().any(|what| what.contains("intruder")),
        _ => false,
    };
    let warnings = &trial.warnings;
    assert!(warnings.iter().any(is_noticed), "{warnings:?}");
    place.assert_nothing_left();
}

/// A load of servers that run already, which measures and lasts longer than its test.
fn lasting(url: &str, words: &str) -> Running {
    let words = format!("{words} --rows 100 --threads 4 --think 20ms --warmup 0s --time 1h");
    let mut dyno = Program::bench(url).args(&words).start();
    dyno.comes_to_second(1, "measure");
    dyno
}

/// Two MariaDB servers, of which the second is a replica of the first.
fn replicating() -> [Server; 2] {
    let [primary, replica] = [1, 2].map(|number| {
        let id = format!("--server-id={number}");
        let options = ["--local-infile=1", "--log-bin=binlog", LAZY_DISK, &id];
        let server = MariaDb::start(&options);
        server.sql("RESET MASTER");
        server
    });
    primary.create_user("replication", "p", "mysql_native_password", false);
    primary.sql("CREATE DATABASE followed");
    replica.sql(&format!(
        "SET GLOBAL read_only = ON; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', \
         MASTER_PORT = {}, MASTER_USER = 'replication', MASTER_PASSWORD = 'p', \
         MASTER_USE_GTID = slave_pos; START SLAVE",
        primary.port()
    ));
    [primary, replica]
}

/// The replica first, so that order means nothing.
fn url(servers: &[Server; 2]) -> String {
    let [primary, replica] = servers;
    let (first, second) = (replica.port(), primary.port());
    format!("mysql://root@127.0.0.1:{first},127.0.0.1:{second}/followed")
}

/// An administrator's switchover to the replica.
fn switch_over([primary, replica]: &[Server; 2]) {
    primary.sql("SET GLOBAL read_only = ON");
    let position = &primary.sql("SELECT @@gtid_binlog_pos")[0][0];
    let wait = format!("SELECT MASTER_GTID_WAIT('{position}', 300)");
    assert_eq!(replica.sql(&wait), [["0"]]);
    promote(replica);
}

fn promote(replica: &Server) {
    replica.sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF");
}

#[test]
fn users_follow_the_primary_of_servers_that_run_already() {
    let servers = replicating();
    let mut dyno = lasting(&url(&servers), "--workload oltp_update_non_index");
    switch_over(&servers);
    dyno.says("became the primary");
    let done = dyno.stopped_once_it_goes_on();
    // The old primary is the second of the URL.
    let trial = done.trial();
    assert_eq!(primaries(&trial), [1], "{:?}", trial.events);
    let [old, new] = servers
        .each_ref()
        .map(|server| server.sql("SELECT @@gtid_binlog_pos"));
    assert_ne!(old, new, "the load went on there");
    for server in &servers {
        let rows = server.sql("SELECT COUNT(*) FROM followed.sbtest1");
        assert_eq!(rows, [["100"]]);
    }
    let left = servers[1].sql("SHOW TABLES FROM followed LIKE 'dyno_probe'");
    assert!(left.is_empty(), "{left:?}");
    let points = store::read_monitors(&trial_dir(&done.out(), 1).unwrap(), usize::MAX).unwrap();
    for server in [1, 2] {
        let name = format!("server[{server}].rss_bytes");
        let mut values = points.iter().map(|point| &point.values);
        assert!(values.any(|values| values.contains_key(&name)), "{name}");
    }
}

#[test]
fn a_load_through_a_proxy_survives_a_failover_of_the_servers_behind_it() {
    let mut servers = replicating();
    let [primary, replica] = &servers;
    let proxy = HaProxy::start(&[primary.port(), replica.port()]);
    let url = format!("mysql://root@127.0.0.1:{}/followed", proxy.port());
    let mut dyno = lasting(&url, "--workload oltp_update_non_index");
    // A busy replica may not have applied the rows yet, and would end the load.
    let position = &primary.sql("SELECT @@gtid_binlog_pos")[0][0];
    replica.sql(&format!("SELECT MASTER_GTID_WAIT('{position}', 300)"));
    // The proxy knows no roles: a server that refuses writes would end the load, too.
    promote(replica);
    servers[0].kill();
    dyno.says(" reconnects");
    dyno.stopped_once_it_goes_on();
}

#[test]
fn users_of_any_member_are_spread_over_all_that_are_there() {
    let mut servers = replicating();
    let mut dyno = lasting(&url(&servers), "--workload oltp_point_select --follow any");
    let executed = |server: &Server| {
        let rows = server.sql("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'");
        rows[0][1].parse::<u32>().unwrap()
    };
    dyno.comes_to("statements on both", || {
        servers.iter().all(|server| executed(server) > 100)
    });
    servers[1].kill();
    dyno.says(" reconnects");
    dyno.stopped_once_it_goes_on();
}
