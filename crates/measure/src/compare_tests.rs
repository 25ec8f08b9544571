use std::time::Duration;

use super::noise::pairs;
use super::*;
use crate::summary::Turn;

const TPS: Question = Question {
    sense: Sense::HigherIsBetter,
    interleaved: true,
    restarted: true,
    least: LEAST,
    boundary: None,
};
const APART: Question = Question {
    interleaved: false,
    ..TPS
};

fn trials(values: &[f64]) -> Vec<Measured> {
    let trial = |(repeat, value): (u32, &f64)| Measured {
        repeat,
        value: Estimate::exact(*value),
    };
    (1..).zip(values).map(trial).collect()
}

fn one(value: f64, half_width: Option<f64>) -> [Measured; 1] {
    let value = Estimate { value, half_width };
    [Measured { repeat: 1, value }]
}

const A: [f64; 5] = [320.0, 325.0, 318.0, 322.0, 330.0];
const B: [f64; 5] = [305.0, 311.0, 300.0, 309.0, 312.0];

fn against(base: &[f64], new: &[f64], question: &Question) -> Comparison {
    compare(&trials(base), &trials(new), question).unwrap()
}

/// A base of 100, and a new side whose log ratios have exactly this mean and standard deviation.
fn with(mean: f64, spread: f64, blocks: u32) -> Comparison {
    asked(mean, spread, blocks, &TPS)
}

fn asked(mean: f64, spread: f64, blocks: u32, question: &Question) -> Comparison {
    // Any sample will do: it is shifted and scaled.
    let raw: Vec<f64> = (0..blocks).map(|i| f64::from(i * i % 7)).collect();
    let middle = super::mean(&raw);
    let scale = spread / variance(&raw, middle).sqrt();
    let new = raw
        .iter()
        .map(|x| 100.0 * (mean + (x - middle) * scale).exp());
    against(&vec![100.0; raw.len()], &new.collect::<Vec<_>>(), question)
}

/// Computed in Python on logarithms; Student's t by Simpson's rule.
#[test]
fn blocks_and_runs_are_what_another_program_computes() {
    let check = |found: Comparison, low: f64, high: f64, p: f64| {
        assert!((found.change_pct.value + 4.831_580_441).abs() < 1e-7);
        let Range { low: l, high: h } = found.change_pct.interval.unwrap();
        assert!((l - low).abs() < 1e-5 && (h - high).abs() < 1e-5, "{l} {h}");
        assert!((found.p.unwrap() / p - 1.0).abs() < 1e-4, "{:?}", found.p);
        found
    };
    let blocks = check(against(&A, &B, &TPS), -5.706_177, -3.948_871, 1.183_943e-4);
    assert_eq!(blocks.method, Method::Blocks { blocks: 5 });
    assert_eq!(
        (blocks.decision, blocks.confidence),
        (Decision::Slower, 0.95)
    );
    let runs = check(
        against(&A, &B, &APART),
        -6.937_691,
        -2.677_806,
        9.476_872e-4,
    );
    assert_eq!(runs.method, Method::Runs { base: 5, new: 5 });
    assert!((blocks.new / blocks.base - 0.951_684_2).abs() < 1e-7);
}

#[test]
fn results_that_were_not_interleaved_have_a_change_but_no_verdict() {
    let found = against(&A, &B, &APART);
    let reason = NoVerdict::NotInterleaved;
    assert_eq!(found.decision, Decision::NoVerdict { reason });
    assert!(found.change_pct.interval.is_some());
    assert_eq!((found.p_adjusted, found.is_tested()), (None, false));
    // Equivalence is not a verdict here either.
    assert!(!against(&A, &A, &APART).is_conclusive());
}

/// Table of the paper on virtualization (`papers/000`): 320 and 305 tps.
#[test]
fn a_single_run_has_a_change_and_no_verdict() {
    let needed = |base: &[Measured], new: &[Measured]| {
        let found = compare(base, new, &TPS).unwrap();
        assert_eq!(format!("{:.2}", found.change_pct.value), "-4.69");
        assert_eq!((found.change_pct.interval, found.p), (None, None));
        assert_eq!(found.method, Method::SingleRun);
        match found.decision {
            Decision::NoVerdict {
                reason: NoVerdict::SingleRun { repeats_needed },
            } => (repeats_needed, found.verdict()),
            other => panic!("{other:?}"),
        }
    };
    let sure = needed(&one(320.0, Some(2.0)), &one(305.0, Some(2.0)));
    assert_eq!(sure.0, Some(5));
    assert!(sure.1.contains("at least 5 repeats"), "{}", sure.1);
    assert_eq!(needed(&one(320.0, None), &one(305.0, None)).0, Some(5));
    // Runs that do not even determine their own means need more.
    let noisy = needed(&one(320.0, Some(30.0)), &one(305.0, Some(30.0)));
    assert!(noisy.0.is_some_and(|repeats| repeats > 15), "{noisy:?}");
    // Whatever the number of runs on the other side.
    let five = trials(&[305.0; 5]);
    assert_eq!(needed(&one(320.0, None), &five).0, Some(5));
}

