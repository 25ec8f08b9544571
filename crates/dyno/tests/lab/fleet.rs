//! Load from several agents: what it is together, and what happens when a part of the fleet fails.

use std::path::Path;

use measure::agent::AgentSummary;
use measure::series::SeriesPoint;
use measure::slice::Phase;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use rustix::process::{Pid, Signal, kill_process};
use testkit::NatsServer;

use crate::common::{
    Cache, Finished, Program, Running, database, each, in_time, mariadb, wait_until,
};

const KEY: &str = "public key of this machine: ";

/// A nats-server, a coordinator's place, and the agents that trust it.
struct Fleet {
    nats: NatsServer,
    cache: Cache,
    key: String,
    agents: Vec<Running>,
}

impl Fleet {
    fn of(labels: &[&str]) -> Self {
        let (nats, cache) = (NatsServer::start(), Cache::kept());
        let list = Program::new().args("agents --nats").arg(nats.url());
        let listed = list.cache(&cache).succeeds().stdout;
        let key = listed
            .split(KEY)
            .nth(1)
            .and_then(|rest| rest.lines().next());
        let mut fleet = Self {
            key: key.unwrap().to_owned(),
            nats,
            cache,
            agents: Vec::new(),
        };
        fleet.agents = labels.iter().map(|label| fleet.agent(label)).collect();
        fleet
    }

    fn agent(&self, label: &str) -> Running {
        let words = format!(
            "agent --nats {} --key {} --label {label}",
            self.nats.url(),
            self.key
        );
        let mut agent = Program::new().args(&words).start();
        agent.says("waiting for loads");
        agent
    }

    /// A study of private servers whose load comes from these agents.
    fn study(&self, load: &str, rest: &str) -> Program {
        let load = format!("nats = '{}'; {load}", self.nats.url());
        Program::private("mariadb", &load, rest).cache(&self.cache)
    }
}

/// What they did together is what the trial has.
fn assert_complete(trial: &TrialSummary, labels: &[&str]) {
    let found: Vec<&str> = trial
        .agents
        .iter()
        .map(|agent| agent.label.as_str())
        .collect();
    assert_eq!(found, labels);
    let sum = |of: fn(&AgentSummary) -> u64| trial.agents.iter().map(of).sum::<u64>();
    assert_eq!(sum(|agent| agent.transactions), trial.transactions.count);
    assert_eq!(sum(|agent| agent.statements), trial.statements.count);
}

/// Each second begins where the last one ended, and has transactions.
fn assert_whole(done: &Finished) {
    let mut seconds = done.series();
    // Not every agent has something left to complete.
    seconds.retain(|second| second.phase != Phase::Drain);
    let gap = |two: &[SeriesPoint]| two[1].t_s - (two[0].t_s + two[0].seconds);
    for two in seconds.windows(2) {
        assert!(gap(two).abs() < 1e-6, "{} s: {two:?}", gap(two));
    }
    let measured = seconds.iter().filter(|second| second.seconds > 0.5);
    assert!(
        measured.into_iter().all(|second| second.tps > Some(0.0)),
        "{seconds:?}"
    );
}

#[test]
fn agents_drive_one_load_together() {
    let fleet = Fleet::of(&["a", "b", "c"]);
    // So many users that one of the agents has one more.
    let load = "from = ['a', 'b', 'c']; threads = 10; warmup = '1s'; time = '4s'";
    let done = fleet.study(load, "").succeeds();
    let trial = done.completed();
    assert_complete(&trial, &["a", "b", "c"]);
    assert_whole(&done);
    assert!(
        trial.agents.iter().all(|agent| agent.transactions > 0),
        "{:?}",
        trial.agents
    );
    let late = trial
        .agents
        .iter()
        .map(|agent| agent.late_start_ms.unwrap());
    // A busy machine may wake a process late, but none begins early.
    assert!(late.into_iter().all(|ms| ms >= -0.5), "{:?}", trial.agents);
    let page = done.file("report.md");
    assert!(page.contains("Each agent's part of the load"), "{page}");
}

