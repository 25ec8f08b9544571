//! The side of a fleet that says what its agents run.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use measure::clock::Offsets;
use plan::{Fact, Failure};
use tokio::time::timeout_at;

use crate::access::Access;
use crate::agent::CUT_LIMIT;
use crate::clock;
use crate::connection::{Connection, Task, ask, locked, make_stream};
use crate::key::{SigningKey, random};
use crate::message::{
    CLOCK, CONTROL, Control, Ending, HELLO, HERE, Identity, ORDER, Order, Presence, Taken,
    of_agent, of_load,
};
use crate::reports::{Inbox, Part, Sequence};

/// How long a clock may take to answer, and how often it is asked.
const CLOCK_LIMIT: Duration = Duration::from_secs(1);
const CLOCK_ROUNDS: usize = 30;
const CLOCKS_AT_ONCE: usize = 16;
const ORDER_LIMIT: Duration = Duration::from_secs(5);
/// How long to wait until agents are free again, and how much longer for each unit of a random byte.
const RELEASE_TIME: Duration = Duration::from_millis(200);
const RELEASE_STEP: Duration = Duration::from_millis(5);
/// How long to wait for more agents once there are enough: two may have the same label.
const LAST_ANSWERS: Duration = Duration::from_millis(100);
/// Maximum number of answers to a call for agents.
const MAX_PRESENT: usize = 10_000;

/// A run's connection to the agents of a nats-server.
pub struct Fleet {
    connection: Connection,
    key: SigningKey,
    /// This process, whose ID is that of the run.
    pub own: Identity,
    next_load: AtomicU32,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fleet({})", self.own.id)
    }
}

impl Fleet {
    /// `version` is that of the program, of which agents have the same.
    pub fn connect(access: &Access, key: SigningKey, version: &str) -> Result<Self, Failure> {
        Ok(Self {
            connection: Connection::open(access, "dyno")?,
            key,
            own: Identity::of_this_process("coordinator", version)?,
            next_load: AtomicU32::new(1),
        })
    }

    /// The key whose owner is this coordinator.
    pub fn public_key(&self) -> String {
        self.key.public().to_string()
    }

    /// Checks that the nats-server accepts an order of this size.
    pub fn check_order(&self, bytes: usize) -> Result<(), Failure> {
        let limit = self.connection.client().max_payload();
        if bytes <= limit {
            return Ok(());
        }
        let message = format!(
            "an agent's order has {bytes} bytes; the nats-server accepts at most {limit} (max_payload)"
        );
        let remedy =
            "raise max_payload in the nats-server's configuration, or shorten the study's scripts";
        Err(Failure::usage(message).remedy(remedy))
    }

    /// Checks that the nats-server keeps reports.
    pub fn check(&self) -> Result<(), Failure> {
        let made = make_stream(self.connection.streams());
        self.connection.wait(made).map_err(|error| {
            let message = format!("the nats-server keeps no reports of a load: {error}");
            let remedy = "enable JetStream: start it with -js and, for its directory, -sd";
            Failure::server(message).remedy(remedy)
        })
    }

    /// The agents that answer within `limit`, by their labels; returns soon when they are `enough`.
    pub fn present(
        &self,
        limit: Duration,
        enough: impl Fn(&[Presence]) -> bool,
    ) -> Result<Vec<Presence>, Failure> {
        let client = self.connection.client().clone();
        let mut present: Vec<Presence> = Vec::new();
        let gather = async {
            let inbox = client.new_inbox();
            let mut answers = client
                .subscribe(inbox.clone())
                .await
                .map_err(Failure::server)?;
            let asked = client
                .publish_with_reply(HELLO, inbox, Vec::new().into())
                .await;
            asked.map_err(Failure::server)?;
            let mut until = tokio::time::Instant::now() + limit;
            // The time is over when all have answered.
            while let Ok(Some(answer)) = timeout_at(until, answers.next()).await {
                present.extend(Presence::parse(&answer.payload));
                if enough(&present) {
                    until = until.min(tokio::time::Instant::now() + LAST_ANSWERS);
                }
                if present.len() >= MAX_PRESENT {
                    break;
                }
            }
            Ok(())
        };
        self.connection.wait(gather)?;
        if present.is_empty() && self.connection.up_since().is_none() {
            let remedy = "check that it runs, and that its address can be reached";
            return Err(Failure::server("the nats-server is unreachable").remedy(remedy));
        }
        present.sort_by(|one, other| one.identity.label.cmp(&other.identity.label));
        Ok(present)
    }

