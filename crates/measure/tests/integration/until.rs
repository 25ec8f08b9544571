//! What is true of trials that ended when they were sure.

use crate::simulate::{Random, seconds};
use measure::interval::estimate;
use measure::until::is_precise;

const RUNS: usize = 400;
const LONGEST: usize = 900;

/// A host's seconds, with a mean of 1,000.
type Host = fn(&mut Random, usize) -> Vec<f64>;

/// Lengths that trials of a fixed length might have, in steps of this many seconds.
const STEP: usize = 30;

struct Ended {
    /// Trials that ended before their time.
    early: usize,
    /// Lengths of all, in ascending order.
    lengths: Vec<usize>,
    /// Trials whose interval contains the mean. Trials that ended early have the interval that was
    /// requested; the others, that of their seconds.
    held: usize,
    /// Trials whose interval is as narrow as requested after each fixed length.
    narrow: Vec<usize>,
}

fn run(random: &mut Random, host: Host, ci: f64) -> Ended {
    let mut found = Ended {
        early: 0,
        lengths: Vec::new(),
        held: 0,
        narrow: vec![0; LONGEST / STEP],
    };
    for _ in 0..RUNS {
        let all = seconds(&host(random, LONGEST + 10));
        let (warmup, measured) = all.split_at(10);
        let end = (1..LONGEST).find(|length| is_precise(ci, 1.0, warmup, &measured[..*length]));
        let seen = &measured[..end.unwrap_or(LONGEST)];
        let mean = estimate(seen).unwrap();
        let half = match end {
            Some(_) => Some(ci * mean.value),
            None => mean.half_width,
        };
        found.lengths.push(seen.len());
        found.early += usize::from(end.is_some());
        found.held += usize::from(half.is_some_and(|half| (mean.value - 1000.0).abs() <= half));
        for (narrow, length) in found.narrow.iter_mut().zip((STEP..).step_by(STEP)) {
            let relative = estimate(&measured[..length]).unwrap().relative();
            *narrow += usize::from(relative.is_some_and(|half| half <= ci));
        }
    }
    found.lengths.sort_unstable();
    found
}

/// The shortest fixed length after which at least as many trials of these hosts have the requested
/// interval as by the rule.
fn fixed_s(hosts: &[&Ended]) -> usize {
    let early: usize = hosts.iter().map(|host| host.early).sum();
    let narrow = |step: &usize| hosts.iter().map(|host| host.narrow[*step]).sum::<usize>() >= early;
    let step = (0..LONGEST / STEP).find(narrow);
    step.map_or(LONGEST, |step| STEP * (step + 1))
}

#[test]
fn who_ends_when_sure_is_right() {
    #[rustfmt::skip]
    let hosts: [(&str, Host, f64); 8] = [
        ("calm, correlation 0", |random, length| random.throughput(0.02, 0.0, length), 0.02),
        ("correlation 0.5", |random, length| random.throughput(0.05, 0.5, length), 0.02),
        ("correlation 0.8", |random, length| random.throughput(0.05, 0.8, length), 0.02),
        ("correlation 0.8, coarse", |random, length| random.throughput(0.05, 0.8, length), 0.05),
        ("dips", |random, length| random.dips(0.6, 0.03, [8, 60], length), 0.05),
        ("stalls", |random, length| random.stalls(0.02, 0.3, length), 0.05),
        ("fast and slow", |random, length| random.two_noises(0.05, 0.97, length), 0.05),
        ("fast and slow, coarse", |random, length| random.two_noises(0.05, 0.97, length), 0.1),
    ];
    let mut random = Random::new(20_240_501);
    println!("| host | asked for % | ended early % | median s | interval holds % | fixed s |");
    println!("|---|---|---|---|---|---|");
    let mut all = Vec::new();
    for (name, host, ci) in hosts {
        let found = run(&mut random, host, ci);
        let share = |count: usize| count as f64 / RUNS as f64;
        println!(
            "| {name} | {} | {:.1} | {} | {:.1} | {} |",
            ci * 100.0,
            share(found.early) * 100.0,
            found.lengths[RUNS / 2],
            share(found.held) * 100.0,
            fixed_s(&[&found])
        );
        assert!(share(found.held) >= 0.93, "{name}: {}", found.held);
        assert!(share(found.early) > 0.4, "{name}: {}", found.early);
        all.push((ci, found));
    }
    let alike = all
        .iter()
        .filter(|(ci, _)| *ci == 0.05)
        .map(|(_, found)| found);
    let alike: Vec<&Ended> = alike.collect();
    let lengths = alike.iter().flat_map(|found| &found.lengths);
    let mean_s = lengths.sum::<usize>() / (RUNS * alike.len());
    println!("those of 5 %: mean {mean_s} s, fixed {} s", fixed_s(&alike));
}
