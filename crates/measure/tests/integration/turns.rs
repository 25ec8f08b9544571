//! The interval for two processes that take turns in one start, on simulated hosts.

use std::sync::LazyLock;
use std::time::Duration;

use measure::compare::{Comparison, LEAST, Question, Sense, compare_turns};
use measure::setup::Setup;
use measure::slice::{Phase, Second, Slice};
use measure::summarize::summarize;
use measure::summary::{TrialSummary, Turn};
use plan::{Alternate, Compare};

use crate::simulate::{Random, luck, runs};

/// Noise is drawn for each step.
const STEP_S: f64 = 0.1;
const ROUNDS: usize = 12;
const SERIES: usize = 1_000;
const CHANGE: f64 = 1.05;
const QUESTION: Question = Question {
    sense: Sense::HigherIsBetter,
    interleaved: true,
    restarted: false,
    least: LEAST,
    boundary: None,
};

/// A trial of a server that dyno does not start, in turns.
static INPUT: LazyLock<TrialSummary> = LazyLock::new(|| {
    let text = "title = 't'\nserver.url = 'any://server'";
    let study = study::Study::parse("test", text, &[]).unwrap();
    let mut planned = study.plan().trials.remove(0);
    planned.compare = Some(Compare {
        starts: 1,
        budget: Duration::from_secs(3600),
        alternate: Alternate::Always,
        block: Duration::from_secs(1),
        pause: false,
    });
    TrialSummary::new(Setup::new(&planned))
});

fn throughput(turns: [Vec<Turn>; 2]) -> Option<Comparison> {
    let [base, new] = turns.map(|turns| TrialSummary {
        turns,
        ..INPUT.clone()
    });
    compare_turns(&base, &new, "tps", &QUESTION).ok()
}

/// Turns of about a second on a host whose speed is `speed` in each step.
fn compared(speed: &[f64], random: &mut Random) -> Comparison {
    let (mut turns, mut step) = ([Vec::new(), Vec::new()], 0);
    let first = usize::from(random.chance() < 0.5);
    for round in 0..ROUNDS {
        let [a, b] = [(first + round) % 2, (first + round + 1) % 2];
        for side in [a, b, b, a] {
            // The first step is left out.
            let length = 7 + (5.0 * random.chance()) as usize;
            let own = &speed[step + 1..step + 1 + length];
            let per_s = if side == 1 { CHANGE } else { 1.0 };
            let expected = own.iter().sum::<f64>() * STEP_S * per_s;
            let count = expected + expected.sqrt() * random.normal();
            turns[side].push(Turn {
                start_s: (step + 1) as f64 * STEP_S,
                length_s: length as f64 * STEP_S,
                transactions: count.max(0.0).round() as u64,
            });
            step += length + 1;
        }
    }
    throughput(turns).unwrap()
}

/// Share of intervals that hold the change, and their mean half width in percent.
fn coverage(name: &str, mut speed: impl FnMut(&mut Random, usize) -> Vec<f64>) -> (f64, f64) {
    let mut random = Random::new(20);
    let (mut held, mut width) = (0, 0.0);
    for _ in 0..SERIES {
        let speed = speed(&mut random, ROUNDS * 4 * 13 + 2);
        let found = compared(&speed, &mut random).change_pct.interval.unwrap();
        let change = 100.0 * (CHANGE - 1.0);
        held += usize::from(found.low <= change && change <= found.high);
        width += (found.high - found.low) / 2.0 / SERIES as f64;
    }
    let share = held as f64 / SERIES as f64;
    println!("{name}: {share:.3} hold it, half width {width:.2} %");
    (share, width)
}

#[test]
fn the_interval_holds_the_change_on_hosts_with_correlated_noise() {
    for correlated_s in [0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0] {
        let correlation = (-STEP_S / correlated_s).exp();
        let name = format!("noise correlated over {correlated_s} s");
        let (share, _) = coverage(&name, |random, length| {
            random.throughput(0.1, correlation, length)
        });
        assert!(share >= 0.93, "{name}: {share}");
    }
    let (share, _) = coverage("stalls", |random, length| random.stalls(0.005, 0.1, length));
    assert!(share >= 0.90, "stalls: {share}");
    let (share, width) = coverage("drift", |_, length| {
        let place = |i| 1000.0 * (1.0 - 0.5 * i as f64 / length as f64);
        (0..length).map(place).collect()
    });
    assert!(share >= 0.93 && width < 3.5, "drift: {share}, {width}");
}

#[test]
fn too_few_rounds_have_no_interval() {
    let turn = |start_s| Turn {
        start_s,
        length_s: 1.0,
        transactions: 100,
    };
    let turns: Vec<Turn> = (0..7).map(|i| turn(f64::from(i))).collect();
    assert_eq!(throughput([turns.clone(), turns]), None);
    assert_eq!(throughput([Vec::new(), Vec::new()]), None);
}

const COLUMNS: [&str; 3] = ["response_ms.mean", "response_ms.p95", "response_ms.p99"];