#[test]
fn the_sense_of_a_number_says_what_is_better() {
    let times = Question {
        sense: Sense::LowerIsBetter,
        ..TPS
    };
    assert_eq!(against(&A, &B, &times).decision, Decision::Faster);
}

#[test]
fn the_three_outcomes() {
    let decided = |mean: f64, spread: f64| with(mean, spread, 5).decision;
    assert_eq!(decided(0.05, 0.02), Decision::Faster);
    assert_eq!(decided(-0.05, 0.02), Decision::Slower);
    // The 95 % interval is within 2 %...
    assert_eq!(decided(0.005, 0.01), Decision::Equivalent);
    assert_eq!(decided(0.0, 0.0), Decision::Equivalent);
    // ...also where it excludes 0.
    assert_eq!(decided(0.01, 0.005), Decision::Equivalent);
    // +1.9 ± 1.9 shows neither a difference nor equivalence.
    let close = with(0.019, 0.015, 5);
    let Range { low, high } = close.change_pct.interval.unwrap();
    assert!(low > 0.0 && high > 3.0, "{low} {high}");
    assert!(matches!(close.decision, Decision::Undecided { .. }));
    assert!(matches!(decided(0.05, 0.1), Decision::Undecided { .. }));
    assert_eq!(against(&A, &A, &TPS).p, Some(1.0));
}

#[test]
fn verdicts_name_the_repeats_and_the_margin() {
    assert_eq!(with(0.0, 0.001, 5).verdict(), "equivalent (within ±2 %)");
    let undecided = with(0.05, 0.1, 5);
    let Decision::Undecided { repeats_needed } = undecided.decision else {
        panic!("{undecided:?}");
    };
    // (1.96 + 0.84)² (0.1 / 0.05)², plus a little for Student's t, times 2.43 for the limit of the
    // noise.
    assert!(
        repeats_needed.is_some_and(|repeats| (76..=82).contains(&repeats)),
        "{repeats_needed:?}"
    );
    let words = undecided.verdict();
    assert!(
        words.contains("if the true change is +5.1 %, about "),
        "{words}"
    );
    // As large as the least difference that matters, so no number of repeats decides it.
    let margin = with(0.02_f64.ln_1p(), 0.1, 5);
    let repeats_needed = None;
    assert_eq!(margin.decision, Decision::Undecided { repeats_needed });
    assert!(margin.verdict().contains("more than 1000 repeats"));
}

/// A 95th percentile of 24.7 ± 6.3 ms against 58.0 ± 0.9 ms in three blocks.
#[test]
fn a_change_that_is_far_beyond_the_noise_needs_no_thousand_repeats() {
    let times = Question {
        sense: Sense::LowerIsBetter,
        ..TPS
    };
    let found = against(&[22.16, 24.7, 27.24], &[58.0, 58.36, 57.64], &times);
    assert_eq!(found.decision, Decision::Slower);
    // In such a large family it is not significant, but a few more repeats would suffice.
    let mut family = [found; 16];
    settle_together(&mut family);
    let Decision::Undecided { repeats_needed } = family[0].decision else {
        panic!("{:?}", family[0]);
    };
    assert!(
        repeats_needed.is_some_and(|repeats| (4..=6).contains(&repeats)),
        "{repeats_needed:?}"
    );
}

#[test]
fn a_trial_that_is_missing_has_no_partner() {
    let mut other = trials(&B);
    other.remove(1);
    let found = compare(&trials(&A), &other, &TPS).unwrap();
    assert_eq!(found.method, Method::Blocks { blocks: 4 });
    assert_eq!(compare(&[], &other, &TPS), Err(NoComparison::Nothing));
    let zero = compare(&trials(&[0.0, 1.0]), &other, &APART);
    assert_eq!(zero, Err(NoComparison::Zero));
    // If no block has both sides, the runs are independent samples.
    let late: Vec<Measured> = trials(&[1.0, 1.0, 305.0, 311.0]).split_off(2);
    let found = compare(&trials(&A)[..2], &late, &TPS).unwrap();
    assert_eq!(found.method, Method::Runs { base: 2, new: 2 });
    assert!(found.is_tested());
}

