//! What a hundred agents cost their coordinator: their loads are scripted, all the rest is real. The
//! agents are threads of a process of their own, which is this program once more.
//!
//! `docs/internals/scale.md` has the figures of an optimized build; the command is there.

use std::cell::{Cell, RefCell};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use client::clock::monotonic_ns;
use client::route::Route;
use fleet::agent::Link;
use fleet::{Access, Ending, Fleet, Identity, PublicKey, SigningKey};
use load::{Barrier, End, LoadError, LoadEvent, LoadOutcome, LoadSpec, Stop};
use measure::setup::Unfinished;
use measure::slice::{Busy, Phase, Second, Slice};
use plan::{Agents, Nats};
use serde::{Deserialize, Serialize};
use testkit::NatsServer;

use super::message::{Ended, Report};
use super::team::Team;
use crate::Trial;
use crate::drive::trial_loop::TrialMessage;
use crate::process::NEVER;

/// How many there are, 100 unless a measurement says otherwise.
static AGENTS: LazyLock<u32> = LazyLock::new(|| variable(COUNT).unwrap_or(100));
/// Statements of a transaction, and their kinds, as those of `oltp_read_write`.
const STATEMENTS: u64 = 20;
const KINDS: usize = 11;
/// Clock ticks of the kernel's process statistics.
const TICKS_PER_S: f64 = 100.0;

/// The address of the nats-server and the coordinator's key, for the process of the agents.
const URL: &str = "SCALE_URL";
const KEY: &str = "SCALE_KEY";
/// For a measurement: the seconds of the load, and the number of agents.
const TIME: &str = "SCALE_TIME";
const COUNT: &str = "SCALE_AGENTS";

fn variable<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// What every agent does in each second.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Script {
    pub(super) seconds: u64,
    pub(super) transactions: u64,
}

pub(super) fn scripted(order: serde_json::Value, link: &Link) {
    let script: Script = serde_json::from_value(order).unwrap();
    let send = |report: &Report| link.report(&serde_json::to_vec(report).unwrap());
    send(&Report::Event(LoadEvent::Connecting { open: 1 }));
    send(&Report::Ready);
    let Some(start_ns) = begun(link) else {
        return;
    };
    let mut second = second(script.transactions);
    for number in 0..script.seconds {
        second.start_ns = start_ns + number * 1_000_000_000;
        second.end_ns = second.start_ns + 1_000_000_000;
        let due_ns = link.origin_ns() + second.end_ns;
        std::thread::sleep(Duration::from_nanos(due_ns.saturating_sub(monotonic_ns())));
        send(&Report::Event(LoadEvent::Second(Box::new(second.clone()))));
    }
    let outcome = LoadOutcome {
        end: End::Completed,
        unfinished: Unfinished::default(),
    };
    let ended = Ended {
        how: Ok(outcome),
        began_ns: Some(start_ns),
    };
    send(&Report::Ended(ended));
}

