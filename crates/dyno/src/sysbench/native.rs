//! The tests that need no database.

use std::sync::Arc;
use std::time::Duration;

use ::load::{Barrier, LoadSpec};
use sysbench::native::{FileSet, Native};
use sysbench::options::OptionError;
use sysbench::report::Level;
use workload::virtual_user::Workload;

use super::reports::Reports;
use super::{DONE, Invocation};

pub(super) fn run(it: &mut Invocation, test: &str) -> Result<u8, OptionError> {
    let implemented = match test {
        "fileio" => &["run", "prepare", "cleanup"][..],
        _ => &["run"],
    };
    let Some(command) = it.command(test, implemented, it.line.dialect)? else {
        return Ok(DONE);
    };
    let line = &mut |text: &str| it.log.message(Level::Notice, text);
    match command.as_str() {
        "prepare" => FileSet::new(&it.line.values)?.prepare(line)?,
        "cleanup" => FileSet::new(&it.line.values)?.cleanup(line)?,
        _ => return measure(it, test),
    }
    Ok(DONE)
}

fn measure(it: &mut Invocation, test: &str) -> Result<u8, OptionError> {
    let threads = it.general.threads;
    let native = Native::new(test, &it.line.values, threads, it.seed)?;
    let mut reports = Reports::new(it, test, &native.catalog().labels);
    reports.request_bytes = native.request_bytes();
    if test == "fileio" {
        let flags = FileSet::new(&it.line.values)?.open_flags();
        reports.report.facts.insert("open-flags", flags);
    }
    // Events block.
    let spec = it.spec(true);
    let spec = LoadSpec {
        events: spec.events.filter(|_| native.events_per_thread.is_none()),
        batch_scheduling: false,
        grace: it.general.forced_shutdown.unwrap_or(Duration::MAX),
        ..spec
    };
    let connector = Arc::new(native.clone());
    it.measure(spec, reports, &|spec, stop, tell| {
        let barrier = &Barrier::new(1);
        ::load::run(spec, &connector, &native, barrier, stop, None, tell)
    })
}
