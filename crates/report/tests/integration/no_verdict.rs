//! How often reports and thresholds tell servers apart that are the same: simulated studies of
//! identical servers.

use crate::common::made::{Made, made};
use crate::common::{flat, outline};
use crate::simulate::Random;
use measure::interval::Estimate;
use measure::result::RunResult;
use measure::threshold::{Baseline, Threshold, judge};
use report::rank::Ranking;
use report::{Answer, Source};

const STUDIES: usize = 400;
/// Standard deviation of the logarithm between runs, and between the times of two results.
const NOISE: f64 = 0.05;

/// A study of so many points, each with so many repeats.
fn study(points: &'static [&'static str], repeats: u32) -> RunResult {
    const KEY: &str = "load.threads";
    let all = points.iter().flat_map(|threads| {
        (1..=repeats).map(move |repeat| (Vec::from([(KEY, *threads)]), repeat))
    });
    let all: Vec<(Vec<(&str, &str)>, u32)> = all.collect();
    let trials: Vec<Made<'_>> = all
        .iter()
        .map(|(point, repeat)| Made::new(point, *repeat, 1000.0, 8.0))
        .collect();
    made("Identical", &trials)
}

/// Gives each trial a throughput of 1,000 with noise of its own, all of them with that of
/// their time.
fn measure(result: &mut RunResult, time: f64, random: &mut Random) {
    for trial in &mut result.trials {
        let value = 1000.0 * (time + NOISE * random.normal()).exp();
        trial.transactions.per_s = Some(Estimate {
            value,
            half_width: Some(0.004 * value),
        });
    }
}

/// "throughput is 1.3 times ..." of points that do not differ.
#[test]
fn the_headline_claims_no_difference_between_identical_points() {
    const POINTS: [&str; 4] = ["1", "2", "4", "8"];
    let mut random = Random::new(20_240_501);
    for (points, repeats) in [
        (2, 1),
        (4, 1),
        (2, 2),
        (4, 2),
        (2, 3),
        (4, 4),
        (2, 5),
        (4, 5),
    ] {
        let mut result = study(&POINTS[..points], repeats);
        let claims = (0..STUDIES).filter(|_| {
            measure(&mut result, 0.0, &mut random);
            flat(&outline(&result)).contains(" times the ")
        });
        let claims = claims.count();
        println!("{points} points, {repeats} repeats: {claims} of {STUDIES} headlines");
        // At most 5 %, and three standard errors of it.
        assert!(claims * 1000 <= STUDIES * 50, "{claims}");
    }
}

/// One server that was measured at two to five times, between which the host changed by 5 %.
#[test]
fn one_server_at_different_times_is_never_split_into_ranks_nor_judged() {
    let mut random = Random::new(20_240_502);
    let names = ["a", "b", "c", "d", "e"];
    let mut results: Vec<RunResult> = names.iter().map(|_| study(&["4"], 5)).collect();
    let limits = ["tps >= baseline", "tps >= 0.9 * baseline", "tps < baseline"];
    let limits = limits.map(|limit| Threshold::parse_line(limit).unwrap());
    let (mut splits, mut verdicts) = (0, 0);
    for _ in 0..STUDIES {
        for result in &mut results {
            let time = NOISE * random.normal();
            measure(result, time, &mut random);
        }
        let entrants = names.iter().zip(&results).map(|(name, result)| Source {
            category: "",
            name,
            result,
        });
        let ranking = Ranking::of(&entrants.collect::<Vec<_>>(), &[], false).unwrap();
        let ranks = ranking.csv();
        let mut ranks = ranks.lines().skip(1).map(|line| line.split(',').nth(2));
        splits += usize::from(ranks.any(|rank| rank != Some("1")));
        let base = Baseline::Trials(&results[0].trials);
        let judged = judge(&limits, &results[1].trials, base);
        verdicts += judged.iter().filter(|one| !one.is_undecided()).count();
    }
    println!("{splits} of {STUDIES} boards split, {verdicts} verdicts of thresholds");
    assert_eq!((splits, verdicts), (0, 0));
}

/// Variants of one study that do not differ.
#[test]
fn identical_variants_rarely_have_different_ranks() {
    const VARIANTS: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
    let mut random = Random::new(20_240_503);
    let mut result = study(&VARIANTS, 5);
    result.design.axes = vec!["variant".to_owned()];
    for trial in &mut result.trials {
        let name = trial.setup.planned.point["load.threads"].to_string();
        trial.setup.planned.point = plan::Point::from([("variant", name.as_str())]);
    }
    let splits = (0..STUDIES).filter(|_| {
        measure(&mut result, 0.0, &mut random);
        let entrant = Source {
            category: "",
            name: "study",
            result: &result,
        };
        let ranks = Ranking::of(&[entrant], &[], false).unwrap().csv();
        let mut ranks = ranks.lines().skip(1).map(|line| line.split(',').nth(2));
        ranks.any(|rank| rank != Some("1"))
    });
    let splits = splits.count();
    println!("{splits} of {STUDIES} boards of 10 variants split");
    assert!(splits * 1000 <= STUDIES * (50 + 33), "{splits}");
}
