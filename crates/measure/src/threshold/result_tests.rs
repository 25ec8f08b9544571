use super::ThresholdVerdict::{Met, Missed, Undecided};
use super::*;
use crate::ledger::LedgerSummary;
use crate::setup::Outcome;
use crate::slice::ErrorSummary;

fn read(text: &str) -> Threshold {
    Threshold::parse_line(text).unwrap()
}

/// A trial with `tps` transactions per second.
fn trial(point: &[(&str, &str)], tps: f64) -> TrialSummary {
    let mut trial = crate::check::tests::trial();
    trial.setup.planned.point = point.iter().copied().collect();
    trial.transactions.per_s.as_mut().unwrap().value = tps;
    trial
}

/// A trial whose throughput has this interval.
fn with_interval(tps: f64, half_width: Option<f64>) -> TrialSummary {
    let mut trial = trial(&[], tps);
    trial.transactions.per_s.as_mut().unwrap().half_width = half_width;
    trial
}

fn sure(tps: f64, half_width: f64) -> TrialSummary {
    with_interval(tps, Some(half_width))
}

/// How a trial ends that failed.
fn failure() -> Outcome {
    Outcome::Failed {
        reason: "gone".into(),
    }
}

/// A ledger that found so many of 1,000 acknowledged transfers lost.
fn ledger(lost: u64) -> LedgerSummary {
    LedgerSummary {
        acknowledged: 1000,
        lost,
        checked: vec![1],
        ..LedgerSummary::default()
    }
}

fn of_variant(threshold: &str, trials: &[TrialSummary]) -> ThresholdResult {
    only(threshold, trials, Baseline::Variant("base"))
}

/// The result of a threshold on trials of a single point.
fn only(threshold: &str, trials: &[TrialSummary], baseline: Baseline<'_>) -> ThresholdResult {
    let mut results = judge(&[read(threshold)], trials, baseline);
    assert_eq!(results.len(), 1);
    results.remove(0)
}

fn told(results: &[ThresholdResult]) -> Vec<String> {
    results.iter().map(|j| j.verdict.to_string()).collect()
}

#[test]
fn a_point_is_judged_by_the_mean_over_its_repeats() {
    let trials = [
        trial(&[("threads", "1")], 99.9),
        trial(&[("threads", "2")], 200.0),
        trial(&[("threads", "1")], 100.1),
    ];
    let results = judge(&[read("tps >= 90")], &trials, Baseline::None);
    assert_eq!(told(&results), ["met", "met"]);
    let first = &results[0];
    assert_eq!((first.value, first.trials), (Some(100.0), 2));
    let missed = judge(&[read("tps > 110")], &trials, Baseline::None);
    assert_eq!(told(&missed), ["missed", "met"]);
    assert!(missed[0].is_missed() && missed[0].limit == Some(110.0));
}

#[test]
fn commits_that_one_repeat_lost_are_not_averaged_away() {
    let lossy = |lost| {
        let mut trial = trial(&[], 100.0);
        trial.ledgers = vec![ledger(lost)];
        trial
    };
    let result = |losses: [u64; 3]| {
        let trials = losses.map(lossy);
        only("ledger.lost <= 0", &trials, Baseline::None)
    };
    let found = result([0, 2, 0]);
    assert_eq!((found.value, found.trials), (Some(2.0), 3));
    assert_eq!(found.verdict, Missed);
    assert_eq!(result([0, 0, 0]).verdict, Met);
}

/// A trial that was observed for 20 s after its fault.
fn never_back() -> TrialSummary {
    let recovery = crate::fault::Recovery {
        window_s: 20.0,
        censored: vec!["recovery.back_s".to_owned()],
        ..crate::fault::Recovery::default()
    };
    let fault = serde_json::json!({
        "number": 1, "kind": "kill", "target": "primary", "instance": 1, "node": 1,
        "asked_s": 5.0, "effect_s": 5.0, "recovery": recovery,
    });
    let mut trial = trial(&[], 100.0);
    trial.faults = vec![serde_json::from_value(fault).unwrap()];
    trial
}