fn settle_together(family: &mut [Comparison]) {
    let gated = family.iter_mut().map(|one| Gated {
        first: Some(one),
        then: Vec::new(),
    });
    decide(&mut gated.collect::<Vec<_>>());
}

/// Holm's adjustment by hand: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06.
#[test]
fn holms_levels_are_those_of_the_intervals() {
    let some = against(&A, &B, &TPS);
    let mut family = [0.03, 0.01, 0.04, 0.02].map(|p| Comparison { p: Some(p), ..some });
    settle_together(&mut family);
    let found = family.map(|one| (one.p_adjusted.unwrap() * 1e6).round() / 1e6);
    assert_eq!(found, [0.06, 0.04, 0.06, 0.06]);
    // The second one is tested at 0.05 / 3 and fails, so the remaining ones share its level.
    let levels = family.map(|one| ((1.0 - one.confidence) * 1e4).round() / 1e4);
    assert_eq!(levels, [0.0167, 0.0125, 0.0167, 0.0167]);
    settle_together(&mut []);
}

/// A shown interval excludes 0 exactly where the shown p is below 5 %.
#[test]
fn intervals_and_verdicts_never_disagree() {
    for spreads in [
        [0.02, 0.05, 0.06, 0.2],
        [0.05, 0.05, 0.05, 0.05],
        [0.01, 0.06, 0.065, 0.07],
    ] {
        let mut family = spreads.map(|spread| with(0.08, spread, 5));
        settle_together(&mut family);
        for one in family {
            let excludes_0 = one.change_pct.interval.is_some_and(|range| range.low > 0.0);
            assert_eq!(excludes_0, one.p_adjusted.unwrap() < ERROR_RATE, "{one:?}");
            assert_eq!(excludes_0, one.decision == Decision::Faster);
        }
    }
}

#[test]
fn percentiles_are_tested_only_behind_the_gate() {
    let (clear, noise) = (with(0.3, 0.01, 5), with(0.05, 0.1, 5));
    let same = with(0.0, 0.001, 5);
    for (first, is_open) in [(clear, true), (same, true), (noise, false)] {
        let (mut first, mut p95, mut p99) = (first, clear, clear);
        decide(&mut [Gated {
            first: Some(&mut first),
            then: vec![&mut p95, &mut p99],
        }]);
        assert_eq!(p95.is_conclusive(), is_open);
        // Two comparisons are behind the gate, so the first one is alone.
        let expected = if is_open { 0.975 } else { 0.95 };
        assert!((p95.confidence - expected).abs() < 1e-9);
        assert_eq!(first.confidence, 0.95);
        if !is_open {
            let reason = NoVerdict::Gate;
            assert_eq!(p99.decision, Decision::NoVerdict { reason });
        }
    }
    // Without the first number there is no gate to pass, and what cannot be tested keeps its own
    // reason.
    let (mut p95, mut apart) = (clear, against(&A, &B, &APART));
    let open = apart.decision;
    decide(&mut [Gated {
        first: None,
        then: vec![&mut p95, &mut apart],
    }]);
    assert!(!p95.is_tested());
    assert_eq!(apart.decision, open);
}

/// Two points that move together in each block are worth no more than one.
#[test]
fn an_average_over_points_is_over_blocks() {
    let (base, new) = (trials(&A), trials(&B));
    let point = [&base[..], &new[..]];
    let alone = compare(&base, &new, &TPS).unwrap();
    let both = average(&[point, point], &TPS).unwrap();
    let [one, two] = [alone, both].map(|found| found.log_ratio.unwrap());
    assert!((one.error - two.error).abs() < 1e-12);
    // A block that lacks one of the points is left out.
    let short = [&base[1..], &new[..]];
    let found = average(&[point, short], &TPS).unwrap();
    assert_eq!(found.method, Method::Blocks { blocks: 4 });
    assert_eq!(average(&[], &TPS), Err(NoComparison::Nothing));
}

/// The comparison of [`with`] if it may end after 6, 8, and 10 blocks.
fn sequential(mean: f64, spread: f64, blocks: u32) -> Comparison {
    let boundary = Some(Boundary::new(&looks(10)));
    asked(mean, spread, blocks, &Question { boundary, ..TPS })
}

