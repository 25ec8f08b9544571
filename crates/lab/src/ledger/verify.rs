//! Opens ledgers, starts their users, and verifies in the end what became of each transfer.

use std::thread::{Scope, ScopedJoinHandle};

use engine::data::ledger as tables;
use measure::fault::FaultRecord;
use measure::ledger::{Contents, History, LedgerSummary, Opening, check, edn, in_flight, losses};
use workload::ledger::{ACCOUNTS, APPENDERS, BALANCE};

use super::Ledger;
use super::appender::Appender;
use super::members;
use super::reader::Reader;
use super::recorder::Recorder;
use super::schedule::Schedule;
use super::user::User;
use crate::Run;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::rig::Rig;
use crate::threads;
use crate::trial::Trial;

/// Maximum number of transfers without a record in the history that are read from a member.
const MAX_FOREIGN: usize = 100_000;

/// The outcome of an instance's ledger.
pub(crate) struct Verified {
    pub(crate) summary: LedgerSummary,
    /// Why nothing could be judged: the history is unreadable.
    pub(crate) unreadable: Option<String>,
    history: History,
    contents: Vec<Contents>,
}

impl Verified {
    /// Adds what became of the transfers around each fault of its instance.
    pub(crate) fn add_to(&self, faults: Vec<&mut FaultRecord>) {
        let known: Vec<&FaultRecord> = faults.iter().map(|fault| &**fault).collect();
        let losses = losses(&self.history, &self.contents, &known);
        for (fault, loss) in faults.into_iter().zip(losses) {
            let (asked_s, effect_s) = (fault.asked_s, fault.effect_s);
            if let (Some(recovery), Some(effect_s)) = (&mut fault.recovery, effect_s) {
                let fates = in_flight(&self.history, &self.contents, asked_s, effect_s);
                (recovery.in_flight, recovery.loss) = (Some(fates), loss);
            }
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
    schedule: Schedule<'env>,
    ledgers: &'env [Ledger<'env>],
) -> Result<Vec<ScopedJoinHandle<'scope, ()>>, Failure> {
    let mut started = Vec::new();
    for ledger in ledgers {
        let mut spawn = |work: Box<dyn FnOnce() + Send + 'env>| {
            let name = format!("dyno-ledger-{}", ledger.number);
            started.push(threads::spawn(scope, name, work)?);
            Ok::<_, Failure>(())
        };
        for user in 1..=ledger.planned.users() {
            spawn(Box::new(move || User::new(ledger, schedule, user).run()))?;
        }
        for user in 1..=APPENDERS {
            spawn(Box::new(move || {
                Appender::new(ledger, schedule, user).run();
            }))?;
        }
        let members = u32::try_from(ledger.cluster().members().len()).unwrap_or(u32::MAX);
        if ledger.planned.replica_reads > 0.0 && members > 1 {
            for member in 0..members {
                spawn(Box::new(move || {
                    Reader::new(ledger, schedule, member).run()
                }))?;
            }
        }
    }
    Ok(started)
}

impl Ledger<'_> {
    /// Determines what became of each transfer, and drops the tables of a server that dyno did not
    /// start.
    pub(crate) fn verify(self, run: &mut Run<'_>) -> Verified {
        run.observer.stage("checking the ledger");
        let path = self.recorder.path().display();
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
        let exported = self.recorder.path().with_extension("edn");
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
        Verified {
            summary,
            unreadable,
            history,
            contents: found.contents,
        }
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
