//! What sysbench prints of a run, made of the load's seconds.

use std::collections::BTreeMap;
use std::iter::zip;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::load::Tally;
use ::script::lua::LuaScript;
use measure::setup::{Outcome, Unfinished};
use measure::slice::{Phase, Second, TotalSlice};
use plan::StatementClass;
use sysbench::options::General;
use sysbench::report::{Report, fairness, histogram};
use workload::catalog::Labels;

use super::Invocation;
use super::record::Record;
use crate::failure::Failure;

/// How much earlier than a report is due its last second may end.
const TOLERANCE_S: f64 = 0.5;
/// What the load does after errors that sysbench counts as reconnects only.
const RECONNECTED: &str = "reconnected";

/// The reports of a run. Functions return whole lines.
pub(super) struct Reports {
    pub(super) report: Report,
    general: General,
    /// Of the statements, in the order of their labels.
    classes: Vec<StatementClass>,
    pub(super) tally: Arc<Tally>,
    /// Of each read and write of a file.
    pub(super) request_bytes: u64,
    /// The global state of a script.
    pub(super) script: Option<LuaScript>,
    /// The names of its hooks, some of which print reports.
    pub(super) hooks: Vec<String>,
    pub(super) record: Option<Record>,
    /// Since the run began.
    now_s: f64,
    backlog: Option<u64>,
    /// Since the last intermediate report.
    interval: Period,
    /// Since the last checkpoint.
    total: Period,
}

/// What has happened since a report.
struct Period {
    begin_s: f64,
    slice: TotalSlice,
    /// What the script had counted by then: see [`LuaScript::counters`].
    counted: [u64; 7],
    /// What the users had done by then.
    users: Vec<(u64, u64)>,
}

impl Reports {
    /// `test` is that of [`Report::facts`].
    pub(super) fn new(it: &Invocation, test: &str, labels: &Labels) -> Self {
        let threads = it.general.threads;
        let period = || Period {
            begin_s: 0.0,
            slice: TotalSlice::new(labels.count()),
            counted: [0; 7],
            users: vec![(0, 0); threads as usize],
        };
        Self {
            report: Report {
                dialect: it.line.dialect,
                values: it.line.values.clone(),
                facts: facts(it, test),
            },
            general: it.general.clone(),
            classes: labels.iter().map(|(_, class)| class).collect(),
            tally: Arc::new(Tally::new(threads)),
            request_bytes: 0,
            script: None,
            hooks: Vec::new(),
            record: None,
            now_s: 0.0,
            backlog: None,
            interval: period(),
            total: period(),
        }
    }

    /// Adds a second; returns the reports that are due.
    pub(super) fn second(&mut self, second: &Second) -> String {
        if let Some(record) = &mut self.record {
            record.second(second);
        }
        if second.phase == Phase::Warmup {
            (self.interval, self.total) = (self.period(), self.period());
            return String::new();
        }
        self.now_s += second.length_ns() as f64 / 1e9;
        self.backlog = second.backlog;
        self.interval.slice.accumulate(&second.slice);
        self.total.slice.accumulate(&second.slice);
        if self.counted()[6] > 0 {
            // The script uses a database.
            self.report.facts.insert("test", "sql".to_owned());
        }
        match second.phase {
            Phase::Measure => self.due(),
            _ => String::new(),
        }
    }

    fn due(&mut self) -> String {
        let (mut text, now_s) = (String::new(), self.now_s + TOLERANCE_S);
        let (length, begin_s) = (self.general.report_interval, self.interval.begin_s);
        if length.is_some_and(|length| now_s >= begin_s + length.as_secs_f64()) {
            let stat = self.stat(&self.interval);
            text += &self.printed("report_intermediate", &stat, Report::interval);
            self.interval = self.period();
        }
        let next = self.general.checkpoints.first();
        if next.is_some_and(|next| now_s >= next.as_secs_f64()) {
            text += &self.cumulative(("checkpoint", 1.0));
            self.general.checkpoints.remove(0);
            self.total = self.period();
        }
        text
    }

    /// The final reports; `unfinished` transactions were cut off.
    pub(super) fn finish(&self, unfinished: u64) -> String {
        let mut text = String::new();
        if self.report.values.bool("histogram") {
            let buckets = self.total.slice.response.histogram().iter_recorded();
            text = histogram(buckets.map(|bucket| {
                let latency_ms = bucket.value_iterated_to() as f64 / 1e6;
                (latency_ms, bucket.count_since_last_iteration())
            }));
        }
        text + &self.cumulative(("unfinished", unfinished as f64))
    }