/// When the load begins, on the coordinator's clock; `None` if it does not.
fn begun(link: &Link) -> Option<u64> {
    while link.alone().is_none() && link.control().ending != Ending::Over {
        if let Some(start_ns) = link.control().start_ns {
            return Some(start_ns);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Drives the load of a trial, which only the agents know.
pub(super) fn drive(
    trial: &Trial,
    team: &Team<'_>,
    order: impl Fn(&Identity) -> serde_json::Value,
    barrier: &Barrier,
    send: &dyn Fn(TrialMessage),
) -> Result<LoadOutcome, LoadError> {
    let spec = LoadSpec::endless(1, false);
    let dir = tempfile::tempdir().unwrap();
    let database = crate::for_tests::database(dir.path());
    let dialect = database.engine().about().dialect;
    let workload = trial.workload.ready(&trial.options, dialect, &spec);
    let load = engine::Load {
        spec: &spec,
        workload: &workload.unwrap(),
        protocol: trial.planned.load.protocol,
        stamp_replies: false,
        barrier,
        stop: &Stop::default(),
        route: &Arc::new(Route::fixed()),
        pulse: None,
        tell: &mut |event| send(TrialMessage::Load(0, event)),
    };
    let orders: Vec<_> = team.agents.iter().map(order).collect();
    team.run(&orders, 0, load, send)
}

/// A second with so many transactions, whose times are spread as those of real ones.
pub(super) fn second(transactions: u64) -> Second {
    let mut slice = Slice::new(KINDS);
    let mut random = plan::SplitMix64::new(transactions);
    let mut spread = |mean_ns: f64| {
        let unit: f64 = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        (mean_ns * (0.3 - (1.0 - unit).ln())) as u64
    };
    for _ in 0..transactions {
        slice.response.record(spread(12e6));
        for statement in 0..STATEMENTS {
            slice.statements[statement as usize % KINDS].record(spread(5e5));
            slice.delay.record(spread(2e4));
        }
    }
    Second {
        start_ns: 0,
        end_ns: 0,
        phase: Phase::Measure,
        slice,
        backlog: None,
        workers: vec![
            Busy {
                running: 0.5,
                waiting: 0.0
            };
            4
        ],
    }
}

/// The process of the agents; without its variables, it does nothing.
#[test]
fn agents() {
    let (Ok(url), Ok(key)) = (std::env::var(URL), std::env::var(KEY)) else {
        return;
    };
    let (access, key) = (Access::new(url.into()), PublicKey::parse(&key).unwrap());
    std::thread::scope(|scope| {
        for number in 0..*AGENTS {
            let (access, key) = (&access, &key);
            scope.spawn(move || {
                let label = format!("agent-{number}");
                let identity = Identity::of_this_process(&label, "").unwrap();
                fleet::agent::serve(access, &identity, key, scripted, &NEVER, |_| ())
            });
        }
    });
}

struct AgentsProcess(Child);

impl AgentsProcess {
    fn start(nats: &NatsServer, key: &SigningKey) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]);
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", "fleet::scale_tests::agents"]);
        command
            .env(URL, nats.url())
            .env(KEY, key.public().to_string());
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for AgentsProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Seconds of CPU time that a process has used.
fn cpu_s(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().unwrap())
        .sum::<f64>()
        / TICKS_PER_S
}

/// The largest resident memory so far.
fn peak_mib(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// Every second of every agent arrives once, and memory does not grow with them.
#[test]
fn a_hundred_agents_are_merged() {
    let time = variable(TIME);
    let script = Script {
        seconds: time.unwrap_or(4),
        transactions: if time.is_some() { 5_000 } else { 50 },
    };
    let nats = NatsServer::start();
    let (key, text) = SigningKey::generate().unwrap();
    let _agents = AgentsProcess::start(&nats, &key);
    let access = Access::new(nats.url().into());
    let fleet = Fleet::connect(&access, SigningKey::parse(&text).unwrap(), "").unwrap();
    let mut trial = crate::for_tests::trial();
    trial.planned.load.fleet = Some(plan::Fleet {
        agents: Agents::Count(*AGENTS),
        nats: Nats::LOOPBACK,
    });
    fleet.check().unwrap();
    trial.fleet = Some(Arc::new(fleet));
    let team = Team::of(&trial, &mut |_| (), &AtomicBool::new(false)).unwrap();
    let team = team.expect("a fleet");

    let barrier = Barrier::new(1);
    let (seconds, transactions) = (Cell::new(0), Cell::new(0));
    let late_ms = RefCell::new(Vec::new());
    let send = |message: TrialMessage| match message {
        TrialMessage::Load(_, LoadEvent::Second(second)) => {
            seconds.set(seconds.get() + 1);
            transactions.set(transactions.get() + second.slice.response.count());
            let due = barrier.origin() + Duration::from_nanos(second.end_ns);
            let late = Instant::now().saturating_duration_since(due);
            late_ms.borrow_mut().push(late.as_millis());
        }
        TrialMessage::Then(stored) => stored(),
        _ => {}
    };
    let [own, server] = [std::process::id(), nats.process()];
    let before = [own, server].map(cpu_s);
    let order = |_: &Identity| serde_json::to_value(script).unwrap();
    let outcome = drive(&trial, &team, order, &barrier, &send).unwrap();
    let used = [cpu_s(own) - before[0], cpu_s(server) - before[1]];
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(seconds.get(), script.seconds);
    assert_eq!(
        transactions.get(),
        u64::from(*AGENTS) * script.seconds * script.transactions
    );
    let report = Report::Event(LoadEvent::Second(Box::new(second(script.transactions))));
    let bytes = serde_json::to_vec(&report).unwrap().len();
    let (peak, length) = (peak_mib(own), script.seconds as f64);
    println!(
        "{} agents, {length} s: {bytes} bytes for each agent and second; coordinator {:.1} % of a CPU, {peak:.0} MiB; \
         nats-server {:.1} % of a CPU, {:.0} MiB; seconds are merged {:?} ms after their end",
        *AGENTS,
        100.0 * used[0] / length,
        100.0 * used[1] / length,
        peak_mib(server),
        late_ms.borrow(),
    );
    assert!(peak < 200.0, "{peak} MiB");
}