#[test]
fn a_time_that_was_still_to_come_is_judged_by_what_it_is_longer_than() {
    for (threshold, verdict) in [
        ("recovery.back_s < 10", Missed),
        ("recovery.back_s > 10", Met),
        ("recovery.back_s < 30", Undecided),
        ("recovery.back_s > 30", Undecided),
    ] {
        for repeats in [1, 3] {
            let trials = vec![never_back(); repeats];
            let found = only(threshold, &trials, Baseline::None);
            assert_eq!(
                (found.value, found.trials),
                (Some(20.0), repeats as u32),
                "{threshold}"
            );
            assert_eq!(found.verdict, verdict, "{threshold}");
        }
    }
}

#[test]
fn without_a_number_a_threshold_is_missed() {
    let mut failed = trial(&[], 500.0);
    failed.outcome = failure();
    let thresholds = [read("tps > 1"), read("psi.io.full < 5")];
    let results = judge(&thresholds, &[failed], Baseline::None);
    assert_eq!(told(&results), ["missed: not measured"; 2]);
    assert!(judge(&thresholds, &[], Baseline::None).is_empty());
}

#[test]
fn a_baseline_is_the_same_point_of_another_result() {
    let mut other_load = trial(&[("threads", "4")], 300.0);
    other_load.setup.planned.load.workload.value = "oltp_insert".into();
    let mut other_engine = trial(&[("threads", "8")], 300.0);
    other_engine.setup.engine = "Other 3".into();
    let base = [
        trial(&[("threads", "1"), ("rows", "9")], 100.0),
        trial(&[("threads", "2")], 200.0),
        other_load,
        other_engine,
    ];
    let trials = [
        trial(&[("rows", "9"), ("threads", "1")], 120.0),
        trial(&[("threads", "2")], 150.0),
        trial(&[("threads", "3")], 300.0),
        trial(&[("threads", "4")], 300.0),
        trial(&[("threads", "8")], 300.0),
    ];
    let thresholds = [read("tps >= 0.95 * baseline")];
    let results = judge(&thresholds, &trials, Baseline::Trials(&base));
    assert_eq!(
        told(&results),
        [
            "undecided",
            "undecided",
            "missed: the baseline has no such point",
            "missed: the baseline ran a different workload: load.workload oltp_insert, here oltp_read_write",
            "missed: the baseline is of Other",
        ]
    );
    assert_eq!(results[1].limit, Some(190.0));
    assert_eq!(results[1].caveats, [Caveat::NotInterleaved]);
    let alone = judge(&thresholds, &trials[..1], Baseline::None);
    assert_eq!(told(&alone), ["missed: the baseline has no such point"]);
}

/// The engine of a server that did not start is unknown.
#[test]
fn a_baseline_that_failed_was_not_measured() {
    let mut failed = trial(&[], 300.0);
    failed.setup.engine = String::new();
    failed.outcome = failure();
    let here = [trial(&[], 300.0)];
    let base = [failed.clone()];
    let verdict = only("tps >= baseline", &here, Baseline::Trials(&base)).verdict;
    assert_eq!(verdict.to_string(), "missed: not measured in the baseline");
    let verdict = only("tps >= baseline", &[failed], Baseline::Trials(&here)).verdict;
    assert_eq!(verdict.to_string(), "missed: not measured");
}