    /// Ends what dyno writes itself.
    pub(super) fn close(self, outcome: Outcome, unfinished: Unfinished) -> Result<(), Failure> {
        let record = self.record;
        record.map_or(Ok(()), |record| record.end(outcome, unfinished))
    }

    /// Removes what dyno has written of a run that failed. It may begin again.
    pub(super) fn discard(&mut self) {
        if let Some(record) = self.record.take() {
            record.results.discard();
        }
    }

    fn cumulative(&self, more: (&'static str, f64)) -> String {
        let (total, response) = (&self.total, &self.total.slice.response);
        let [min, max] = [response.min_ns(), response.max_ns()].map(|ns| ns.unwrap_or(0) as f64);
        let mut stat = self.stat(total);
        stat.extend([
            ("latency_min", min / 1e9),
            ("latency_avg", response.mean_ns().unwrap_or(0.0) / 1e9),
            ("latency_max", max / 1e9),
            ("latency_sum", response.sum_ns() as f64 / 1e9),
            more,
        ]);
        let users = zip(self.tally.totals(), &total.users);
        let users = users.map(|(now, then)| (now.0 - then.0, (now.1 - then.1) as f64 / 1e9));
        stat.extend(fairness(&users.collect::<Vec<_>>()));
        self.printed("report_cumulative", &stat, Report::cumulative)
    }

    /// A report, unless a hook of the script prints its own.
    fn printed(
        &self,
        hook: &str,
        stat: &[(&'static str, f64)],
        print: fn(&Report, &[(&str, f64)]) -> String,
    ) -> String {
        let has_hook = self.hooks.iter().any(|known| known == hook);
        match self.script.as_ref().filter(|_| has_hook) {
            None => print(&self.report, stat),
            Some(script) => match script.report(hook, stat) {
                Ok(()) => String::new(),
                Err(error) => format!("FATAL: {error}\n"),
            },
        }
    }

    /// A period that begins now.
    fn period(&self) -> Period {
        Period {
            begin_s: self.now_s,
            slice: TotalSlice::new(self.classes.len()),
            counted: self.counted(),
            users: self.tally.totals(),
        }
    }

    /// What the script has counted.
    fn counted(&self) -> [u64; 7] {
        let Some(script) = &self.script else {
            return [0; 7];
        };
        let counters = script.counters().each_ref();
        counters.map(|count| count.load(Ordering::Relaxed))
    }

    /// What reports and hooks get; a script's own counts are added to those of the load.
    fn stat(&self, period: &Period) -> Vec<(&'static str, f64)> {
        let (slice, seconds) = (&period.slice, self.now_s - period.begin_s);
        let now = self.counted();
        let own = |counter: usize| (now[counter] - period.counted[counter]) as f64;
        let statements = |class: StatementClass| {
            let timed = zip(&self.classes, &slice.statements).filter(|(of, _)| **of == class);
            timed.map(|(_, times)| times.count()).sum::<u64>() as f64
        };
        let reads = statements(StatementClass::Read) + own(1);
        let writes = statements(StatementClass::Write) + own(2);
        let errors = slice.errors.values();
        let ignored = errors.filter(|error| error.action != RECONNECTED);
        let ignored: u64 = ignored.map(|error| error.count).sum();
        let quantile = f64::from(self.general.percentile) / 100.0;
        let percentile_ns = slice.response.quantile_ns(quantile).unwrap_or(0);
        let mut stat = vec![
            ("time_total", self.now_s),
            ("time_interval", seconds),
            ("threads_running", self.general.threads.into()),
            ("events", slice.response.count() as f64 + own(3)),
            ("reads", reads),
            ("writes", writes),
            ("other", statements(StatementClass::Other) + own(0)),
            ("errors", ignored as f64 + own(4)),
            ("reconnects", slice.reconnects as f64 + own(5)),
            ("bytes_read", reads * self.request_bytes as f64),
            ("bytes_written", writes * self.request_bytes as f64),
            ("latency_pct", percentile_ns as f64 / 1e9),
        ];
        if let Some(waiting) = self.backlog {
            // Little's law.
            let running = slice.service.sum_ns() as f64 / 1e9 / seconds;
            stat.extend([
                ("queue_length", waiting as f64),
                ("concurrency", running.round()),
            ]);
        }
        stat
    }
}

fn facts(it: &Invocation, test: &str) -> BTreeMap<&'static str, String> {
    let general = &it.general;
    let checkpoints = it.line.values.list("report-checkpoints").join(", ");
    let mut facts = BTreeMap::from([
        ("test", test.to_owned()),
        ("report-checkpoints", checkpoints),
    ]);
    if let Some((time, grace)) = general.time.zip(general.forced_shutdown) {
        facts.insert("shutdown", (time + grace).as_secs().to_string());
    }
    facts
}