/// A turn for each level of the response times, which are lognormal. The same number of users
/// completes fewer transactions if they take longer.
fn times_in_turns(levels: &[f64], per_turn: f64, random: &mut Random) -> [TrialSummary; 2] {
    let mut seconds = [Vec::new(), Vec::new()];
    let first = usize::from(random.chance() < 0.5);
    for (turn, level) in levels.iter().enumerate() {
        // ABBA, then BAAB.
        let is_inner = usize::from(matches!(turn % 4, 1 | 2));
        let side = (first + turn / 4 + is_inner) % 2;
        let longer = if side == 1 { CHANGE } else { 1.0 };
        let mut slice = Slice::new(1);
        for _ in 0..(per_turn * (0.8 + 0.4 * random.chance()) / level.exp()) as usize {
            let time_ns = 5e6 * longer * (level + 0.5 * random.normal()).exp();
            slice.response.record(time_ns as u64);
        }
        let start_ns = turn as u64 * 1_000_000_000;
        seconds[side].push(Second {
            start_ns,
            end_ns: start_ns + 900_000_000,
            phase: Phase::Measure,
            slice,
            backlog: None,
            workers: Vec::new(),
        });
    }
    seconds.map(|seconds| {
        let turns = seconds.iter().map(Turn::from).collect();
        let summary = summarize(INPUT.clone(), &[], &seconds);
        TrialSummary { turns, ..summary }
    })
}

#[test]
fn intervals_of_response_times_hold_the_change() {
    let mut random = Random::new(20_261_126);
    let series = runs(SERIES);
    for name in ["noise over 1 s", "noise over 20 s", "stalls", "drift"] {
        let (mut held, mut width) = ([0; 3], [0.0; 3]);
        for _ in 0..series {
            let length = ROUNDS * 4;
            let levels: Vec<f64> = match name {
                "drift" => {
                    let place = |i| 0.7 * i as f64 / length as f64;
                    (0..length).map(place).collect()
                }
                "stalls" => {
                    let speed = random.stalls(0.05, 0.9, length).into_iter();
                    speed.map(|speed| (1000.0 / speed).ln()).collect()
                }
                _ => {
                    let correlated_s = if name.contains("20") { 20.0 } else { 1.0 };
                    let wander = random.wander(f64::exp(-1.0 / correlated_s), length);
                    wander.into_iter().map(|level| 0.1 * level).collect()
                }
            };
            let [base, new] = times_in_turns(&levels, 700.0, &mut random);
            for (i, column) in COLUMNS.iter().enumerate() {
                let found = compare_turns(&base, &new, column, &QUESTION).unwrap();
                let range = found.change_pct.interval.unwrap();
                let change = 100.0 * (CHANGE - 1.0);
                held[i] += usize::from(range.low <= change && change <= range.high);
                width[i] += (range.high - range.low) / 2.0 / series as f64;
            }
        }
        for ((column, held), width) in COLUMNS.iter().zip(held).zip(width) {
            let share = held as f64 / series as f64;
            println!("{name}, {column}: {share:.3} hold it, half width {width:.2} %");
            let least = if name == "stalls" { 0.90 } else { 0.94 };
            assert!(
                share >= least - luck(0.05, series),
                "{name}, {column}: {share}"
            );
        }
    }
}

#[test]
fn response_times_have_no_interval_where_it_would_guess() {
    let (levels, mut random) = ([0.0; 4 * ROUNDS], Random::new(1));
    let mut in_turns = |per_turn| times_in_turns(&levels, per_turn, &mut random);
    let has = |[base, new]: &[TrialSummary; 2], column: &str| {
        compare_turns(base, new, column, &QUESTION).is_ok()
    };
    // Groups of 300 transactions, of which 3 are slower than the 99th percentile.
    let few = in_turns(100.0);
    assert_eq!(COLUMNS.map(|column| has(&few, column)), [true, true, false]);
    let many = in_turns(700.0);
    assert!(has(&many, COLUMNS[2]));
    for column in ["response_ms.max", "service_ms.mean", "tps_flushed"] {
        assert!(!has(&many, column), "{column}");
    }
    let mut interrupted = many.clone();
    interrupted[1].turns.pop();
    let mut short = many;
    short[0].turns[3].length_s = 0.4;
    assert!(!has(&interrupted, COLUMNS[0]) && !has(&short, COLUMNS[0]));
}

/// The error is that of the histograms, whose percentiles are all the same.
#[test]
fn an_interval_is_no_narrower_than_histograms_are_accurate() {
    let mut sides = times_in_turns(&[0.0; 4 * ROUNDS], 700.0, &mut Random::new(1));
    for side in &mut sides {
        let times = side.response_ms.unwrap();
        side.response_replicates_ms.fill(times);
    }
    let [base, new] = &sides;
    let half = |column: &str| {
        let found = compare_turns(base, new, column, &QUESTION).unwrap();
        let range = found.change_pct.interval.unwrap();
        (range.high - range.low) / 2.0
    };
    // t(7) = 2.365 times 0.1 %, of about 105 %.
    assert!(
        (0.2..0.3).contains(&half(COLUMNS[1])),
        "{}",
        half(COLUMNS[1])
    );
    assert!(half(COLUMNS[0]) < 1e-9);
}
