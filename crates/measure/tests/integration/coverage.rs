//! Whether 95 % intervals hold the truth in 95 of 100 cases. `benches/RESULTS.md` has
//! the tables that these tests print:
//! `DYNO_TEST_ALL=1 cargo test -p measure --test integration coverage -- --nocapture --test-threads 1`.

use crate::simulate::{Random, luck, runs, seconds};
use measure::interval::{Estimate, estimate};
use measure::quantile::Range;
use measure::setup::{Setup, StatementKind};
use measure::slice::{Phase, Second, Slice};
use measure::summarize::summarize;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use plan::StatementClass;

const RUNS: usize = 1000;

/// What 1,000 runs of one kind gave.
struct Held {
    /// Share of runs that got an interval.
    given: f64,
    /// Share of those that hold the mean.
    holds: f64,
    /// Share of all runs that got an interval which does not hold it.
    misled: f64,
    /// Mean half width against that of somebody who knows the true variance.
    width: f64,
}

/// Series of mean 1,000; `spread` is the standard deviation of the mean of one.
fn run(spread: f64, mut series: impl FnMut() -> Vec<f64>) -> Held {
    let (mut given, mut held, mut width) = (0, 0, 0.0);
    for _ in 0..RUNS {
        let Some(Estimate {
            value,
            half_width: Some(half),
        }) = estimate(&seconds(&series()))
        else {
            continue;
        };
        given += 1;
        held += usize::from((value - 1000.0).abs() <= half);
        width += half;
    }
    Held {
        given: given as f64 / RUNS as f64,
        holds: held as f64 / given as f64,
        misled: (given - held) as f64 / RUNS as f64,
        width: width / given as f64 / (1.959_964 * spread),
    }
}

/// First-order autoregressions, whose means have a known spread.
fn wandering(random: &mut Random, correlation: f64, length: usize) -> Held {
    let spread = 50.0 * ((1.0 + correlation) / (1.0 - correlation) / length as f64).sqrt();
    run(spread, || random.throughput(0.05, correlation, length))
}

impl Held {
    #[allow(clippy::print_stdout, reason = "the table of benches/RESULTS.md")]
    fn print(&self, model: &str, length: usize) {
        println!(
            "| {model} | {length} | {:.1} | {:.1} | {:.1} | {:.2} |",
            self.given * 100.0,
            self.holds * 100.0,
            self.misled * 100.0,
            self.width
        );
    }
}

/// A series of so many seconds.
type Noise = fn(&mut Random, usize) -> Vec<f64>;

const HEAD: &str =
    "| model | length s | given % | hold % | misled % | width |\n|---|---|---|---|---|---|";

#[test]
fn intervals_of_a_mean_hold_it() {
    let mut random = Random::new(20_240_117);
    println!("{HEAD}");
    for correlation in [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9] {
        for length in [60, 120, 300, 600] {
            let found = wandering(&mut random, correlation, length);
            found.print(&format!("correlation {correlation}"), length);
            // A few minutes of what wanders more slowly are hardly one observation.
            if correlation <= 0.8 || length >= 300 {
                assert!((0.93..=0.97).contains(&found.holds), "{}", found.holds);
            }
            // Where hardly anything can be known, it is refused, so that few are misled.
            assert!(found.misled <= 0.07 + luck(0.07, RUNS), "{}", found.misled);
        }
    }
}

/// Nothing that the method assumes: throughput that is skewed, that stalls, that a
/// checkpoint halves every half minute, that has a fast and a slow noise.
#[test]
fn so_do_those_of_other_noises() {
    let mut random = Random::new(20_240_120);
    println!("{HEAD}");
    for length in [60, 120, 300, 600] {
        let models: [(&str, Noise); 4] = [
            ("skewed", skewed),
            ("stalls", |random, length| random.stalls(0.05, 0.5, length)),
            ("checkpoints", |random, length| {
                random.dips(0.5, 0.05, [5, 30], length)
            }),
            ("fast and slow", |random, length| {
                random.two_noises(0.035, 0.8, length)
            }),
        ];
        for (name, series) in models {
            let means: Vec<f64> = (0..RUNS)
                .map(|_| series(&mut random, length).iter().sum::<f64>() / length as f64)
                .collect();
            let off: f64 = means.iter().map(|mean| (mean - 1000.0).powi(2)).sum();
            let found = run((off / RUNS as f64).sqrt(), || series(&mut random, length));
            found.print(name, length);
            // A minute holds hardly three stalls, or two checkpoints.
            let least = if length >= 300 { 0.92 } else { 0.82 };
            assert!(found.holds >= least, "{name} {length}: {}", found.holds);
        }
    }
}

/// Lognormal, correlation of the logarithms 0.5.
fn skewed(random: &mut Random, length: usize) -> Vec<f64> {
    const SIGMA: f64 = 0.3;
    let values = random.wander(0.5, length).into_iter();
    values
        .map(|value| 1000.0 * (SIGMA * value - SIGMA * SIGMA / 2.0).exp())
        .collect()
}

/// The shortest for which there is one.
#[test]
fn so_do_those_of_short_runs() {
    let mut random = Random::new(20_240_118);
    for correlation in [0.0, 0.3, 0.5] {
        for length in [10, 20, 30] {
            let found = wandering(&mut random, correlation, length);
            found.print(&format!("correlation {correlation}"), length);
            assert!(found.misled <= 0.07 + luck(0.07, RUNS), "{}", found.misled);
        }
    }
}

