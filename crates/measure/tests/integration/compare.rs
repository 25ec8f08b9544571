//! How often a comparison finds what is not there, and what is: simulated studies whose
//! trials have lognormal noise.

use crate::simulate::{Random, luck, runs, share};
use measure::compare::{
    Comparison, Decision, Gated, LEAST, Measured, Question, Sense, compare, decide,
};
use measure::interval::Estimate;

/// Throughput in a closed loop, and two percentiles.
const TPS: Question = Question {
    sense: Sense::HigherIsBetter,
    interleaved: true,
    restarted: true,
    least: LEAST,
    boundary: None,
};
const TIME: Question = Question {
    sense: Sense::LowerIsBetter,
    ..TPS
};

/// The standard deviation of logarithms from block to block: the state of the host, the same for both
/// sides.
const BLOCK_NOISE: f64 = 0.1;

/// A study of two sides, of which the new one is slower by a share. Noise is the standard deviation of
/// logarithms.
struct Study {
    blocks: u32,
    slowdown: f64,
    run_noise: f64,
    /// Of a percentile besides that of its run.
    tail_noise: f64,
}

fn study(blocks: u32, slowdown: f64, [run_noise, tail_noise]: [f64; 2]) -> Study {
    Study {
        blocks,
        slowdown,
        run_noise,
        tail_noise,
    }
}

impl Study {
    /// Throughput, 95th and 99th percentile of both sides.
    fn numbers(&self, random: &mut Random) -> [[Vec<Measured>; 2]; 3] {
        let mut numbers: [[Vec<Measured>; 2]; 3] = Default::default();
        for repeat in 1..=self.blocks {
            let block = BLOCK_NOISE * random.normal();
            for (side, speed) in [0.0, (1.0 - self.slowdown).ln()].into_iter().enumerate() {
                let pace = speed + block + self.run_noise * random.normal();
                let tails =
                    [1.0, 1.5].map(|times| times * self.tail_noise * random.normal() - pace);
                for (number, log) in [pace, tails[0], tails[1]].into_iter().enumerate() {
                    let value = Estimate::exact(1000.0 * log.exp());
                    numbers[number][side].push(Measured { repeat, value });
                }
            }
        }
        numbers
    }

    fn throughput(&self, random: &mut Random) -> Comparison {
        let [[base, new], ..] = self.numbers(random);
        compare(&base, &new, &TPS).unwrap()
    }

    /// Throughput first, then the percentiles.
    fn gated(&self, random: &mut Random) -> [Comparison; 3] {
        let mut found = [compared(self.numbers(random))];
        decide_gated(&mut found);
        found[0]
    }
}

fn compared([tps, p95, p99]: [[Vec<Measured>; 2]; 3]) -> [Comparison; 3] {
    [(tps, TPS), (p95, TIME), (p99, TIME)]
        .map(|([base, new], question)| compare(&base, &new, &question).unwrap())
}

/// Decides the throughput and percentiles of several points together.
fn decide_gated(points: &mut [[Comparison; 3]]) {
    let gated = points.iter_mut().map(|[first, p95, p99]| Gated {
        first: Some(first),
        then: vec![p95, p99],
    });
    decide(&mut gated.collect::<Vec<_>>());
}

fn decide_together(family: &mut [Comparison]) {
    let gated = family.iter_mut().map(|one| Gated {
        first: Some(one),
        then: Vec::new(),
    });
    decide(&mut gated.collect::<Vec<_>>());
}

/// A number of so many trials of one side.
fn side(count: u32, mut of: impl FnMut() -> f64) -> Vec<Measured> {
    let trials = (1..=count).map(|repeat| Measured {
        repeat,
        value: Estimate::exact(of()),
    });
    trials.collect()
}

/// What of the numbers of a study without any difference is called different.
#[test]
fn the_same_against_itself_differs_in_at_most_5_of_100() {
    let mut random = Random::new(20_240_301);
    let studies = runs(2000);
    for blocks in [2, 5, 10] {
        for run in [0.01, 0.03, 0.07, 0.14] {
            let study = study(blocks, 0.0, [run, run]);
            let (mut throughput, mut any) = (0, 0);
            for _ in 0..studies {
                let found = study.gated(&mut random);
                throughput += usize::from(found[0].is_difference());
                any += usize::from(found.iter().any(Comparison::is_difference));
            }
            let [throughput, any] = [throughput, any].map(|n| n as f64 / studies as f64);
            println!(
                "A/A: {blocks} blocks, {run} from run to run: throughput {:.1} %, any number {:.1} %",
                throughput * 100.0,
                any * 100.0
            );
            assert!(throughput <= 0.05 + luck(0.05, studies), "{throughput}");
            assert!(any <= 0.05 + luck(0.05, studies), "{any}");
        }
    }
}