/// Arrivals of all servers and agents, in a trial that ends after a number of transactions.
#[test]
fn arrivals_and_tickets_are_divided_exactly() {
    let fleet = Fleet::of(&["a", "b", "c"]);
    let load = "agents = 3; threads = 30; rate = 301; arrivals = 'constant'; warmup = '0s'; time = '3s'; \
                workload = 'oltp_point_select'";
    let rest = "[topology]; instances = 2; [sweep]; 'load.events' = [100, 100_000]";
    let done = fleet.study(load, rest).succeeds();
    let dirs = store::trial_dirs(&done.out()).unwrap();
    for (trial, dir) in done.all_completed().iter().zip(dirs) {
        let all: u64 = trial
            .instances
            .iter()
            .map(|one| one.transactions.count)
            .sum();
        let expected = match trial.setup.planned.load.events {
            Some(100) => 200,
            _ => 2 * 903,
        };
        // What has arrived in the last moment may start or end after the measurement.
        let series = store::read_series(&dir, usize::MAX).unwrap();
        let completed = |second: &SeriesPoint| second.tps.unwrap_or(0.0) * second.seconds;
        let with_late = series.iter().map(completed).sum::<f64>().round() as u64;
        let waiting = trial.generator.backlog_end.unwrap_or(0);
        assert!(
            all <= expected && (expected..=expected + waiting).contains(&(with_late + waiting)),
            "{all} of {expected}, {with_late} in the end, {waiting} waiting"
        );
        assert_eq!(trial.agents.len(), 6);
        assert_eq!(all, trial.transactions.count);
    }
}

/// A running server is reached with its password; its tables are those of one load.
#[test]
fn a_script_of_the_study_runs_on_agents_against_a_given_server() {
    let fleet = Fleet::of(&["a", "b"]);
    let server = mariadb();
    server.create_user("load", "hunter2", "mysql_native_password", false);
    database(&*server, "fleet");
    let script = "function prepare() local con = sysbench.sql.driver():connect() \
        con:query('CREATE TABLE done (thread INT)') end \
        function thread_init() con = sysbench.sql.driver():connect() end \
        function event() con:query('INSERT INTO done VALUES (' .. sysbench.tid .. ')') end";
    let url = format!("mysql://load:hunter2@127.0.0.1:{}/fleet", server.port());
    let text = format!(
        "title = 't'\n[server]\nurl = '{url}'\n[load]\nworkload = 'own.lua'\nagents = 2\nthreads = 5\n\
         nats = '{}'\nwarmup = '0s'\ntime = '0s'\nevents = 301\n",
        fleet.nats.url()
    );
    let program = Program::study(&text).cache(&fleet.cache);
    std::fs::write(program.dir().join("own.lua"), script).unwrap();
    let done = program.succeeds();
    assert_complete(&done.completed(), &["a", "b"]);
    done.hides("hunter2");
    let rows = server.sql("SELECT COUNT(*), COUNT(DISTINCT thread) FROM fleet.done");
    assert_eq!(rows, [["301", "5"]]);
}

/// The next trial waits until it is there again.
#[test]
fn an_agent_that_dies_is_a_finding_and_the_others_go_on() {
    let mut fleet = Fleet::of(&["a", "b", "c"]);
    let load = "agents = 3; threads = 6; warmup = '0s'; time = '10s'; repeats = 2";
    let mut dyno = fleet.study(load, "").start();
    dyno.comes_to_second(1, "measure");
    drop(fleet.agents.remove(1));
    dyno.says("agent b is missing");
    dyno.says("waiting for agents: the load is to come from 3 agents");
    let _again = fleet.agent("b");
    let done = dyno.wait().succeeds();
    let trials = done.all_completed();
    let [trial, next] = each(&trials);
    for trial in [trial, next] {
        assert_complete(trial, &["a", "b", "c"]);
    }
    let since: Vec<_> = trial
        .agents
        .iter()
        .map(|agent| agent.missing_since_s)
        .collect();
    let [None, Some(since_s), None] = each::<_, 3>(&since) else {
        panic!("{since:?}");
    };
    let is_missing =
        |warning: &Warning| matches!(warning, Warning::AgentMissing { label, .. } if label == "b");
    assert!(
        trial.warnings.iter().any(is_missing),
        "{:?}",
        trial.warnings
    );
    assert!(done.completes_after(since_s + 2.0), "{:?}", done.series());
    assert!(trial.measured_s > 9.0, "{}", trial.measured_s);
}

