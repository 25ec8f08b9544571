//! Fleets whose agents are threads of this process, with scripted loads; all the rest is real.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleet::agent::Link;
use fleet::{Access, Fleet, Identity, SigningKey};
use load::{Barrier, End, LoadError, LoadEvent, LoadOutcome};
use measure::agent::AgentSummary;
use plan::{Agents, Exit, Nats, ServerSpec};
use testkit::NatsServer;
use workload::session::SessionError;

use super::message::{Ended, Report};
use super::scale_tests::{self, Script, scripted, second};
use super::team::Team;
use super::{check_agents, gather};
use crate::drive::trial_loop::TrialMessage;
use crate::process::poll;
use crate::{Failure, Trial};

/// Orders of a load that reports nothing, and of one that cannot connect.
const SILENT: &str = "silent";
const REFUSED: &str = "refused";

/// Runs scripts; without one, its load never reports a second.
fn run(order: serde_json::Value, link: &Link) {
    let refused = || Ended {
        how: Err(LoadError::Connect(SessionError::of_script(
            "refused".to_owned(),
        ))),
        began_ns: None,
    };
    let report = match order.as_str() {
        Some(SILENT) => None,
        Some(_) => Some(Report::Ended(refused())),
        None if order.is_null() => Some(Report::Ready),
        None => return scripted(order, link),
    };
    if let Some(report) = report {
        link.report(&serde_json::to_vec(&report).unwrap());
    }
    while link.alone().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An agent's label, and what its identity has besides.
type Member<'a> = (&'a str, fn(&mut Identity));

const AS_IT_IS: fn(&mut Identity) = |_| ();

/// With these agents, on a nats-server with this line in its configuration.
fn with_agents(line: &str, members: &[Member<'_>], test: impl FnOnce(&Arc<Fleet>)) {
    with_runs(line, members, |connect| test(&connect()));
}

/// With these agents, and a function that connects a run with them.
fn with_runs(
    line: &str,
    members: &[Member<'_>],
    test: impl FnOnce(&(dyn Fn() -> Arc<Fleet> + Sync)),
) {
    let nats = NatsServer::with(line);
    let access = Access::new(nats.url().into());
    let (key, text) = SigningKey::generate().unwrap();
    let trusted = key.public();
    let connect = || {
        let key = SigningKey::parse(&text).unwrap();
        let fleet = Fleet::connect(&access, key, "").unwrap();
        fleet.check().unwrap();
        Arc::new(fleet)
    };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&is_over);
        for (label, change) in members {
            let mut identity = Identity::of_this_process(label, "").unwrap();
            change(&mut identity);
            let (access, trusted, is_over) = (&access, &trusted, &is_over);
            scope.spawn(move || {
                fleet::agent::serve(access, &identity, trusted, run, is_over, |_| ())
            });
        }
        test(&connect);
    });
}

fn trial(fleet: &Arc<Fleet>, agents: Agents) -> Trial {
    let nats = Nats::LOOPBACK;
    let mut trial = crate::for_tests::trial();
    trial.planned.load.fleet = Some(plan::Fleet { agents, nats });
    trial.fleet = Some(Arc::clone(fleet));
    trial
}

fn labels(labels: &[&str]) -> Agents {
    Agents::Labels(labels.iter().map(|label| (*label).to_owned()).collect())
}

/// Why a trial cannot run, once its agents are there.
fn refused(trial: &Trial, texts: &[&str]) -> Failure {
    let fleet = trial.fleet.as_ref().unwrap();
    let refused = || {
        let failure = check_agents(fleet, trial).unwrap_err();
        let has = |text: &&str| failure.message.contains(text);
        texts.iter().all(has).then_some(failure)
    };
    poll(Duration::from_secs(300), refused).expect("it is refused")
}