#[test]
fn a_family_of_points_without_a_difference_rarely_shows_one() {
    let mut random = Random::new(20_240_304);
    let study = study(5, 0.0, [0.07, 0.07]);
    let families = runs(1000);
    let shown = share(families, || {
        let mut family: Vec<Comparison> = (0..10).map(|_| study.throughput(&mut random)).collect();
        decide_together(&mut family);
        family.iter().any(Comparison::is_difference)
    });
    println!(
        "A/A: of families of ten points {:.1} % show a difference",
        shown * 100.0
    );
    assert!(shown <= 0.05 + luck(0.05, families), "{shown}");
}

/// The intervals that stand beside the verdicts, over few blocks of heavy noise.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mut random = Random::new(20_240_305);
    let studies = runs(2000);
    for blocks in [3, 5, 10] {
        for run in [0.02, 0.07, 0.14] {
            let study = study(blocks, 0.05, [run, 0.1]);
            let mut held = [0.0; 2];
            for _ in 0..studies {
                let found = study.gated(&mut random);
                // A percentile changes by the inverse of throughput.
                for (place, truth) in [(0, -5.0), (2, 100.0 * (1.0 / 0.95 - 1.0))] {
                    let one = found[place];
                    let range = one.change_pct.interval.unwrap();
                    let is_in = range.low <= truth && truth <= range.high;
                    // As a surplus over what the interval itself claims.
                    held[place.min(1)] += f64::from(u8::from(is_in)) - one.confidence;
                }
            }
            let surplus = held.map(|sum| sum / studies as f64);
            println!(
                "coverage over nominal: {blocks} blocks, {run} from run to run: throughput {:+.1}, \
                 p99 {:+.1} points",
                surplus[0] * 100.0,
                surplus[1] * 100.0
            );
            assert!(surplus[0].abs() < luck(0.05, studies), "{surplus:?}");
            // Those behind the gate are there because throughput stood out.
            assert!(surplus[1] > -luck(0.05, studies) - 0.01, "{surplus:?}");
        }
    }
}

/// Two one-sided tests at 2.5 % each: of sides that differ by just as much as matters.
#[test]
fn sameness_is_rarely_claimed_of_what_differs() {
    let mut random = Random::new(20_240_307);
    let studies = runs(2000);
    let is_same = |found: Comparison| found.decision == Decision::Equivalent;
    for blocks in [3, 5, 10] {
        for run in [0.002, 0.005, 0.01, 0.02] {
            let mut claimed = [LEAST, 0.0].map(|slowdown| {
                let study = study(blocks, slowdown, [run, run]);
                share(studies, || is_same(study.throughput(&mut random)))
            });
            println!(
                "{blocks} blocks, {run} from run to run: equivalent at -2 % {:.1} %, at 0 {:.1} %",
                claimed[0] * 100.0,
                claimed[1] * 100.0
            );
            assert!(claimed[0] <= 0.025 + luck(0.025, studies), "{claimed:?}");
            // The same is called the same where the noise allows.
            claimed[1] += f64::from(u8::from(run > 0.002 || blocks < 5));
            assert!(claimed[1] > 0.95, "{claimed:?}");
        }
    }
}

/// What gating is for: throughput does not share its error rate with the percentiles.
#[test]
fn a_slowdown_of_5_percent_is_found() {
    let mut random = Random::new(20_240_302);
    let studies = runs(3000);
    let mut detection = |blocks, run| {
        let study = study(blocks, 0.05, [run, 0.03]);
        let (mut gated, mut p95, mut shared) = (0, 0, 0);
        for _ in 0..studies {
            let found = study.gated(&mut random);
            gated += usize::from(found[0].decision == Decision::Slower);
            p95 += usize::from(found[1].decision == Decision::Slower);
            // The rule of one family for four numbers, of which two are the same.
            let p = found.map(|one| one.p.unwrap());
            let smaller = |other: &&f64| **other < p[0];
            let before = p[1..].iter().filter(smaller).count();
            shared += usize::from(p[0] * (4 - before) as f64 <= 0.05);
        }
        let [gated, p95, shared] = [gated, p95, shared].map(|n| 100.0 * n as f64 / studies as f64);
        println!(
            "5 % slower: {blocks} blocks, {run} from run to run: throughput {gated:.1} %, then p95 \
             {p95:.1} %; as one family of four {shared:.1} %"
        );
        (gated, shared)
    };
    let (gated, shared) = detection(5, 0.02);
    assert!(gated > 75.0 && gated > shared + 15.0, "{gated} {shared}");
    assert!(detection(5, 0.01).0 > 97.0);
    let (gated, shared) = detection(5, 0.035);
    assert!(gated > 1.5 * shared, "{gated} {shared}");
}

/// A study of so many blocks of a base of 100 and of new values with this mean and standard
/// deviation of the logarithm.
fn blocks(random: &mut Random, mean: f64, spread: f64, blocks: u32) -> Comparison {
    let base = side(blocks, || 100.0);
    let new = side(blocks, || 100.0 * (mean + spread * random.normal()).exp());
    compare(&base, &new, &TPS).unwrap()
}

/// So many comparisons of the same data, decided together: each is tested at the error rate
/// divided by their number.
fn among(found: Comparison, tests: usize) -> Comparison {
    let mut family = vec![found; tests];
    decide_together(&mut family);
    family[0]
}

