//! The ledger of an instance: transfers beside its load, and afterward the proof of what became of
//! each acknowledged commit, on every member.

mod members;
mod reader;
mod recorder;
mod schedule;
mod user;

use std::thread::{Scope, ScopedJoinHandle};

use engine::Sql;
use engine::data::ledger as tables;
use engine::replication::Role;
use measure::fault::FaultRecord;
use measure::ledger::{Contents, History, LedgerSummary, Opening, check, edn, in_flight, losses};
use workload::ledger::{ACCOUNTS, APPENDERS, BALANCE};
use workload::schema::Dialect;
use workload::session::SessionError;

use crate::drive::clock::Clock;
use crate::{Cluster, Failure, Instance, Member, Observer, Rig, Run, Trial, threads};

use recorder::Recorder;
use user::User;

/// Maximum number of transfers without a record in the history that are read from a member.
const MAX_FOREIGN: usize = 100_000;

pub(crate) struct Ledger<'a> {
    /// The instance's number, counted from 1.
    number: u32,
    instance: &'a Instance,
    planned: &'a plan::Ledger,
    load: &'a plan::Load,
    seed: u64,
    recorder: Recorder,
}

impl<'a> Ledger<'a> {
    fn cluster(&self) -> &'a Cluster {
        &self.instance.cluster
    }

    fn dialect(&self) -> &'static Dialect {
        self.instance.database.engine().about().dialect
    }

    fn role(&self, member: &Member, sql: &mut dyn Sql) -> Result<Role, SessionError> {
        let ask = |query: &str| sql.rows(query, user::ANSWER_LIMIT);
        Ok(self.cluster().view(member, ask)?.state)
    }
}

/// Adds what became of the transfers around each fault of an instance.
fn add_losses(history: &History, contents: &[Contents], faults: Vec<&mut FaultRecord>) {
    let known: Vec<&FaultRecord> = faults.iter().map(|fault| &**fault).collect();
    let losses = losses(history, contents, &known);
    for (fault, loss) in faults.into_iter().zip(losses) {
        let (asked_s, effect_s) = (fault.asked_s, fault.effect_s);
        if let (Some(recovery), Some(effect_s)) = (&mut fault.recovery, effect_s) {
            let fates = in_flight(history, contents, asked_s, effect_s);
            (recovery.in_flight, recovery.loss) = (Some(fates), loss);
        }
    }
}

/// Creates the tables of each instance's ledger, if the trial has ledgers, and waits until every
/// member has them.
pub(crate) fn open<'a>(
    trial: &'a Trial,
    rig: &'a Rig,
    run: &mut Run<'_>,
) -> Result<Vec<Ledger<'a>>, Failure> {
    let Some(planned) = &trial.planned.ledger else {
        return Ok(Vec::new());
    };
    run.observer.stage("creating the tables of the ledger");
    let mut ledgers = Vec::new();
    for (number, instance) in (1..).zip(&rig.instances) {
        let path = run.observer.ledger_file(number)?;
        let opening = Opening {
            accounts: ACCOUNTS.into(),
            balance: BALANCE,
        };
        let failed = |error| Failure::interrupted(format!("{}: {error}", path.display()));
        let ledger = Ledger {
            number,
            instance,
            planned,
            load: &trial.planned.load,
            // Users of different instances must differ.
            seed: trial.load_seed.wrapping_add(u64::from(number)),
            recorder: Recorder::create(path.clone(), opening).map_err(failed)?,
        };
        tables::create(&*ledger.cluster().primary().database)?;
        for (member, why) in members::read(&ledger, MAX_FOREIGN, run.interrupted).unread {
            run.observer
                .note(&format!("the ledger cannot read server {member}: {why}"));
        }
        ledgers.push(ledger);
    }
    Ok(ledgers)
}

/// The users end with the measurement.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    clock: Clock<'env>,
    ledgers: &'env [Ledger<'env>],
) -> Result<Vec<ScopedJoinHandle<'scope, ()>>, Failure> {
    let mut started = Vec::new();
    for ledger in ledgers {
        let mut spawn = |work: Box<dyn FnOnce() + Send + 'env>| {
            let name = format!("dyno-ledger-{}", ledger.number);
            started.push(threads::spawn(scope, name, work)?);
            Ok::<_, Failure>(())
        };
        let user = move |number| User::new(ledger, clock, number);
        for number in 1..=ledger.planned.users() {
            spawn(Box::new(move || user(number).make_transfers()))?;
        }
        for number in 1..=APPENDERS {
            spawn(Box::new(move || user(number).make_appends()))?;
        }
        let members = ledger.cluster().members().len();
        if ledger.planned.replica_reads > 0.0 && members > 1 {
            for index in 0..members {
                spawn(Box::new(move || reader::read(ledger, clock, index)))?;
            }
        }
    }
    Ok(started)
}

impl Ledger<'_> {
    /// Determines what became of each transfer, also of those around the faults of its instance,
    /// and drops the tables of a server that dyno did not start. If the history is unreadable, also
    /// returns why: nothing could be judged.
    pub(crate) fn verify(
        self,
        faults: &mut [FaultRecord],
        run: &mut Run<'_>,
    ) -> (LedgerSummary, Option<String>) {
        run.observer.stage("checking the ledger");
        let path = self.recorder.path.display();
        let (history, unreadable) = match self.recorder.history() {
            Ok(history) => (history, None),
            Err(error) => {
                let why = format!("cannot read the ledger's history {path}: {error}");
                (History::default(), Some(why))
            }
        };
        let limit = history.entries().len() * 2 + MAX_FOREIGN;
        let mut found = members::read(&self, limit, run.interrupted);
        if let Some(why) = &unreadable {
            found.refuse(why);
        }
        self.clean_up(run.observer);
        let lists = found
            .contents
            .first()
            .map(|primary| primary.lists.as_slice());
        let exported = self.recorder.path.with_extension("edn");
        if let Err(error) = std::fs::write(&exported, edn(&history, lists)) {
            run.observer
                .note(&format!("{}: {error}", exported.display()));
        }
        let summary = LedgerSummary {
            stopped_at_s: match self.recorder.is_complete() {
                true => None,
                false => Some(history.last_s()),
            },
            ..check(&history, &found.contents, found.unread)
        };
        let own = faults.iter_mut();
        let own = own.filter(|fault| fault.instance == self.number);
        add_losses(&history, &found.contents, own.collect());
        (summary, unreadable)
    }

    /// Drops the tables of a server that dyno did not start.
    pub(crate) fn clean_up(&self, observer: &mut dyn Observer) {
        let cluster = self.cluster();
        if !cluster.is_started()
            && let Err(error) = tables::remove(&*cluster.primary().database)
        {
            observer.note(&error.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