/// The variants of one study may differ in their rows; two results may not.
#[test]
fn a_baseline_of_other_work_is_refused() {
    let mut base = trial(&[], 100.0);
    base.setup.planned.data.rows = 10_000_000;
    base.setup.planned.transaction.skip_trx = true;
    let base = [base];
    let result = only(
        "tps >= 0.1 * baseline",
        &[trial(&[], 100.0)],
        Baseline::Trials(&base),
    );
    let reason =
        "the baseline ran a different workload: data.rows 10,000,000, here 1,000; load.key_range \
                  10,000,000, here 1,000; transaction.skip_trx true, here false"
            .to_owned();
    assert_eq!(result.verdict, ThresholdVerdict::NoBaseline { reason });
    let mut trials = blocks(&[(100.0, 100.0), (101.0, 101.0)]);
    for many in [1, 3] {
        trials[many].setup.planned.data.rows = 10_000_000;
    }
    let result = of_variant("tps > 0.1 * baseline", &trials);
    assert_eq!(result.verdict, Met);
}

#[test]
fn a_limit_within_the_interval_is_undecided() {
    let found = |threshold: &str, trials: &[TrialSummary]| {
        let result = only(threshold, trials, Baseline::None);
        let is_close = result.caveats == [Caveat::WithinInterval];
        assert_eq!(is_close, result.is_undecided(), "{result:?}");
        (result.verdict, result.half_width)
    };
    // The interval of a single trial is that of its own seconds…
    let one = [sure(94.8, 0.5)];
    for (threshold, verdict) in [
        ("tps >= 95", Undecided),
        ("tps >= 94.5", Undecided),
        ("tps >= 96", Missed),
        ("tps >= 94", Met),
    ] {
        assert_eq!(found(threshold, &one), (verdict, Some(0.5)));
    }
    // …and that of several trials is over them: s = 1, t(2) 1 / sqrt(3) = 2.484.
    let several = [sure(94.0, 0.1), sure(95.0, 0.1), sure(96.0, 0.1)];
    let (verdict, half_width) = found("tps >= 97", &several);
    assert_eq!(verdict, Undecided);
    assert!((half_width.unwrap() - 2.484).abs() < 0.001);
    // An interval of width 0 counts as one, and counts need none.
    assert_eq!(found("tps >= 95", &[sure(95.0, 0.0)]).0, Met);
    assert_eq!(found("errors <= 0", &one).0, Met);
}

#[test]
fn a_missing_interval_is_no_certainty() {
    let unsure = with_interval(95.0, None);
    let of = |threshold| only(threshold, std::slice::from_ref(&unsure), Baseline::None);
    for threshold in ["tps >= 5", "tps >= 500", "response_ms.p50 < 1000"] {
        let found = of(threshold);
        assert_eq!(found.verdict, Undecided, "{threshold}");
        assert_eq!(found.caveats, [Caveat::NoInterval]);
    }
    assert_eq!(of("errors <= 0").verdict, Met);
    // Repeats have an interval.
    let twice = [unsure.clone(), unsure];
    let found = only("tps >= 5", &twice, Baseline::None);
    assert_eq!(found.verdict, Met);
}

/// Trials that share servers, instead of starting their own.
#[test]
fn without_restarts_a_baseline_decides_nothing() {
    let mut trials = blocks(&[(100.0, 50.0), (101.0, 50.0), (100.0, 51.0)]);
    let missed = of_variant("tps >= baseline", &trials);
    assert_eq!(missed.verdict, Missed);
    for trial in &mut trials {
        if let plan::ServerSpec::Engine(spec) = &mut trial.setup.planned.server {
            spec.reset = plan::Reset::None;
        }
    }
    let open = of_variant("tps >= baseline", &trials);
    assert_eq!(open.verdict, Undecided);
    assert_eq!(open.caveats, [Caveat::NotRestarted]);
    // Counts need no comparison.
    let errors = of_variant("errors <= baseline", &trials);
    assert_eq!(errors.verdict, Met);
}