/// With as many repeats as a few blocks say are needed, four of five studies decide, although both
/// the effect and the noise of these blocks are estimates.
#[test]
fn repeats_needed_give_the_power_that_is_promised() {
    let mut random = Random::new(20_240_303);
    for (change, spread, tests) in [
        (-0.05, 0.05, 1),
        (-0.05, 0.10, 1),
        (-0.05, 0.10, 4),
        (-0.04, 0.04, 10),
        (0.20, 0.20, 3),
        (0.0, 0.03, 1),
        (0.005, 0.03, 2),
    ] {
        let log: f64 = f64::ln_1p(change);
        for first in [3, 5, 10] {
            let (mut planned, mut decided, mut repeats_of_all) = (0, 0, Vec::new());
            for _ in 0..runs(1000) {
                let seen = among(blocks(&mut random, log, spread, first), tests);
                let Decision::Undecided {
                    repeats_needed: Some(repeats),
                } = seen.decision
                else {
                    continue;
                };
                planned += 1;
                repeats_of_all.push(repeats);
                let found = among(blocks(&mut random, log, spread, repeats), tests);
                decided += usize::from(found.is_conclusive());
            }
            repeats_of_all.sort_unstable();
            let share = decided as f64 / f64::from(planned);
            println!(
                "{:+.1} % with a spread of {spread} among {tests}, {first} blocks: {} repeats \
                 (median of {planned}), {:.1} % decided",
                change * 100.0,
                repeats_of_all[repeats_of_all.len() / 2],
                share * 100.0
            );
            assert!(share >= 0.8 - luck(0.8, planned as usize), "{share}");
        }
    }
}

/// Results of different times, between which the host changed; and servers that were not restarted,
/// each of which keeps what its start gave it.
#[test]
fn what_was_not_interleaved_or_not_restarted_is_never_called_different() {
    let mut random = Random::new(20_240_306);
    let studies = 500;
    for (interleaved, restarted) in [(false, true), (true, false)] {
        let question = Question {
            interleaved,
            restarted,
            ..TPS
        };
        let mut called = 0;
        let would_be = share(studies, || {
            let mut one_side = || {
                let shared = 0.05 * random.normal();
                side(5, || 1000.0 * (shared + 0.02 * random.normal()).exp())
            };
            let found = compare(&one_side(), &one_side(), &question).unwrap();
            called += usize::from(found.is_tested());
            found.p.unwrap() < 0.05
        });
        println!(
            "A/A, interleaved {interleaved}, restarted {restarted}: p below 5 % in {:.1} %, a \
             verdict in {called} of {studies}",
            would_be * 100.0
        );
        assert_eq!(called, 0);
        assert!(would_be > 0.4, "the reason for the rule: {would_be}");
    }
}

/// Changes of ten points at once, as a column of a table shows them.
#[test]
fn all_intervals_of_a_column_hold_at_once() {
    const POINTS: usize = 10;
    let mut random = Random::new(20_240_308);
    let studies = runs(1000);
    let held = share(studies, || {
        let mut changes = (0..POINTS).map(|_| {
            let found = blocks(&mut random, 0.1, 0.05, 5);
            found.change_among(POINTS).interval.unwrap()
        });
        let truth = 100.0 * f64::exp_m1(0.1);
        changes.all(|range| (range.low..=range.high).contains(&truth))
    });
    println!("all of {POINTS} changes held in {:.1} %", held * 100.0);
    assert!((held - 0.95).abs() <= luck(0.95, studies), "{held}");
}

/// Throughput falls at ten points, and the percentiles stay; what chance moves, it moves in all
/// numbers of a run.
#[test]
fn percentiles_behind_open_gates_keep_their_error_rate() {
    const POINTS: usize = 10;
    let studies = runs(1000);
    let mut random = Random::new(20_240_307);
    for slowdown in [0.0, 0.02, 0.04, 0.1] {
        let alarms = share(studies, || {
            let mut all: Vec<[Comparison; 3]> = (0..POINTS)
                .map(|_| {
                    let mut numbers: [[Vec<Measured>; 2]; 3] = Default::default();
                    for repeat in 1..=5 {
                        for (side, speed) in [0.0, f64::ln(1.0 - slowdown)].into_iter().enumerate()
                        {
                            let luck = 0.02 * random.normal();
                            let tails =
                                [1.0, 1.5].map(|times| -luck + 0.02 * times * random.normal());
                            let logs = [speed + luck, tails[0], tails[1]];
                            for (number, log) in logs.into_iter().enumerate() {
                                let value = Estimate::exact(1000.0 * log.exp());
                                numbers[number][side].push(Measured { repeat, value });
                            }
                        }
                    }
                    compared(numbers)
                })
                .collect();
            decide_gated(&mut all);
            all.iter()
                .any(|[_, p95, p99]| p95.is_difference() || p99.is_difference())
        });
        println!(
            "{POINTS} points, throughput {:.0} % lower: any percentile in {:.1} %",
            100.0 * slowdown,
            100.0 * alarms
        );
        assert!(alarms <= 0.05 + luck(0.05, studies), "{alarms}");
    }
}
