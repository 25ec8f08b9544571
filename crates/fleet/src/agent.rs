//! A load machine: presents itself, takes orders of the coordinator whose key it knows, and ends
//! their loads when that one is gone.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use plan::Failure;

use crate::access::Access;
use crate::clock;
use crate::connection::{Connection, Task, ask, locked};
use crate::key::PublicKey;
use crate::message::{
    CLOCK, CONTROL, Control, Ending, HELLO, HERE, Identity, ORDER, Order, Presence, Taken,
    of_agent, of_load, reports_of,
};
use crate::reports::Reporter;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often to ask whether the coordinator is still there, and how long it may take to answer.
const HERE_INTERVAL: Duration = Duration::from_millis(500);
const HERE_LIMIT: Duration = Duration::from_secs(1);
/// How long a coordinator may be unknown to the nats-server, to which it may have to connect again.
const GONE_LIMIT: Duration = Duration::from_secs(2);
/// How long the nats-server may be away.
pub const CUT_LIMIT: Duration = Duration::from_secs(12);

/// Runs the load of an order to its end. One that cannot be run is reported like any other end.
pub type Run = fn(serde_json::Value, &Link);

/// What connects a load with its coordinator.
pub struct Link {
    run: String,
    control: Mutex<Control>,
    /// Why the load has to end; `None` as long as it has a coordinator.
    alone: Mutex<Option<String>>,
    reporter: Reporter,
    agent: String,
    origin_ns: u64,
}

impl Link {
    /// What the coordinator has said last.
    pub fn control(&self) -> Control {
        locked(&self.control).clone()
    }

    /// Why the load has to end, besides what the coordinator says.
    pub fn alone(&self) -> Option<String> {
        locked(&self.alone).clone()
    }

    /// When the coordinator's clock of the load read 0, on the monotonic clock of this machine.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Sends a report, which arrives after all earlier ones.
    pub fn report(&self, report: &[u8]) {
        self.reporter.report(report);
    }

    fn leave(&self, why: &str) {
        locked(&self.alone).get_or_insert_with(|| why.to_owned());
    }

    fn take(&self, control: Control) {
        let is_missing = control.missing.contains(&self.agent);
        let mut known = locked(&self.control);
        if control.version > known.version {
            *known = control;
        }
        drop(known);
        if is_missing {
            self.leave("the coordinator goes on without this agent");
        }
    }
}

/// The loads that run.
#[derive(Default)]
struct Jobs {
    running: Vec<(Arc<Link>, JoinHandle<()>)>,
    /// The run and number of every order that was taken, of which each is good for once.
    taken: HashSet<(String, u32)>,
}

/// Serves until it is interrupted. `tell` gets a line about what happens.
pub fn serve(
    access: &Access,
    identity: &Identity,
    trusted: &PublicKey,
    run: Run,
    interrupted: &AtomicBool,
    tell: fn(&str),
) -> Result<(), Failure> {
    let connection = Connection::open(access, &format!("dyno agent {}", identity.label))?;
    let agent = Arc::new(Agent {
        connection,
        identity: identity.clone(),
        trusted: trusted.clone(),
        jobs: Mutex::default(),
        run,
        tell,
    });
    let _answers = agent.answer()?;
    let Identity {
        label, build, cpus, ..
    } = identity;
    tell(&format!(
        "agent {label}: dyno {build}, {cpus} CPUs, at {}; waiting for loads, until Ctrl-C",
        access.url
    ));
    while !interrupted.load(Ordering::Relaxed) {
        sleep(POLL_INTERVAL);
    }
    let running = std::mem::take(&mut locked(&agent.jobs).running);
    for (link, _) in &running {
        link.leave("the agent was interrupted");
    }
    for (_, job) in running {
        drop(job.join());
    }
    Ok(())
}

impl Jobs {
    /// The run of the loads that run.
    fn run(&mut self) -> Option<String> {
        self.running.retain(|(_, job)| !job.is_finished());
        self.running.first().map(|(link, _)| link.run.clone())
    }
}

struct Agent {
    connection: Connection,
    identity: Identity,
    trusted: PublicKey,
    jobs: Mutex<Jobs>,
    run: Run,
    tell: fn(&str),
}

impl Agent {
    /// Answers as long as the result lives.
    fn answer(self: &Arc<Self>) -> Result<[Task; 3], Failure> {
        let (id, connection) = (&self.identity.id, &self.connection);
        let agent = Arc::clone(self);
        let hello = connection.answer(HELLO.to_owned(), move |_| {
            let presence = Presence {
                identity: agent.identity.clone(),
                run: locked(&agent.jobs).run(),
                trusts: agent.trusted.to_string(),
            };
            serde_json::to_vec(&presence).ok()
        })?;
        let clock = connection.answer(of_agent(id, CLOCK), |_| {
            serde_json::to_vec(&clock::now()).ok()
        })?;
        let agent = Arc::clone(self);
        let orders = connection.answer(of_agent(id, ORDER), move |sealed| {
            let taken = agent.take(sealed);
            if let Taken::Refused(why) = &taken {
                (agent.tell)(&format!("refused an order: {why}"));
            }
            serde_json::to_vec(&taken).ok()
        })?;
        Ok([hello, clock, orders])
    }

