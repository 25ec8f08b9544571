//! The flush after a load that writes: the servers write out what they have deferred, such as dirty pages,
//! and the time is measured. A server that defers more looks faster in a short trial than it is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use engine::{Flush, Sql};
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use workload::session::SessionError;

use crate::trial::Target;
use crate::{Database, Rig, Run, Trial};

/// Time limit of a flush.
const LIMIT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Flushes the servers that took the writes, and adds the time to the summary: only in a comparison of
/// whole trials, whose variants begin with clean data, and only servers that dyno started.
pub(crate) fn flush(trial: &Trial, rig: &Rig, summary: &mut TrialSummary, run: &mut Run<'_>) {
    let is_compared = trial.planned.compare.is_some_and(|one| !one.alternates());
    let is_own = !matches!(trial.target, Target::Given(_));
    if !is_compared || !is_own || summary.outcome != Outcome::Completed || !trial.writes() {
        return;
    }
    run.observer.stage("flushing the servers' deferred writes");
    let begin = Instant::now();
    match all(rig, begin + LIMIT, run.interrupted) {
        Ok(()) => summary.flush_s = Some(begin.elapsed().as_secs_f64()),
        // An incomplete trial is repeated when the study is resumed.
        Err(_) if run.interrupted.load(Ordering::Relaxed) => {
            summary.outcome = Outcome::Interrupted;
        }
        Err(reason) => summary.warnings.push(Warning::NotFlushed { reason }),
    }
}

/// Flushes all primaries at once, each in a thread that is abandoned if its server does not answer in time.
fn all(rig: &Rig, deadline: Instant, interrupted: &AtomicBool) -> Result<(), String> {
    let (sender, flushed) = channel();
    for instance in &rig.instances {
        let (sender, database) = (sender.clone(), instance.cluster.primary().database.clone());
        let flush = move || drop(sender.send(of_server(&database, deadline)));
        let thread = Builder::new().name("dyno-flush".to_owned()).spawn(flush);
        thread.map_err(|error| error.to_string())?;
    }
    drop(sender);
    for _ in &rig.instances {
        loop {
            match flushed.recv_timeout(POLL_INTERVAL) {
                Ok(done) => break done?,
                Err(RecvTimeoutError::Disconnected) => return Err("a thread panicked".to_owned()),
                Err(RecvTimeoutError::Timeout) if interrupted.load(Ordering::Relaxed) => {
                    return Err("interrupted".to_owned());
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline + POLL_INTERVAL => {
                    return Err(format!("no answer within {} s", LIMIT.as_secs()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
    Ok(())
}

fn of_server(database: &Database, deadline: Instant) -> Result<(), String> {
    let flush = &database.engine().about().flush;
    let connection = database.connect(LIMIT);
    let mut connection = connection.map_err(|error| error.to_string())?;
    let run_all = |connection: &mut dyn Sql, statements: &[&str]| {
        let mut statements = statements.iter();
        statements.try_for_each(|sql| connection.rows(sql, LIMIT).map(drop))
    };
    let flushed = run_all(&mut *connection, flush.start)
        .map_err(|error| error.to_string())
        .and_then(|()| wait(&mut *connection, flush, deadline));
    let restored = run_all(&mut *connection, flush.restore);
    flushed.and(restored.map_err(|error: SessionError| error.to_string()))
}

fn wait(connection: &mut dyn Sql, flush: &Flush, deadline: Instant) -> Result<(), String> {
    let Some((query, column)) = flush.left else {
        return Ok(());
    };
    loop {
        let rows = connection
            .rows(query, LIMIT)
            .map_err(|error| error.to_string())?;
        let left = rows.first().and_then(|row| row.get(column)?.as_deref());
        match left {
            Some("0") => return Ok(()),
            None => return Err(format!("the server returned nothing for {query}")),
            Some(left) if Instant::now() >= deadline => {
                let limit_s = LIMIT.as_secs();
                return Err(format!("{query} still returned {left} after {limit_s} s"));
            }
            Some(_) => sleep(POLL_INTERVAL),
        }
    }
}

#[cfg(test)]
#[path = "flush_tests.rs"]
mod tests;
