//! Summarizes the seconds of a trial.

use plan::{Load, ReplyTime, StatementClass};

use crate::check;
use crate::compare::TURNS;
use crate::curve::curve;
use crate::interval::{Part, half_width, sum};
use crate::latency::{TotalLatency, ms};
use crate::parts::{PhaseTotals, by_workload};
use crate::quantile::Stretches;
use crate::setup::{Ended, StatementKind};
use crate::slice::{Busy, Phase, Second, SecondTotals, TotalSlice};
use crate::steady::Steady;
use crate::summary::{
    ErrorSummary, Generator, LatencySummary, Lookups, Rate, StatementSummary, TrialSummary,
};
use crate::verdict;

/// Collects the seconds of a trial as they end.
///
/// It keeps the merged histograms, those of a few parts of the run, and a few numbers for each
/// second, so that even a run of several days needs little memory.
#[derive(Debug, Clone)]
pub struct Summarizer {
    kinds: Vec<StatementKind>,
    total: TotalSlice,
    pub(crate) seconds: Vec<SecondTotals>,
    /// Transactions and length of each second.
    warmup: Vec<Part>,
    responses: Stretches,
    services: Stretches,
    phases: PhaseTotals,
}

/// The summary of a trial with all its seconds.
pub fn summarize(trial: TrialSummary, kinds: &[StatementKind], seconds: &[Second]) -> TrialSummary {
    let mut gather = Summarizer::new(kinds);
    for second in seconds {
        gather.add(second);
    }
    gather.finish(trial)
}

impl Summarizer {
    /// A summary of a load with these kinds of statement.
    pub fn new(kinds: &[StatementKind]) -> Self {
        Self {
            kinds: kinds.to_vec(),
            total: TotalSlice::new(kinds.len()),
            seconds: Vec::new(),
            warmup: Vec::new(),
            responses: Stretches::new(),
            services: Stretches::new(),
            phases: PhaseTotals::default(),
        }
    }

    /// Also summarizes the phases of the load, if it has any.
    pub fn in_phases_of(self, load: &Load) -> Self {
        let phases = PhaseTotals::of(load);
        Self { phases, ..self }
    }

    /// Adds one second. Only seconds of the measure phase count; those of the warm-up show when the
    /// load became steady.
    pub fn add(&mut self, second: &Second) {
        match second.phase {
            Phase::Measure => self.measured(second),
            Phase::Warmup => push_throughput(&mut self.warmup, second),
            Phase::Drain => {}
        }
    }

    fn measured(&mut self, second: &Second) {
        let slice = &second.slice;
        self.total.accumulate(slice);
        self.phases.add(second, self.seconds.len());
        let brief = SecondTotals::of(second);
        match self.seconds.last_mut() {
            Some(last) if second.is_partial() => {
                last.extend(&brief);
                self.responses.extend(&slice.response);
                self.services.extend(&slice.service);
            }
            _ => {
                self.seconds.push(brief);
                self.responses.add(&slice.response);
                self.services.add(&slice.service);
            }
        }
    }

    /// Fills in what the seconds show of a trial, whose setup, metrics, and end are known.
    pub fn finish(&self, mut trial: TrialSummary) -> TrialSummary {
        // Time stamps may be missing although the study asked for them: a Unix socket has none.
        if self.total.delay.count() == 0 {
            trial.setup.reply_time = ReplyTime::Program;
        }
        let transactions = self.parts(|second| second.transactions);
        let measured_s = sum(&transactions).weight;
        let mut summary = TrialSummary {
            measured_s,
            transactions: Rate::of(&transactions),
            statements: Rate::of(&self.parts(|second| second.statements)),
            reads: self.count_of(StatementClass::Read),
            writes: self.count_of(StatementClass::Write),
            others: self.count_of(StatementClass::Other),
            response_ms: self.latency(&self.total.response, &self.responses, |second| {
                second.response_ms
            }),
            service_ms: self.latency(&self.total.service, &self.services, |second| {
                second.service_ms
            }),
            response_curve: curve(&self.total.response),
            by_statement: self.statements(measured_s),
            by_workload: by_workload(&trial.setup.planned.load, &self.total.kinds, &self.seconds),
            by_phase: self.phases.summaries(&self.seconds),
            errors: self.errors(),
            reconnects: self.total.reconnects,
            lookups: self.lookups(),
            generator: self.generator(measured_s),
            steady: Steady::of(&self.warmup, &transactions),
            ..trial
        };
        let takes_turns = summary.setup.planned.turns().is_some();
        if takes_turns || summary.setup.planned.load.phase.is_some() {
            without_series(&mut summary);
        }
        if takes_turns && !summary.setup.planned.server.is_restarted() {
            summary.response_replicates_ms = self.responses.replicates(TURNS);
        }
        // Chance may have made the intervals narrower than at the check that ended it (`until.rs`).
        if let Some(Ended::Sure { reached, .. }) = summary.ended {
            for mean in summary.means_mut() {
                mean.half_width = mean.half_width.map(|half| half.max(reached * mean.value));
            }
        }
        summary.little = check::little(&summary, &self.total.response, &self.seconds);
        summary.warnings = check::find(&summary, &self.seconds);
        // Without monitors there is no verdict, nor where they also saw the turns of other variants.
        let has_facts = !summary.metrics.is_empty() && summary.setup.planned.turns().is_none();
        summary.verdict = has_facts.then(|| verdict::find(&summary));
        summary
    }