#[test]
fn agents_are_waited_for_unless_they_cannot_be_used() {
    let gathered = |limit: Duration, exit: Exit, failures: u32| {
        let (calls, reasons) = (Cell::new(0), Cell::new(0));
        let check = || {
            calls.set(calls.get() + 1);
            match calls.get() > failures {
                true => Ok(()),
                false => Err(Failure::new(exit, "one of two is there")),
            }
        };
        let mut tell = |_: &str| reasons.set(reasons.get() + 1);
        let done = gather(limit, check, &mut tell, &|| false);
        (done.is_ok(), reasons.get())
    };
    let long = Duration::from_secs(300);
    assert_eq!(gathered(long, Exit::Server, 3), (true, 1));
    assert_eq!(gathered(Duration::ZERO, Exit::Server, 3), (false, 0));
    assert_eq!(gathered(long, Exit::Usage, 3), (false, 0));
}

#[test]
fn agents_that_do_not_fit_are_refused_by_label_and_passed_over_by_number() {
    let members: [Member<'_>; 3] = [
        ("fit", AS_IT_IS),
        ("old", |agent| agent.build = "0.0+1".to_owned()),
        ("riscv", |agent| agent.architecture = "riscv64".to_owned()),
    ];
    with_agents("", &members, |fleet| {
        let here = std::env::consts::ARCH;
        let cpu = format!("agent riscv runs on riscv64, this machine is {here}");
        let build = format!(
            "agent old runs dyno 0.0+1, this is dyno {}",
            fleet.own.build
        );
        for (label, why) in [("riscv", &cpu), ("old", &build)] {
            let failure = refused(&trial(fleet, labels(&[label])), &[why]);
            assert_eq!(failure.exit, Exit::Usage);
        }
        // Others may come.
        let texts = ["1 of 2 agents", &build, &cpu];
        let failure = refused(&trial(fleet, Agents::Count(2)), &texts);
        assert_eq!(failure.exit, Exit::Server);
        let one = trial(fleet, Agents::Count(1));
        assert_eq!(check_agents(fleet, &one), Ok(()));
    });
}

#[test]
fn an_agent_that_does_not_reach_the_servers_is_refused_before_they_start() {
    let members: [Member<'_>; 1] = [("far", |agent| agent.network = "net:[1]".to_owned())];
    with_agents("", &members, |fleet| {
        let mut trial = trial(fleet, labels(&["far"]));
        assert!(
            poll(Duration::from_secs(300), || check_agents(fleet, &trial)
                .ok())
            .is_some()
        );
        let ServerSpec::Url(url, _) = &mut trial.planned.server else {
            panic!("{:?}", trial.planned.server);
        };
        url.value = "any://127.0.0.1:1".to_owned().into();
        let failure = refused(&trial, &["agent far runs", "cannot reach"]);
        assert_eq!(failure.exit, Exit::Usage);
    });
}

/// What the load of a trial reported.
#[derive(Default)]
struct Told {
    transactions: Vec<u64>,
    agents: Vec<AgentSummary>,
    notes: Vec<String>,
}

fn drive(
    trial: &Trial,
    order: impl Fn(&str) -> serde_json::Value,
) -> (Result<LoadOutcome, LoadError>, Told) {
    drive_with(&team(trial), trial, order)
}

fn team(trial: &Trial) -> Team<'_> {
    let team = Team::of(trial, &mut |_| (), &AtomicBool::new(false)).unwrap();
    team.expect("a fleet")
}

fn drive_with(
    team: &Team<'_>,
    trial: &Trial,
    order: impl Fn(&str) -> serde_json::Value,
) -> (Result<LoadOutcome, LoadError>, Told) {
    let told = RefCell::new(Told::default());
    let send = |message: TrialMessage| {
        let mut told = told.borrow_mut();
        match message {
            TrialMessage::Load(_, LoadEvent::Second(second)) => {
                told.transactions.push(second.slice.response.count());
            }
            TrialMessage::Agents(agents) => told.agents = agents,
            TrialMessage::Note(note) => told.notes.push(note),
            TrialMessage::Then(stored) => stored(),
            _ => {}
        }
    };
    let order = |agent: &Identity| order(&agent.label);
    let driven = scale_tests::drive(trial, team, order, &Barrier::new(1), &send);
    (driven, told.into_inner())
}