#[test]
fn intervals_of_looks_are_wider_and_agree_with_their_p() {
    for blocks in [6, 8, 10] {
        let width = |found: Comparison| {
            let Range { low, high } = found.change_pct.interval.unwrap();
            high - low
        };
        let (once, repeated) = (with(0.03, 0.03, blocks), sequential(0.03, 0.03, blocks));
        assert!(width(repeated) > 1.05 * width(once));
        assert_eq!(repeated.confidence, 0.95);
        for spread in [0.01, 0.02, 0.03, 0.04, 0.05, 0.08] {
            let found = sequential(0.03, spread, blocks);
            let excludes_0 = found.change_pct.interval.unwrap().low > 0.0;
            assert_eq!(excludes_0, found.p.unwrap() < ERROR_RATE);
        }
    }
    // Unless asked for, nothing is stored of it.
    let json = serde_json::to_value(sequential(0.0, 0.1, 6).question).unwrap();
    assert_eq!(json["boundary"], serde_json::json!({"most": 10}));
    assert!(serde_json::to_value(TPS).unwrap().get("boundary").is_none());
}

#[test]
fn a_look_ends_with_a_verdict_or_without_hope_of_one() {
    let look = |mean, spread, blocks| sequential(mean, spread, blocks).at_look(1);
    let found = look(-0.05, 0.02, 6);
    assert_eq!(
        (found.comparison.decision, found.goes_on),
        (Decision::Slower, false)
    );
    assert_eq!(found.more_starts(), None);
    let found = look(0.0, 0.005, 6);
    assert_eq!(
        (found.comparison.decision, found.goes_on),
        (Decision::Equivalent, false)
    );
    // -5 ± 6 % may well be decided by four more starts; not at the last look.
    let found = look(-0.05, 0.045, 6);
    assert!(
        found.goes_on && !found.comparison.is_conclusive(),
        "{found:?}"
    );
    assert!(!look(-0.05, 0.09, 10).goes_on);
    // Without a chance to be decided by four more starts.
    let found = look(-0.01, 0.2, 6);
    assert!(!found.goes_on, "{found:?}");
    let found = look(-0.06, 0.2, 6);
    assert!(
        found.more_starts().is_some_and(|more| more > 50),
        "{found:?}"
    );
    // Only what can be tested is looked at.
    let apart = Question {
        interleaved: false,
        ..sequential(0.0, 0.1, 6).question
    };
    let found = against(&A, &B, &apart).at_look(1);
    assert!(!found.goes_on && !found.comparison.is_tested());
}

/// What was decided among all variants at a look is decided by Holm's procedure over them, too.
#[test]
fn verdicts_of_looks_stand() {
    for spread in [0.01, 0.02, 0.025, 0.03, 0.035, 0.04] {
        let mut family = [0.05, 0.04, -0.06].map(|mean| sequential(mean, spread, 8));
        let looks = family.map(|one| one.at_look(3).comparison);
        settle_together(&mut family);
        for (look, one) in looks.iter().zip(&family) {
            assert!(
                !look.is_conclusive() || one.decision == look.decision,
                "{look:?} {one:?}"
            );
        }
    }
}

/// A start with this order of turns, where the logarithm of a block's rate is that of 1,000 plus a
/// term that depends on the block before it.
fn start(order: &str, log: impl Fn(char, char) -> f64) -> Vec<Block> {
    let before = order.chars().take(1).chain(order.chars());
    let block = |(before, own): (char, char)| Block {
        variant: own as usize - 'A' as usize,
        rate: 1000.0 * log(before, own).exp(),
    };
    before.zip(order.chars()).map(block).collect()
}

#[test]
fn carry_over_is_the_difference_after_itself_against_after_another() {
    let starts = |carried: f64| -> Vec<Vec<Block>> {
        let orders = ["ABBAABBA", "BAABABBA", "ABBABAAB", "BAABBAAB"];
        let log = |before, own| match (before, own) {
            ('A', 'B') => -0.05 + carried,
            (_, 'B') => -0.05,
            _ => 0.0,
        };
        orders.map(|order| start(order, log)).to_vec()
    };
    let found = carry_over(&starts(0.0), None).unwrap();
    assert_eq!(found.decision, Decision::Equivalent);
    assert_eq!(found.method, Method::Blocks { blocks: 4 });
    let found = carry_over(&starts(-0.03), None).unwrap();
    assert!((found.log_ratio.unwrap().mean - 0.03).abs() < 1e-9);
    assert_eq!(found.decision, Decision::Faster);
    // With a third variant, whose turns always come between theirs.
    let three = [start("ABCCBA", |_, _| 0.0), start("CBAABC", |_, _| 0.0)];
    assert_eq!(carry_over(&three, None), Err(NoComparison::Nothing));
    let three = ["ABCCBAABCCBABB", "CBAABCCBAABCBB"].map(|order| start(order, |_, _| 0.0));
    assert!(carry_over(&three, None).is_ok());
}

