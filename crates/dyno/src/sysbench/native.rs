//! The tests that need no database.

use std::sync::Arc;
use std::time::Duration;

use ::load::{Barrier, LoadSpec};
use sysbench::native::{FileSet, Native};
use sysbench::options::{OptionError, declarations, test_help};
use sysbench::report::Level;
use workload::virtual_user::Workload;

use super::reports::Reports;
use super::{DONE, Invocation};

pub(super) fn run(it: &mut Invocation, test: &str) -> Result<u8, OptionError> {
    let implemented = match test {
        "fileio" => &["run", "prepare", "cleanup"][..],
        _ => &["run"],
    };
    let command = it.line.command_of(test, implemented)?.to_owned();
    let declared = declarations(it.line.dialect, test);
    it.line.finish(Some(&declared))?;
    let values = &it.line.values;
    let line = &mut |text: &str| it.log.message(Level::Notice, text);
    match command.as_str() {
        "run" => return measure(it, test),
        "prepare" => FileSet::new(values)?.prepare(line)?,
        "cleanup" => FileSet::new(values)?.cleanup(line)?,
        _ => it.log.report(&test_help(test, &declared)),
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
    let spec = LoadSpec {
        events: it
            .general
            .events
            .filter(|_| native.events_per_thread.is_none())
            .map(u64::from),
        batch_scheduling: false,
        grace: it.general.forced_shutdown.unwrap_or(Duration::MAX),
        ..it.spec(true)
    };
    let connector = Arc::new(native.clone());
    it.measure(spec, reports, &|spec, stop, tell| {
        ::load::run(
            spec,
            &connector,
            &native,
            &Barrier::new(1),
            stop,
            None,
            tell,
        )
    })
}