/// Its load ends, and the trial does not wait for it.
#[test]
fn an_agent_that_falls_silent_counts_as_missing() {
    let fleet = Fleet::of(&["a", "b"]);
    let load = "agents = 2; threads = 4; warmup = '0s'; time = '12s'";
    let mut dyno = fleet.study(load, "").start();
    dyno.comes_to_second(1, "measure");
    fleet.agents[1].signal(Signal::STOP);
    dyno.says("agent b is missing");
    fleet.agents[1].signal(Signal::CONT);
    let mut agents = fleet.agents;
    agents[1].says("the coordinator goes on without this agent");
    let trial = dyno.wait().succeeds().completed();
    assert!(
        trial.agents[1].missing_since_s.is_some(),
        "{:?}",
        trial.agents
    );
}

#[test]
fn nothing_is_lost_while_the_nats_server_is_away() {
    nothing_is_lost(NatsServer::kill, NatsServer::start_again);
}

/// To those who are connected, a server that stands still looks like a network that drops everything.
#[test]
fn nothing_is_lost_while_the_nats_server_is_cut_off() {
    let signal = |nats: &NatsServer, signal| {
        let process = Pid::from_raw(nats.process() as i32).unwrap();
        kill_process(process, signal).unwrap();
    };
    nothing_is_lost(
        |nats| signal(nats, Signal::STOP),
        |nats| signal(nats, Signal::CONT),
    );
}

/// `cut` and `heal` make the nats-server unreachable for five seconds of a load, and reachable again.
fn nothing_is_lost(cut: impl Fn(&mut NatsServer), heal: impl Fn(&mut NatsServer)) {
    let mut fleet = Fleet::of(&["a", "b"]);
    let load = "agents = 2; threads = 4; warmup = '1s'; time = '12s'; workload = 'oltp_insert'; rate = 200; \
                arrivals = 'constant'";
    let mut dyno = fleet.study(load, "").start();
    dyno.comes_to_second(1, "measure");
    cut(&mut fleet.nats);
    std::thread::sleep(std::time::Duration::from_secs(5));
    heal(&mut fleet.nats);
    let done = dyno.wait().succeeds();
    let trial = done.completed();
    assert_complete(&trial, &["a", "b"]);
    assert_whole(&done);
    assert!(
        trial
            .agents
            .iter()
            .all(|agent| agent.missing_since_s.is_none()),
        "{:?}",
        trial.agents
    );
    // On a busy machine, some end in the measurement that arrived before it.
    let series = done.series();
    let completed = |second: &SeriesPoint| second.tps.unwrap_or(0.0) * second.seconds;
    let waiting = trial.generator.backlog_end.unwrap_or(0) as f64;
    let arrived = series.iter().map(completed).sum::<f64>() + waiting;
    let measured = series.iter().rfind(|one| one.phase == Phase::Measure);
    let measured_s = measured.map(|last| last.t_s + last.seconds - series[0].t_s);
    let expected = 200.0 * measured_s.unwrap();
    assert!(
        (arrived - expected).abs() < 10.0,
        "{arrived} of {expected}: {series:?}"
    );
}

#[test]
fn a_nats_server_that_is_gone_is_told_at_once_and_fails_the_trial() {
    let mut fleet = Fleet::of(&["a"]);
    let load = "agents = 1; threads = 2; warmup = '0s'; time = '60s'";
    let mut dyno = fleet.study(load, "").start();
    dyno.comes_to_second(1, "measure");
    fleet.nats.kill();
    dyno.says("lost the connection to the nats-server");
    assert!(!dyno.stderr().contains("is missing"), "{}", dyno.stderr());
    dyno.wait().fails(3, &["no agent of the load is left: a"]);
}

