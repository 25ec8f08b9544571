//! Parts of a trial with numbers of their own: the workloads of a mix, and the phases of a load.

use plan::Load;
use serde::{Deserialize, Serialize};

use crate::interval::{Part, half_width};
use crate::latency::{LatencySummary, TotalLatency};
use crate::slice::{Second, SecondTotals};
use crate::summary::Rate;

/// The transactions of one workload, or of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartSummary {
    /// Name of the workload, or the phase as in the study, such as `spike: 10s 1000/s`.
    pub name: String,
    /// When a phase began, in seconds on the trial's clock; `None` for a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    pub transactions: Rate,
    /// The percentiles of a workload are accurate to 1 %.
    pub response_ms: Option<LatencySummary>,
}

/// The workloads of a mix, with the response times of each.
pub(crate) fn by_workload(
    load: &Load,
    responses: &[TotalLatency],
    seconds: &[SecondTotals],
) -> Vec<PartSummary> {
    let mix = load.mix().filter(|mix| mix.parts.len() > 1);
    let parts = mix.map_or_else(Vec::new, |mix| mix.parts);
    let parts = parts.into_iter().zip(responses).enumerate();
    let summaries = parts.map(|(kind, ((name, _), response))| {
        let of_kind = seconds.iter().map(|second| Part {
            total: second.kinds.get(kind).copied().unwrap_or(0) as f64,
            weight: second.transactions.weight,
        });
        PartSummary {
            name,
            start_s: None,
            transactions: Rate::of(&of_kind.collect::<Vec<_>>()),
            response_ms: LatencySummary::of(response, None),
        }
    });
    summaries.collect()
}

/// The phases of a load, while its seconds arrive.
#[derive(Debug, Clone, Default)]
pub(crate) struct PhaseTotals {
    /// Each phase as in the study, and its end in nanoseconds from the start of the measurement.
    planned: Vec<(String, u64)>,
    /// When each phase began, the number of seconds before it, and its response times.
    begun: Vec<(u64, usize, TotalLatency)>,
}

impl PhaseTotals {
    pub(crate) fn of(load: &Load) -> Self {
        let mut end_ns = 0;
        let phases = load.phases().map_or_else(Vec::new, |phases| phases.list);
        let planned = phases.into_iter().map(|phase| {
            end_ns += phase.time.as_secs() * 1_000_000_000;
            (phase.text, end_ns)
        });
        Self {
            planned: planned.collect(),
            begun: Vec::new(),
        }
    }

    /// Adds a measured second after `before` others. It belongs to the phase at its middle, because
    /// it ends some milliseconds late.
    pub(crate) fn add(&mut self, second: &Second, before: usize) {
        let start_ns = second.start_ns;
        let first = self.begun.first();
        let begin_ns = first.map_or(start_ns, |(first_ns, ..)| *first_ns);
        let middle_ns = u64::midpoint(start_ns, second.end_ns);
        let is_over = |(_, end_ns): &(String, u64)| begin_ns + end_ns <= middle_ns;
        let over = self.planned.partition_point(is_over);
        // A long second may skip phases.
        let begun = (over + 1).min(self.planned.len()).max(self.begun.len());
        self.begun
            .resize(begun, (start_ns, before, TotalLatency::default()));
        if let Some((.., response)) = self.begun.last_mut() {
            response.accumulate(&second.slice.response);
        }
    }

    /// Of all phases that have begun, which have these seconds.
    pub(crate) fn summaries(&self, seconds: &[SecondTotals]) -> Vec<PartSummary> {
        let ends = self.begun.iter().skip(1).map(|(_, before, _)| *before);
        let ends = ends.chain([seconds.len()]);
        let parts = self.planned.iter().zip(&self.begun).zip(ends);
        let summaries = parts.map(|(((name, _), (start_ns, first, response)), end)| {
            let seconds = seconds.get(*first..end).unwrap_or_default();
            let counts: Vec<Part> = seconds.iter().map(|second| second.transactions).collect();
            let times: Vec<Part> = seconds.iter().map(|second| second.response_ms).collect();
            PartSummary {
                name: name.clone(),
                start_s: Some(*start_ns as f64 / 1e9),
                transactions: Rate::of(&counts),
                response_ms: LatencySummary::of(response, half_width(&times)),
            }
        });
        summaries.collect()
    }
}

#[cfg(test)]
mod tests {
    use plan::Trial;
    use proptest::prelude::*;

    use super::*;
    use crate::latency::Latency;
    use crate::setup::Setup;
    use crate::slice::{Phase, Slice};
    use crate::summarize::Summarizer;
    use crate::summary::TrialSummary;