    fn parts(&self, of: impl Fn(&SecondTotals) -> Part) -> Vec<Part> {
        self.seconds.iter().map(of).collect()
    }

    fn latency(
        &self,
        latency: &TotalLatency,
        stretches: &Stretches,
        of: impl Fn(&SecondTotals) -> Part,
    ) -> Option<LatencySummary> {
        let summary = LatencySummary::of(latency, half_width(&self.parts(of)))?;
        Some(LatencySummary {
            p95_range: stretches.range_ms(latency, 0.95),
            p99_range: stretches.range_ms(latency, 0.99),
            ..summary
        })
    }

    fn count_of(&self, class: StatementClass) -> u64 {
        let all = self.kinds.iter().zip(&self.total.statements);
        let of_class = all.filter(|(kind, _)| kind.class == class);
        of_class.map(|(_, latency)| latency.count()).sum()
    }

    fn statements(&self, measured_s: f64) -> Vec<StatementSummary> {
        let sent = self.kinds.iter().zip(&self.total.statements);
        sent.filter(|(_, latency)| latency.count() > 0)
            .map(|(kind, latency)| StatementSummary {
                name: kind.name.clone(),
                class: kind.class,
                count: latency.count(),
                per_s: finite(latency.count() as f64 / measured_s),
                latency_ms: LatencySummary::of(latency, None),
            })
            .collect()
    }

    fn errors(&self) -> Vec<ErrorSummary> {
        let errors = self.total.errors.iter();
        errors
            .map(|(code, error)| ErrorSummary {
                code: code.clone(),
                count: error.count,
                action: error.action.clone(),
                example: error.example.clone(),
            })
            .collect()
    }

    fn lookups(&self) -> Lookups {
        let (count, missed) = (self.total.lookups, self.total.misses);
        Lookups {
            count,
            missed,
            missed_share: finite(missed as f64 / count as f64),
        }
    }

    fn generator(&self, measured_s: f64) -> Generator {
        let backlogs = || self.seconds.iter().filter_map(|second| second.backlog);
        Generator {
            workers: self.workers(measured_s),
            lateness_p99_ms: self.total.lateness.quantile_ns(0.99).map(ms),
            lateness_max_ms: self.total.lateness.max_ns().map(ms),
            delay_ms: LatencySummary::of(&self.total.delay, None),
            refused_stamps: self.total.refused_stamps,
            backlog_peak: backlogs().max(),
            backlog_end: backlogs().next_back(),
        }
    }

    /// Mean shares of each worker. Seconds are weighted by their length.
    fn workers(&self, measured_s: f64) -> Vec<Busy> {
        let count = self.seconds.iter().map(|second| second.workers.len()).max();
        let mut mean = vec![Busy::default(); count.unwrap_or(0)];
        for second in &self.seconds {
            for (sum, busy) in mean.iter_mut().zip(&second.workers) {
                let weight = finite(second.transactions.weight / measured_s).unwrap_or(0.0);
                sum.running += finite(busy.running).unwrap_or(0.0) * weight;
                sum.waiting += finite(busy.waiting).unwrap_or(0.0) * weight;
            }
        }
        mean
    }
}

/// Blocks with gaps between them are no series: nothing is known of how they depend on each other.
/// The seconds of several phases have no common mean.
fn without_series(summary: &mut TrialSummary) {
    summary.steady = None;
    summary.means_mut().for_each(|mean| mean.half_width = None);
    let rates = summary.by_workload.iter_mut();
    let rates = rates.filter_map(|part| part.transactions.per_s.as_mut());
    rates.for_each(|per_s| per_s.half_width = None);
    let times = [&mut summary.response_ms, &mut summary.service_ms];
    for times in times.into_iter().flatten() {
        (times.p95_range, times.p99_range) = (None, None);
    }
}

/// Adds a second; a partial one is merged with the previous one.
pub fn push_throughput(seconds: &mut Vec<Part>, second: &Second) {
    let part = second.throughput();
    match seconds.last_mut() {
        Some(last) if second.is_partial() => *last += part,
        _ => seconds.push(part),
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}