/// Users' connections end, and so do the agents' loads; then the agents are free for the next run.
#[test]
fn agents_outlive_a_killed_coordinator_and_work_for_the_next_one() {
    let mut fleet = Fleet::of(&["a", "b"]);
    let server = mariadb();
    let text = format!(
        "title = 't'\n[server]\nurl = '{}'\n[data]\nrows = 100\n[load]\nagents = 2\nthreads = 6\n\
         nats = '{}'\nwarmup = '0s'\ntime = '3s'\n[sweep]\n'load.think' = ['1ms', '2ms']\n",
        database(&*server, "outlived"),
        fleet.nats.url()
    );
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let study = |out: &Path| Program::study_to(&text, out).cache(&fleet.cache);
    let mut dyno = study(&out).start();
    dyno.comes_to("the second trial", || {
        crate::common::has_second(&out, 2, "measure")
    });
    dyno.signal(Signal::KILL);
    drop(dyno.wait());
    let users = || {
        let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'outlived'";
        server.sql(sql)[0][0].clone()
    };
    wait_until("no users", || users() == "0");
    for agent in &mut fleet.agents {
        agent.says("the coordinator is gone");
    }
    study(&out).args("--resume").succeeds();
    fleet.agents.clear();
    // Nothing remains that needs them.
    let done = study(&out).args("--resume").succeeds();
    let trials = store::read_result(&out).unwrap().trials;
    assert_eq!(trials.len(), 2, "{done}");
    trials
        .iter()
        .for_each(|trial| assert_complete(trial, &["a", "b"]));
}

/// The recovery from a fault is that of one load, whose users are on two agents.
#[test]
fn a_fault_is_measured_across_agents() {
    let fleet = Fleet::of(&["a", "b"]);
    let load =
        "agents = 2; threads = 4; think = '5ms'; warmup = '0s'; workload = 'oltp_update_index'";
    let rest = "[[fault]]; at = '4s'; kill = 'primary'; heal = '2s'; expect_outage = true";
    let run = |time: &str| {
        let study = fleet.study(&format!("{load}; time = '{time}'"), rest);
        study.succeeds()
    };
    let recovery = |done: &Finished| done.trial().faults[0].recovery.clone().unwrap();
    let is_over = |done: &Finished| {
        let found = recovery(done);
        found.outage_s.is_some() && found.load_write_s.is_some()
    };
    let done = in_time(&["20s", "60s"], run, is_over);
    assert_complete(&done.completed(), &["a", "b"]);
    let found = recovery(&done);
    assert!(found.outage_s > Some(1.5), "{found:?}");
    assert!(found.load_write_s > Some(1.5), "{found:?}");
    let first_error_s = found.first_error_s.unwrap();
    assert!(Some(first_error_s) < found.load_write_s, "{found:?}");
}

#[test]
fn agents_that_cannot_be_used_are_named_before_anything_runs() {
    let fleet = Fleet::of(&["a"]);
    let other = Fleet::of(&[]);
    let words = format!(
        "agent --nats {} --key {} --label b",
        fleet.nats.url(),
        other.key
    );
    let mut stranger = Program::new().args(&words).start();
    stranger.says("waiting for loads");
    let study = |agents: &str| fleet.study(&format!("{agents}; threads = 2; time = '1s'"), "");
    study("from = ['a', 'b']").fails(2, &["agent b trusts another coordinator's key"]);
    let mut waiting = study("agents = 2").start();
    waiting.says("1 of 2 agents can be used: agent b trusts");
    let _more = fleet.agent("c");
    waiting.wait().succeeds();
    study("agents = 1").succeeds();
    let _double = fleet.agent("a");
    study("from = ['a']").fails(2, &["two agents have the label a", "--label"]);
    assert!(fleet.cache.runs().is_empty());
}