const SCRIPT: Script = Script {
    seconds: 2,
    transactions: 5_000,
};
/// Less than a second of the script takes.
const LIMIT: usize = 12 << 10;

#[test]
fn an_agent_that_answers_but_reports_no_second_counts_as_missing() {
    let members = [("hangs", AS_IT_IS), ("runs", AS_IT_IS)];
    with_agents("", &members, |fleet| {
        let trial = trial(fleet, labels(&["hangs", "runs"]));
        let (driven, told) = drive(&trial, |label| match label {
            "runs" => serde_json::to_value(SCRIPT).unwrap(),
            _ => serde_json::Value::Null,
        });
        assert_eq!(driven.unwrap().end, End::Completed);
        assert_eq!(told.transactions, [5_000; 2]);
        let missing: Vec<_> = told.agents.iter().map(|one| one.missing_since_s).collect();
        assert!(matches!(missing[..], [Some(_), None]), "{missing:?}");
        assert!(
            told.notes[0].contains("agent hangs is missing"),
            "{:?}",
            told.notes
        );
    });
}

#[test]
fn an_agent_whose_load_does_not_start_is_named() {
    with_agents("", &[("one", AS_IT_IS)], |fleet| {
        let trial = trial(fleet, labels(&["one"]));
        for (order, text) in [
            (REFUSED, "agent one: refused"),
            (SILENT, "agent one answers"),
        ] {
            let (driven, _) = drive(&trial, |_| order.into());
            let why = driven.unwrap_err().to_string();
            assert!(why.contains(text), "{why}");
        }
    });
}

/// Each may take some of them first, and gives them back.
#[test]
fn runs_that_take_the_same_agents_at_once_go_on_one_after_the_other() {
    let members = [("a", AS_IT_IS), ("b", AS_IT_IS), ("c", AS_IT_IS)];
    with_runs("", &members, |connect| {
        let all_are_free = std::sync::Barrier::new(3);
        let run = || {
            let trial = trial(&connect(), labels(&["a", "b", "c"]));
            let team = team(&trial);
            all_are_free.wait();
            let (driven, told) =
                drive_with(&team, &trial, |_| serde_json::to_value(SCRIPT).unwrap());
            assert_eq!(driven.unwrap().end, End::Completed);
            assert_eq!(told.transactions, [15_000; 2]);
        };
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(run)));
        });
    });
}

#[test]
fn reports_of_any_size_arrive_and_an_order_that_is_too_large_is_refused() {
    let report = Report::Event(LoadEvent::Second(Box::new(second(SCRIPT.transactions))));
    assert!(serde_json::to_vec(&report).unwrap().len() > LIMIT);
    let line = format!("max_payload: {LIMIT}");
    let texts = [LIMIT.to_string(), "max_payload".to_owned()];
    with_agents(&line, &[("one", AS_IT_IS)], |fleet| {
        let mut trial = trial(fleet, labels(&["one"]));
        let (driven, told) = drive(&trial, |_| serde_json::to_value(SCRIPT).unwrap());
        assert_eq!(
            (driven.unwrap().end, told.transactions),
            (End::Completed, vec![5_000; 2])
        );
        let (driven, _) = drive(&trial, |_| "x".repeat(LIMIT).into());
        let Err(LoadError::Agents(failure)) = driven else {
            panic!("{driven:?}");
        };
        assert!(
            texts.iter().all(|text| failure.message.contains(text)),
            "{failure}"
        );
        assert!(failure.remedy.unwrap().contains("max_payload"));
        let mut script = plan::Script::new("own.lua", 1);
        script.text = "x".repeat(LIMIT).into();
        trial.planned.load.scripts.push(script);
        let failure = check_agents(fleet, &trial).unwrap_err();
        assert!(
            texts.iter().all(|text| failure.message.contains(text)),
            "{failure}"
        );
        assert_eq!(failure.exit, Exit::Usage);
    });
}