/// Logarithms are not exact, and counts are.
#[test]
fn a_count_exactly_at_its_limit_against_a_variant_meets_it() {
    let mut trials = blocks(&[(100.0, 50.0), (101.0, 50.0), (100.0, 51.0)]);
    for (factor, base, here) in [("2", 5, 10), ("1.5", 6, 9), ("0.5", 14, 7)] {
        for trial in &mut trials {
            let is_base = trial.setup.planned.point[VARIANT].as_text() == Some("base");
            trial.errors = vec![ErrorSummary {
                code: "1213".to_owned(),
                count: if is_base { base } else { here },
                action: "ignored".to_owned(),
                example: String::new(),
            }];
        }
        let found = of_variant(&format!("errors <= {factor} * baseline"), &trials);
        assert_eq!(found.verdict, Met, "{factor} * {base}: {found:?}");
    }
}

/// What a failed trial lost is lost; what it would have measured is unknown.
#[test]
fn a_failed_trial_is_not_overlooked() {
    let mut trials = [sure(100.0, 0.5), sure(101.0, 0.5), sure(100.5, 0.5)];
    for trial in &mut trials {
        trial.ledgers = vec![ledger(0)];
    }
    trials[1].outcome = failure();
    let verdict =
        |threshold: &str, trials: &[TrialSummary]| only(threshold, trials, Baseline::None).verdict;
    assert_eq!(verdict("ledger.lost <= 0", &trials), Undecided);
    assert_eq!(verdict("tps > 50", &trials), Undecided);
    assert_eq!(verdict("tps > 150", &trials), Missed);
    trials[1].ledgers = vec![ledger(3)];
    assert_eq!(verdict("ledger.lost <= 0", &trials), Missed);
}

#[test]
fn the_interval_of_a_baseline_counts_too() {
    let base = [sure(100.0, 4.0)];
    let result = only(
        "tps >= 0.5 * baseline",
        &[sure(47.6, 1.5)],
        Baseline::Trials(&base),
    );
    assert_eq!(result.limit_half_width, Some(2.0));
    // The difference is 2.4; sqrt(1.5² + 2²) = 2.5.
    assert_eq!(
        result.caveats,
        [Caveat::WithinInterval, Caveat::NotInterleaved]
    );
    assert_eq!(result.paired, None);
}

/// Repeats of two variants; `blocks` holds the throughput of both in each block.
fn blocks(blocks: &[(f64, f64)]) -> Vec<TrialSummary> {
    let both = blocks.iter().zip(1..).flat_map(|((base, new), repeat)| {
        [("base", base), ("new", new)].map(|(variant, tps)| {
            let mut trial = trial(&[("variant", variant)], *tps);
            trial.setup.planned.repeat = repeat;
            trial
        })
    });
    both.collect()
}

/// The host doubles its speed from block to block, and the variant loses 2 % in each.
#[test]
fn what_both_variants_of_a_block_share_does_not_blur_the_verdict() {
    let trials = blocks(&[(100.0, 98.0), (200.0, 196.2), (400.0, 391.8)]);
    let of = |threshold| of_variant(threshold, &trials);
    for (threshold, verdict) in [
        ("tps >= 0.95 * baseline", Met),
        ("tps >= 0.98 * baseline", Undecided),
        ("tps >= baseline", Missed),
        ("tps > 1.05 * baseline", Missed),
    ] {
        assert_eq!(of(threshold).verdict, verdict, "{threshold}");
    }
    // By hand: ln 0.98, ln 0.981, ln 0.9795; mean -0.020033, s = 0.000779,
    // t(2) s / sqrt(3) = 0.001936.
    let found = of("tps >= baseline").paired.unwrap();
    assert_eq!(found.pairs, 3);
    for (found, by_hand) in [
        (found.ratio, 0.98017),
        (found.low, 0.97827),
        (found.high, 0.98206),
    ] {
        assert!((found - by_hand).abs() < 0.00002, "{found} {by_hand}");
    }
}

