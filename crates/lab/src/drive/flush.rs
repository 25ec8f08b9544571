//! After a load that writes: the servers write what they have postponed, such as changed pages, and the
//! time is measured. A server that postpones more looks faster in a short trial than it is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::{Flush, Sql};
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use plan::StatementClass;
use workload::session::SessionError;

use crate::{Database, Rig, Run, Trial, threads};

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Flushes the servers that took the writes, and adds the time to the summary; only in a comparison of
/// whole trials, whose variants begin with clean data.
pub(crate) fn flush(trial: &Trial, rig: &Rig, summary: &mut TrialSummary, run: &mut Run<'_>) {
    let is_compared = trial.planned.compare.is_some_and(|one| !one.alternates());
    let kinds = trial.statement_kinds();
    let mut classes = kinds.iter().map(|kind| kind.class);
    if !is_compared
        || summary.outcome != Outcome::Completed
        || !classes.any(|class| class == StatementClass::Write)
    {
        return;
    }
    run.observer
        .stage("writing what the servers have postponed");
    let begin = Instant::now();
    let databases = rig
        .instances
        .iter()
        .map(|one| &one.cluster.primary().database);
    let interrupted = run.interrupted;
    let flushed = std::thread::scope(|scope| {
        let flushing = databases.map(|database| {
            let flush = move || of_server(database, interrupted);
            threads::spawn(scope, "dyno-flush".to_owned(), flush)
        });
        let flushing: Vec<_> = flushing.collect();
        let flushed = flushing.into_iter().map(|thread| match thread {
            Ok(thread) => threads::join(thread),
            Err(failure) => Err(failure.message),
        });
        flushed.collect::<Vec<_>>()
    });
    match flushed.into_iter().find_map(Result::err) {
        None => summary.flush_s = Some(begin.elapsed().as_secs_f64()),
        Some(reason) => summary.warnings.push(Warning::NotFlushed { reason }),
    }
}

fn of_server(database: &Database, interrupted: &AtomicBool) -> Result<(), String> {
    let flush = &database.engine().about().flush;
    let connection = database.connect(LIMIT);
    let mut connection = connection.map_err(|error| error.to_string())?;
    let run_all = |connection: &mut dyn Sql, statements: &[&str]| {
        let mut statements = statements.iter();
        statements.try_for_each(|sql| connection.rows(sql, LIMIT).map(drop))
    };
    let flushed = run_all(&mut *connection, flush.start)
        .map_err(|error| error.to_string())
        .and_then(|()| wait(&mut *connection, flush, interrupted));
    let restored = run_all(&mut *connection, flush.restore);
    flushed.and(restored.map_err(|error: SessionError| error.to_string()))
}

fn wait(connection: &mut dyn Sql, flush: &Flush, interrupted: &AtomicBool) -> Result<(), String> {
    let Some(query) = flush.left else {
        return Ok(());
    };
    let deadline = Instant::now() + LIMIT;
    loop {
        let rows = connection
            .rows(query, LIMIT)
            .map_err(|error| error.to_string())?;
        let last = rows
            .into_iter()
            .next()
            .and_then(|mut row| row.pop())
            .flatten();
        match last.as_deref() {
            Some("0") => return Ok(()),
            None => return Err(format!("the server does not answer {query}")),
            Some(_) if interrupted.load(Ordering::Relaxed) => return Err("interrupted".to_owned()),
            Some(left) if Instant::now() >= deadline => {
                return Err(format!("{left} pages are left after {} s", LIMIT.as_secs()));
            }
            Some(_) => sleep(POLL_INTERVAL),
        }
    }
}