    /// A second that ends up to 4 ms late, with transactions of two kinds.
    fn second(number: u64, counts: [u64; 2]) -> Second {
        let mut slice = Slice::of_kinds(0, 2);
        for (kind, count) in counts.into_iter().enumerate() {
            for i in 0..count {
                let response_ns = 1_000_000 * (1 + number + i + 10 * kind as u64);
                slice.response.record(response_ns);
                slice.kinds[kind].record(response_ns);
            }
        }
        let at_ns = |number: u64| number * 1_000_000_000 + 7 * number % 5 * 1_000_000;
        Second {
            start_ns: at_ns(number),
            end_ns: at_ns(number + 1),
            phase: Phase::Measure,
            slice,
            backlog: None,
            workers: Vec::new(),
        }
    }

    fn planned(phases: Option<&str>, workload: &str) -> Trial {
        let mut planned = crate::check::tests::trial().setup.planned;
        planned.load.phase = phases.map(str::to_owned);
        planned.load.workload.value = workload.to_owned();
        planned
    }

    fn summarized(planned: &Trial, seconds: &[Second]) -> TrialSummary {
        let mut gather = Summarizer::new(&[]).in_phases_of(&planned.load);
        seconds.iter().for_each(|second| gather.add(second));
        gather.finish(TrialSummary::new(Setup::new(planned)))
    }

    #[test]
    fn workloads_of_a_mix_are_summarized_apart() {
        let seconds: Vec<Second> = (0..20).map(|n| second(n, [30 + n % 3, 10])).collect();
        let found = summarized(&planned(None, "reads:3, writes:1"), &seconds);
        let [reads, writes] = found.by_workload.as_slice() else {
            panic!("{:?}", found.by_workload)
        };
        assert_eq!(
            (reads.name.as_str(), writes.name.as_str()),
            ("reads", "writes")
        );
        assert_eq!(writes.transactions.count, 200);
        assert!(reads.transactions.per_s.unwrap().half_width.is_some());
        let all = reads.transactions.count + writes.transactions.count;
        assert_eq!(found.transactions.count, all);
        assert_eq!(found.by_phase, []);
        // A single workload has nothing to tell apart.
        assert_eq!(
            summarized(&planned(None, "reads"), &seconds).by_workload,
            []
        );
    }

    #[test]
    fn each_phase_is_steady_though_the_load_is_not() {
        let seconds = |n| second(n, [if n < 15 { 20 } else { 200 + n % 2 }, 0]);
        let seconds: Vec<Second> = (0..30).map(seconds).collect();
        let found = summarized(&planned(Some("15s 20/s, up: 15s 200/s"), "reads"), &seconds);
        assert_eq!((&found.steady, found.warnings.as_slice()), (&None, &[][..]));
        assert_eq!(found.transactions.per_s.unwrap().half_width, None);
        let [low, high] = found.by_phase.as_slice() else {
            panic!("{:?}", found.by_phase)
        };
        assert_eq!(low.transactions.per_s.unwrap().value.round(), 20.0);
        assert!(high.transactions.per_s.unwrap().half_width.is_some());
        assert_eq!(
            (high.name.as_str(), high.start_s),
            ("up: 15s 200/s", Some(15.0))
        );
    }

    proptest! {
        /// Whatever the phases, each has what its seconds recorded, and no second is left out.
        #[test]
        fn phases_have_the_histograms_of_their_seconds(
            lengths in proptest::collection::vec(1..6_u64, 1..5),
            counts in proptest::collection::vec(0..9_u64, 30),
        ) {
            let texts: Vec<String> = lengths.iter().map(|s| format!("{s}s 10/s")).collect();
            let planned = planned(Some(&texts.join(", ")), "reads");
            let all: u64 = lengths.iter().sum();
            let seconds: Vec<Second> = (0..all)
                .map(|number| second(number, [counts[number as usize], 0]))
                .collect();
            let found = summarized(&planned, &seconds).by_phase;
            prop_assert_eq!(found.len(), lengths.len());
            let mut rest = seconds.as_slice();
            for (phase, length) in found.iter().zip(&lengths) {
                let (own, later) = rest.split_at(*length as usize);
                rest = later;
                let mut merged = Latency::new();
                own.iter().for_each(|second| merged.merge(&second.slice.response));
                prop_assert_eq!(phase.transactions.count, merged.count());
                let expected = LatencySummary::of(&merged, None);
                let of = |times: LatencySummary| [times.mean.value, times.p95, times.p99];
                prop_assert_eq!(phase.response_ms.map(of), expected.map(of));
            }
        }
    }
}