    /// How far the agents' clocks are ahead of this machine's; `None` for one that does not answer.
    pub fn offsets<'a>(
        &self,
        agents: impl IntoIterator<Item = &'a Identity>,
    ) -> Vec<Option<Offsets>> {
        let client = self.connection.client();
        let measure = async |agent: &Identity| {
            let mut readings = Vec::new();
            for _ in 0..CLOCK_ROUNDS {
                let asked = clock::now();
                let answer = ask(client, of_agent(&agent.id, CLOCK), Vec::new(), CLOCK_LIMIT).await;
                let answered = clock::now();
                // What was measured before a lost answer holds.
                let Ok(answer) = answer else { break };
                readings.push([asked, serde_json::from_slice(&answer).ok()?, answered]);
            }
            Offsets::of(&readings)
        };
        // More at once would delay each other's answers; one at a time would take long.
        let measured = stream::iter(agents).map(measure).buffered(CLOCKS_AT_ONCE);
        self.connection.wait(measured.collect())
    }

    /// Has agents run a load, each what its order says. `origin_ns` is when the load's clock reads 0,
    /// on the monotonic clock of this machine.
    ///
    /// If another run has one of them ([`Fact::Busy`]), all are given back, and this returns after a
    /// random time: of runs that want the same agents, one is the first to try again.
    pub fn order(
        &self,
        origin_ns: u64,
        agents: &[Identity],
        orders: &[serde_json::Value],
        control: &Control,
    ) -> Result<Drive<'_>, Failure> {
        let load = self.next_load.fetch_add(1, Ordering::Relaxed);
        let offsets = self.offsets(agents);
        let agents = agents.iter().zip(offsets).map(|(agent, offsets)| {
            let offsets = offsets.ok_or_else(|| failed(agent, "does not tell its clock"))?;
            Ok((agent.clone(), offsets))
        });
        let agents = agents.collect::<Result<Vec<_>, Failure>>()?;
        let sealed = agents.iter().zip(orders).map(|((agent, offsets), body)| {
            let order = Order {
                agent: agent.id.clone(),
                run: self.own.id.clone(),
                load,
                origin_ns: offsets.steady.there_ns(origin_ns),
                body: body.clone(),
            };
            let sealed = self.key.seal(ORDER, &order);
            self.check_order(sealed.len())?;
            Ok((of_agent(&agent.id, ORDER), sealed))
        });
        let sealed = sealed.collect::<Result<Vec<_>, Failure>>()?;
        let drive = Drive::new(self, load, agents, control.clone())?;
        let client = self.connection.client();
        let asked = sealed
            .into_iter()
            .map(|(subject, sealed)| ask(client, subject, sealed, ORDER_LIMIT));
        let answers = self.connection.wait(join_all(asked));
        let mut answers = drive.agents.iter().zip(answers);
        let refused = answers.find_map(|((agent, _), answer)| {
            let taken = serde_json::from_slice(&answer.unwrap_or_default());
            refusal(agent, taken.ok())
        });
        let Some(failure) = refused else {
            return Ok(drive);
        };
        drop(drive);
        if failure.is(Fact::Busy) {
            let [share] = random()?;
            sleep(RELEASE_TIME + RELEASE_STEP * u32::from(share));
        }
        Err(failure)
    }
}

fn refusal(agent: &Identity, taken: Option<Taken>) -> Option<Failure> {
    match taken {
        Some(Taken::Accepted) => None,
        Some(Taken::Busy(run)) => Some(busy(agent, &run)),
        Some(Taken::Refused(why)) => {
            let why = format!("refuses its part of the load: {why}");
            Some(failed(agent, &why))
        }
        None => Some(failed(agent, "does not answer")),
    }
}

/// The failure to get an agent that is busy with another run.
pub fn busy(agent: &Identity, run: &str) -> Failure {
    let message = format!("agent {} works for the run {run}", agent.label);
    let remedy = "wait until that run has ended, or start more agents";
    Failure::server(message).remedy(remedy).fact(Fact::Busy)
}

