//! How often reports and thresholds tell servers apart that are the same: simulated studies of
//! identical servers.

use crate::common::made::swept;
use crate::common::{flat, outline};
use crate::simulate::Random;
use measure::interval::Estimate;
use measure::result::RunResult;
use measure::summary::TrialSummary;
use measure::threshold::{Baseline, Threshold, judge};
use report::rank::Ranking;
use report::{Answer, Source};

const STUDIES: usize = 400;
/// Standard deviation of the logarithm between runs, and between the times of two results.
const NOISE: f64 = 0.05;

/// A study of so many points, each with so many repeats.
fn study(points: &'static [&'static str], repeats: u32) -> RunResult {
    let points: Vec<_> = points
        .iter()
        .map(|threads| (*threads, 1000.0, 8.0))
        .collect();
    swept("Identical", "load.threads", &points, repeats, |_| 1.0)
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

/// What a terminal shows, on one line.
fn outlined(result: &RunResult) -> String {
    flat(&outline(result))
}

/// "throughput is 1.3 times ..." of points that do not differ.
#[test]
fn the_headline_claims_no_difference_between_identical_points() {
    const POINTS: [&str; 4] = ["1", "2", "4", "8"];
    let mut random = Random::new(20_240_501);
    let sizes = [2, 4, 2, 4, 2, 4, 2, 4]
        .into_iter()
        .zip([1, 1, 2, 2, 3, 4, 5, 5]);
    for (points, repeats) in sizes {
        let mut result = study(&POINTS[..points], repeats);
        let claims = (0..STUDIES).filter(|_| {
            measure(&mut result, 0.0, &mut random);
            outlined(&result).contains(" times the ")
        });
        let claims = claims.count();
        println!("{points} points, {repeats} repeats: {claims} of {STUDIES} headlines");
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
        let sources = names.iter().zip(&results);
        let sources: Vec<_> = sources.map(|(name, result)| source(name, result)).collect();
        splits += usize::from(!share_a_rank(&sources));
        let base = Baseline::Trials(&results[0].trials);
        let judged = judge(&limits, &results[1].trials, base);
        verdicts += judged.iter().filter(|one| !one.is_undecided()).count();
    }
    println!("{splits} of {STUDIES} boards split, {verdicts} verdicts of thresholds");
    assert_eq!((splits, verdicts), (0, 0));
}

/// A study of so many variants, with five repeats each.
fn variants(names: &'static [&'static str]) -> RunResult {
    let mut result = study(names, 5);
    result.design.axes = vec!["variant".to_owned()];
    for trial in &mut result.trials {
        let name = trial.setup.planned.point["load.threads"].to_string();
        trial.setup.planned.point = plan::Point::from_iter([("variant", name.as_str())]);
    }
    result
}

fn source<'a>(name: &'a str, result: &'a RunResult) -> Source<'a> {
    Source {
        category: "",
        name,
        result,
    }
}

/// Whether all entries of a board share the first rank.
fn share_a_rank(sources: &[Source<'_>]) -> bool {
    let ranks = Ranking::of(sources, &[], false).unwrap().csv();
    let mut ranks = ranks.lines().skip(1).map(|line| line.split(',').nth(2));
    ranks.all(|rank| rank == Some("1"))
}

/// Variants of one study that do not differ.
#[test]
fn identical_variants_rarely_have_different_ranks() {
    let mut random = Random::new(20_240_503);
    let mut result = variants(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    let splits = (0..STUDIES).filter(|_| {
        measure(&mut result, 0.0, &mut random);
        !share_a_rank(&[source("study", &result)])
    });
    let splits = splits.count();
    println!("{splits} of {STUDIES} boards of 10 variants split");
    assert!(splits * 100 <= STUDIES * 5, "{splits}");
}

/// Of two variants that differ, the slower one was measured before, when its host was faster.
#[test]
fn a_result_of_another_time_is_not_ranked_above_the_same_server() {
    let mut random = Random::new(20_240_504);
    let mut study = variants(&["1", "2"]);
    measure(&mut study, 0.0, &mut random);
    for trial in &mut study.trials {
        let is_fast = trial.setup.planned.variant() == Some("1");
        let per_s = trial.transactions.per_s.as_mut().unwrap();
        per_s.value *= if is_fast { 1.5 } else { 1.0 };
    }
    assert!(!share_a_rank(&[source("study", &study)]));
    let mut before = variants(&["2"]);
    measure(&mut before, 0.1, &mut random);
    let both = [source("study", &study), source("before", &before)];
    assert!(share_a_rank(&both));
}

/// Servers that are the same and found by their URLs: each keeps for all trials what its start gave
/// it. Neither the headline, nor the comparison, nor the board tells them apart.
#[test]
fn servers_that_were_not_restarted_are_not_told_apart() {
    let mut random = Random::new(20_240_505);
    let mut result = variants(&["1", "2", "3"]);
    let start = |trial: &TrialSummary| match trial.setup.planned.variant() {
        Some("1") => 1000.0,
        Some("2") => 1100.0,
        _ => 1200.0,
    };
    for _ in 0..20 {
        measure(&mut result, 0.0, &mut random);
        for trial in &mut result.trials {
            let level = start(trial);
            let per_s = trial.transactions.per_s.as_mut().unwrap();
            (per_s.value, per_s.half_width) = (level + per_s.value / 100.0, Some(1.0));
            let url = format!("any://server{}/db", trial.setup.planned.variant().unwrap());
            let at = plan::Spanned {
                value: url.into(),
                span: plan::Span::NOWHERE,
            };
            trial.setup.planned.server = plan::ServerSpec::Url(at, Box::default());
        }
        let text = outlined(&result);
        for (words, is_said) in [
            ("so the points are not compared", true),
            ("these two running servers only", true),
            (" times the ", false),
            (" faster", false),
            (" slower", false),
        ] {
            assert_eq!(text.contains(words), is_said, "{words}: {text}");
        }
        assert!(share_a_rank(&[source("study", &result)]));
    }
    // Points that differ in their load only are of the same running server.
    let server = result.trials[0].setup.planned.server.clone();
    for trial in &mut result.trials {
        trial.setup.planned.server = server.clone();
    }
    assert!(outlined(&result).contains(" times the "));
}