#[test]
fn a_repeat_without_its_partner_is_left_out_of_the_pairs() {
    let mut trials = blocks(&[(100.0, 100.0), (101.0, 100.0), (50.0, 99.0), (102.0, 102.0)]);
    // The baseline's trial in the third block failed, so its partner is unpaired.
    trials[4].outcome = failure();
    let result = of_variant("tps >= 0.9 * baseline", &trials);
    assert_eq!(result.paired.map(|paired| paired.pairs), Some(3));
    assert_eq!(result.verdict, Met);
    let single = of_variant("tps >= 0.9 * baseline", &trials[..2]);
    assert_eq!(single.paired, None);
    assert_eq!(single.caveats, [Caveat::FewBlocks]);
}

#[test]
fn a_percentile_of_one_trial_has_its_range_and_of_few_transactions_a_doubt() {
    let p99 = |count: u64| {
        let mut trial = trial(&[], 100.0);
        trial.transactions.count = count;
        let times = trial.response_ms.as_mut().unwrap();
        times.p99 = 20.0;
        times.p99_range = Some(Range {
            low: 19.0,
            high: 24.0,
        });
        trial
    };
    let found = |threshold: &str, count: u64| {
        let result = only(threshold, &[p99(count)], Baseline::None);
        assert_eq!((result.half_width, result.range.unwrap().low), (None, 19.0));
        (result.verdict, result.caveats)
    };
    // The range extends further up than down.
    let within = vec![Caveat::WithinInterval];
    assert_eq!(found("p99 < 23", 1000), (Undecided, within));
    assert_eq!(found("p99 < 18", 1000), (Missed, vec![]));
    assert_eq!(found("p99 < 30", 999), (Met, vec![Caveat::FewSlower]));
    let (here, base) = ([p99(1000)], [p99(900)]);
    let relative = only("p99 < 3 * baseline", &here, Baseline::Trials(&base));
    let caveats = [Caveat::FewSlowerInBaseline, Caveat::NotInterleaved];
    assert_eq!(relative.caveats, caveats);
}

#[test]
fn a_variant_is_the_baseline_of_the_others() {
    let mut trials = blocks(&[(100.0, 90.0), (101.0, 91.0)]);
    for trial in &mut trials {
        trial.transactions.per_s.as_mut().unwrap().half_width = Some(0.5);
    }
    let thresholds = [read("tps >= 0.95 * baseline"), read("tps > 10")];
    let results = judge(&thresholds, &trials, Baseline::Variant("base"));
    let variant = |result: &ThresholdResult| result.point[VARIANT].as_text().map(str::to_owned);
    let judged: Vec<_> = results
        .iter()
        .map(|j| (variant(j), j.is_missed()))
        .collect();
    // The baseline variant is only judged by thresholds that are not relative.
    let expected = [("base", false), ("new", true), ("new", false)];
    assert_eq!(
        judged,
        expected.map(|(name, is_missed)| (Some(name.to_owned()), is_missed))
    );
}

/// Six of at most ten starts: 0 is within the interval of the first look, though not within
/// Student's.
#[test]
fn a_comparison_that_may_end_early_has_the_interval_of_its_look() {
    let side = |name: &'static str, tps: [f64; 6]| {
        let of = move |(repeat, tps): (usize, f64)| {
            let mut trial = trial(&[(VARIANT, name)], tps);
            trial.setup.planned.repeat = repeat as u32 + 1;
            trial
        };
        tps.into_iter().enumerate().map(of)
    };
    let new = [94.0, 97.0, 99.0, 96.0, 100.0, 97.0];
    let mut trials: Vec<_> = side("base", [100.0; 6]).chain(side("new", new)).collect();
    assert_eq!(of_variant("tps >= 1 * baseline", &trials).verdict, Missed);
    for trial in &mut trials {
        trial.setup.planned.compare = Some(plan::Compare {
            starts: 10,
            budget: std::time::Duration::from_secs(600),
            alternate: plan::Alternate::Never,
            block: std::time::Duration::from_secs(1),
            pause: false,
        });
    }
    let found = of_variant("tps >= 1 * baseline", &trials);
    assert_eq!(found.verdict, Undecided);
    assert!(found.paired.unwrap().high > 1.0);
}