pub fn failed(agent: &Identity, why: &str) -> Failure {
    let message = format!("agent {} {why}", agent.label);
    let remedy = "look at the agent's output, and run the trial again";
    Failure::server(message).remedy(remedy)
}

/// A load that agents run. They end it when this is dropped.
pub struct Drive<'a> {
    fleet: &'a Fleet,
    load: u32,
    agents: Vec<(Identity, Offsets)>,
    control: Control,
    shared: Arc<Mutex<Shared>>,
    inbox: Inbox,
    _here: Task,
}

/// What answers agents that ask for the coordinator.
struct Shared {
    /// The signed control.
    sealed: Vec<u8>,
    agents: Vec<Heard>,
}

/// When an agent was last heard of, and what it has reported.
struct Heard {
    id: String,
    at: Instant,
    reports: Sequence,
}

impl<'a> Drive<'a> {
    fn new(
        fleet: &'a Fleet,
        load: u32,
        agents: Vec<(Identity, Offsets)>,
        control: Control,
    ) -> Result<Self, Failure> {
        let heard = |(agent, _): &(Identity, Offsets)| Heard {
            id: agent.id.clone(),
            at: Instant::now(),
            reports: Sequence::default(),
        };
        let shared = Arc::new(Mutex::new(Shared {
            sealed: Vec::new(),
            agents: agents.iter().map(heard).collect(),
        }));
        let asked = Arc::clone(&shared);
        let here = move |id: &[u8]| {
            let mut shared = locked(&asked);
            let mut agents = shared.agents.iter_mut();
            let agent = agents.find(|agent| agent.id.as_bytes() == id)?;
            agent.at = Instant::now();
            let last = agent.reports.last.to_be_bytes();
            Some([&last[..], &shared.sealed].concat())
        };
        let (connection, run) = (&fleet.connection, &fleet.own.id);
        let mut drive = Self {
            inbox: Inbox::open(connection, run, load),
            fleet,
            load,
            agents,
            control,
            shared,
            _here: connection.answer(of_load(run, load, HERE), here)?,
        };
        drive.tell();
        Ok(drive)
    }

    /// The agents, and how far their clocks were ahead when they got their orders.
    pub fn agents(&self) -> &[(Identity, Offsets)] {
        &self.agents
    }

    /// Changes what all agents are to know, and tells them if it has changed.
    pub fn update(&mut self, change: impl FnOnce(&mut Control)) {
        let before = self.control.clone();
        change(&mut self.control);
        if self.control != before {
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.control.version += 1;
        let run = &self.fleet.own.id;
        let subject = of_load(run, self.load, CONTROL);
        let sealed = self.fleet.key.seal(&subject, &self.control);
        locked(&self.shared).sealed.clone_from(&sealed);
        self.fleet.connection.publish(subject, sealed);
    }

    /// The index of an agent, and what it reports next; waits for at most `limit`.
    pub fn next(&self, limit: Duration) -> Option<(usize, Vec<Part>)> {
        let (id, message, receipt) = self.inbox.next(limit)?;
        let agents = &mut locked(&self.shared).agents;
        let Some(index) = agents.iter().position(|agent| agent.id == id) else {
            receipt();
            return None;
        };
        agents[index].at = Instant::now();
        Some((index, agents[index].reports.add(&message, receipt)))
    }

    /// How long an agent has been silent although the nats-server was there, or after it was away
    /// for so long that agents have given up.
    pub fn silence(&self, agent: usize) -> Duration {
        let heard = locked(&self.shared).agents[agent].at;
        self.since(heard)
    }

    /// Whether the nats-server is away.
    pub fn is_cut(&self) -> bool {
        self.fleet.connection.up_since().is_none()
    }

    /// The time since `at`, not counting that in which the nats-server was away, up to the limit after
    /// which agents give up.
    pub fn since(&self, at: Instant) -> Duration {
        match self.fleet.connection.up_since() {
            Some(up_since) => at.max(up_since).elapsed(),
            None => at.elapsed().saturating_sub(CUT_LIMIT),
        }
    }
}

impl Drop for Drive<'_> {
    fn drop(&mut self) {
        self.update(|control| control.ending = Ending::Over);
    }
}