fn noise_run(host: &str, starts: &[&[f64]]) -> NoiseRun {
    let mut run = NoiseRun::new(host.to_owned(), 20.0);
    let starts: Vec<_> = starts.iter().map(|pairs| pairs.to_vec()).collect();
    run.add(&starts);
    run
}

#[test]
fn noise_is_split_by_analysis_of_variance() {
    let run = noise_run("here", &[&[1.0, 3.0], &[4.0, 6.0], &[9.0, 7.0]]);
    let found = Noise::of(std::slice::from_ref(&run), "here").unwrap();
    // Means 2, 5, 8 have variance 9; within starts, it is 6 / 3, of which each mean has half.
    assert!((found.sd_pair - 2_f64.sqrt()).abs() < 1e-12);
    assert!((found.sd_start - 8_f64.sqrt()).abs() < 1e-12);
    // Another run, of other servers that differ, adds only degrees of freedom.
    let shifted = noise_run("here", &[&[101.0, 103.0], &[104.0, 106.0], &[109.0, 107.0]]);
    let both = Noise::of(
        &[run.clone(), noise_run("there", &[&[0.0, 99.0]]), shifted],
        "here",
    );
    assert_eq!(both, Some(found));
    assert_eq!(Noise::of(&[run], "there"), None);
    let alone = noise_run("here", &[&[1.0, 3.0], &[]]);
    assert_eq!(Noise::of(&[alone], "here"), None);
    let no_pairs = noise_run("here", &[&[1.0], &[2.0]]);
    assert_eq!(Noise::of(&[no_pairs], "here"), None);
}

#[test]
fn data_that_is_loaded_once_is_no_part_of_a_start() {
    let trial = |(repeat, variant, load_s): (u32, &str, Option<f64>)| {
        let mut trial = crate::check::tests::trial();
        let planned = &mut trial.setup.planned;
        planned.repeat = repeat;
        planned.point.insert("variant".to_owned(), variant.into());
        planned.compare = Some(plan::Compare {
            starts: 2,
            budget: Duration::from_secs(60),
            alternate: plan::Alternate::Always,
            block: Duration::from_secs(1),
            pause: false,
        });
        let first_s = if variant == "a" { 0.0 } else { 1.0 };
        let turn = |at: i32| Turn {
            start_s: first_s + 2.0 * f64::from(at),
            length_s: 0.9,
            transactions: 100,
        };
        trial.turns = (0..4).map(turn).collect();
        let reset = serde_json::json!({
            "how": "built_and_copied", "took_s": 1.0, "load_s": load_s, "build_s": 40.0, "bytes": 0,
        });
        trial.reset = Some(serde_json::from_value(reset).unwrap());
        trial
    };
    let trials = [
        (1, "a", Some(30.0)),
        (1, "b", None),
        (2, "a", None),
        (2, "b", None),
    ]
    .map(trial);
    // Two starts of 10 s, and 16 turns of a second.
    let run = NoiseRun::of("here".to_owned(), &trials, 66.0).unwrap();
    assert!((run.start_s - 10.0).abs() < 1e-9, "{run:?}");
}

#[test]
fn starts_have_the_pairs_that_their_noise_asks_for() {
    let noise = Noise {
        sd_start: 0.01,
        sd_pair: 0.1,
        start_s: 20.0,
    };
    // sqrt(20 / 2.4) · 10 = 28.9.
    assert_eq!(noise.pairs(2.4), 28);
    assert_eq!(noise.pairs(240.0), 6);
    let steady = Noise {
        sd_start: 0.0,
        ..noise
    };
    assert_eq!(steady.pairs(2.4), 40);
    let silent = Noise {
        sd_pair: 0.0,
        ..steady
    };
    assert!((6..=40).contains(&silent.pairs(2.4)));
    let boundary = Boundary::new(&[10]);
    // t(9) = 2.262 times 3.317 % / √10.
    let half = noise.half_width_pct(10, 10, (&boundary, 0.05));
    assert!((half - 2.40).abs() < 0.01, "{half}");
}

#[test]
fn pairs_are_adjacent_blocks_of_the_two() {
    let log = |_, own| if own == 'B' { 0.05 } else { 0.0 };
    for (order, count) in [("ABBAAB", 3), ("BAABBA", 3), ("ACBBCA", 0), ("CABBAC", 2)] {
        let found = pairs(&start(order, log), [0, 1]);
        assert_eq!(found.len(), count, "{order}");
        assert!(
            found.iter().all(|pair| (pair - 0.05).abs() < 1e-9),
            "{found:?}"
        );
    }
}