fn input() -> TrialSummary {
    let text = "title = 't'\nserver.url = 'any://server'\n[load]\nwarmup = '0s'";
    let study = study::Study::parse("test", text, &[]).unwrap();
    TrialSummary::new(Setup::new(&study.plan().trials[0]))
}

/// One second of transactions with these times, in nanoseconds.
fn second(number: u64, times_ns: impl Iterator<Item = u64>) -> Second {
    let mut slice = Slice::new(1);
    times_ns.for_each(|time_ns| slice.response.record(time_ns));
    Second {
        start_ns: number * 1_000_000_000,
        end_ns: (number + 1) * 1_000_000_000,
        phase: Phase::Measure,
        slice,
        backlog: None,
        workers: Vec::new(),
    }
}

/// The level of response times wanders from second to second, so that slow transactions
/// come together; all of them are lognormal, with percentiles that are known.
#[test]
fn ranges_of_percentiles_hold_them() {
    let mut random = Random::new(20_240_119);
    let runs = runs(RUNS);
    let kinds = [StatementKind {
        name: "point_select".into(),
        class: StatementClass::Read,
    }];
    for (level_spread, correlation) in [(0.0, 0.0), (0.2, 0.5), (0.2, 0.8)] {
        for length in [60, 120] {
            let (mut p95, mut p99) = (Ranges::default(), Ranges::default());
            for _ in 0..runs {
                let levels = random.wander(correlation, length);
                let seconds = (0..).zip(levels).map(|(number, level)| {
                    let level = level_spread * level;
                    let times_ns =
                        (0..100).map(|_| (5e6 * (level + 0.5 * random.normal()).exp()) as u64);
                    second(number, times_ns)
                });
                let seconds: Vec<Second> = seconds.collect();
                let times = summarize(input(), &kinds, &seconds).response_ms.unwrap();
                let sigma = f64::hypot(level_spread, 0.5);
                p95.add(times.p95_range, 5.0 * (1.644_854 * sigma).exp());
                p99.add(times.p99_range, 5.0 * (2.326_348 * sigma).exp());
            }
            for (name, found) in [("p95", p95), ("p99", p99)] {
                println!(
                    "| {name} | {level_spread} | {correlation} | {length} | {:.1} | {:.1} | ±{:.1} |",
                    100.0 * found.given as f64 / runs as f64,
                    100.0 * found.held as f64 / found.given as f64,
                    100.0 * found.width / found.given as f64
                );
                let share = found.held as f64 / found.given as f64;
                // Slow transactions that come together for long are known to be missed.
                let least = if correlation > 0.5 { 0.86 } else { 0.93 };
                let fewer = luck(0.05, runs) - luck(0.05, RUNS);
                assert!(share >= least - fewer, "{share}");
            }
        }
    }
}

/// A trial whose first fault comes at the end of so many seconds.
fn before_a_fault(length: usize) -> TrialSummary {
    let mut input = input();
    let kill = format!(r#"{{"at": "{length}s", "kind": "kill", "target": "primary"}}"#);
    input.setup.planned.topology.faults = vec![serde_json::from_str(&kill).unwrap()];
    input
}

/// Steady loads whose throughput fluctuates by 5 or 15 %: how often is one, or the time before its
/// first fault, said to be unsteady?
#[test]
fn steady_loads_are_hardly_ever_warned_of() {
    const STUDIES: usize = 400;
    let mut random = Random::new(20_240_121);
    let studies = runs(STUDIES);
    let most = 0.05 + luck(0.05, studies) - luck(0.05, STUDIES);
    let counted = |number: u64, transactions: f64| {
        let count = (transactions / 10.0).round().max(1.0) as usize;
        second(number, std::iter::repeat_n(5_000_000, count))
    };
    for (spread, correlation) in [(0.05, 0.0), (0.05, 0.5), (0.15, 0.0), (0.15, 0.5)] {
        for length in [12, 20, 25, 30] {
            let mut alarms = [0; 2];
            for _ in 0..studies {
                let values = random.throughput(spread, correlation, length);
                let seconds = (0..).zip(values).map(|(i, value)| counted(i, value));
                let seconds: Vec<Second> = seconds.collect();
                for (alarms, input) in alarms.iter_mut().zip([input(), before_a_fault(length)]) {
                    let found = summarize(input, &[], &seconds).warnings;
                    let warned = |warning: &Warning| {
                        use Warning::{BaselineUnsteady, Unsteady};
                        matches!(warning, Unsteady { .. } | BaselineUnsteady { .. })
                    };
                    *alarms += usize::from(found.iter().any(warned));
                }
            }
            let shares = alarms.map(|alarms| alarms as f64 / studies as f64);
            let [whole, before] = shares.map(|share| share * 100.0);
            println!("| {spread} | {correlation} | {length} | {whole:.1} | {before:.1} |");
            assert!(shares.iter().all(|share| *share <= most), "{shares:?}");
        }
    }
}

#[derive(Default)]
struct Ranges {
    given: usize,
    held: usize,
    /// Sum of half widths, as shares of the percentile.
    width: f64,
}

impl Ranges {
    fn add(&mut self, range: Option<Range>, truth: f64) {
        if let Some(Range { low, high }) = range {
            self.given += 1;
            self.held += usize::from((low..=high).contains(&truth));
            self.width += (high - low) / 2.0 / truth;
        }
    }
}