    /// Called on the event loop, so the load starts in a thread of its own.
    fn take(self: &Arc<Self>, sealed: &[u8]) -> Taken {
        let Some(order) = self.trusted.open::<Order>(ORDER, sealed) else {
            let why = "it is not signed with the key that this agent trusts";
            return Taken::Refused(why.to_owned());
        };
        let mut jobs = locked(&self.jobs);
        if order.agent != self.identity.id {
            return Taken::Refused("it is for another agent".to_owned());
        }
        if let Some(run) = jobs.run().filter(|run| *run != order.run) {
            return Taken::Busy(run);
        }
        if !jobs.taken.insert((order.run.clone(), order.load)) {
            return Taken::Refused("it was taken before".to_owned());
        }
        let subject = reports_of(&order.run, order.load, &self.identity.id);
        let link = Arc::new(Link {
            run: order.run.clone(),
            control: Mutex::default(),
            alone: Mutex::default(),
            reporter: Reporter::new(&self.connection, subject),
            agent: self.identity.id.clone(),
            origin_ns: order.origin_ns,
        });
        let (agent, job) = (Arc::clone(self), Arc::clone(&link));
        let run = move || agent.run(order, &job);
        let thread = std::thread::Builder::new().name("dyno-job".to_owned());
        match thread.spawn(run) {
            Ok(thread) => jobs.running.push((link, thread)),
            Err(error) => return Taken::Refused(error.to_string()),
        }
        Taken::Accepted
    }

    fn run(&self, order: Order, link: &Arc<Link>) {
        let (run, load) = (order.run, order.load);
        (self.tell)(&format!("run {run}: load {load} started"));
        let Ok(_told) = self.listen(&run, load, link) else {
            return;
        };
        let _present = self.watch(&run, load, link);
        (self.run)(order.body, link);
        let is_over = || link.control().ending == Ending::Over || link.alone().is_some();
        link.reporter.finish(is_over);
        let ended = match link.alone() {
            Some(why) => format!("run {run}: load {load} ended: {why}"),
            None => format!("run {run}: load {load} ended"),
        };
        (self.tell)(&ended);
    }

    /// Listens to what the coordinator says.
    fn listen(&self, run: &str, load: u32, link: &Arc<Link>) -> Result<Task, Failure> {
        let (trusted, link) = (self.trusted.clone(), Arc::clone(link));
        let subject = of_load(run, load, CONTROL);
        self.connection.answer(subject.clone(), move |sealed| {
            link.take(trusted.open(&subject, sealed)?);
            None
        })
    }

    /// Asks again and again whether the coordinator is still there; its answer has the control and
    /// how many parts of reports it has.
    fn watch(&self, run: &str, load: u32, link: &Arc<Link>) -> Task {
        let (trusted, link) = (self.trusted.clone(), Arc::clone(link));
        let (purpose, subject) = (of_load(run, load, CONTROL), of_load(run, load, HERE));
        let (client, id) = (self.connection.client().clone(), self.identity.id.clone());
        self.connection.spawn(async move {
            let (mut answered, mut unknown_since) = (Instant::now(), None);
            // A coordinator that has never answered has withdrawn its order.
            let mut limit = Duration::ZERO;
            loop {
                let asked = Instant::now();
                let payload = id.clone().into_bytes();
                let answer = ask(&client, subject.clone(), payload, HERE_LIMIT).await;
                let answer = answer.and_then(|answer| {
                    // Anybody may have answered.
                    opened(&trusted, &purpose, &answer).ok_or(RequestErrorKind::Other)
                });
                match answer {
                    Ok((received, control)) => {
                        (answered, unknown_since, limit) = (Instant::now(), None, GONE_LIMIT);
                        link.reporter.received(received);
                        link.take(control);
                    }
                    Err(RequestErrorKind::NoResponders) => {
                        answered = Instant::now();
                        if unknown_since.get_or_insert(asked).elapsed() >= limit {
                            link.leave("the coordinator is gone");
                        }
                    }
                    Err(_) => {
                        unknown_since = None;
                        if answered.elapsed() >= CUT_LIMIT {
                            link.leave("neither the coordinator nor the nats-server answers");
                        }
                    }
                }
                tokio::time::sleep(HERE_INTERVAL.saturating_sub(asked.elapsed())).await;
            }
        })
    }
}

/// Reads the coordinator's answer: the number of the last part that it has, and its control.
fn opened(trusted: &PublicKey, purpose: &str, answer: &[u8]) -> Option<(u64, Control)> {
    let (received, sealed) = answer.split_first_chunk()?;
    let control = trusted.open(purpose, sealed)?;
    Some((u64::from_be_bytes(*received), control))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::key::SigningKey;

    #[test]
    fn only_the_coordinators_answer_counts() {
        let (key, _) = SigningKey::generate().unwrap();
        let (other, _) = SigningKey::generate().unwrap();
        let purpose = of_load("run", 1, CONTROL);
        let control = Control {
            version: 3,
            ..Control::default()
        };
        let answer = |key: &SigningKey| {
            let sealed = key.seal(&purpose, &control);
            [&7_u64.to_be_bytes(), sealed.as_slice()].concat()
        };
        let read = |answer: &[u8]| opened(&key.public(), &purpose, answer);
        assert_eq!(read(&answer(&key)), Some((7, control.clone())));
        for bad in [answer(&other), Vec::new(), vec![0; 20]] {
            assert_eq!(read(&bad), None);
        }
    }
}
