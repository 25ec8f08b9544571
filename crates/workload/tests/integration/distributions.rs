//! The samplers against the exact distribution functions: chi-square tests
//! with fixed seeds, so that they pass always or never.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use workload::distribution::{Distribution, KeySampler};

const SEED: u64 = 20_260_727;
const DRAWS: u32 = 400_000;
const BINS: f64 = 50.0;
/// A right sampler fails one test in 10,000 seeds.
const REJECT_BELOW: f64 = 1e-4;

/// The probability of an offset up to each one below `n`.
fn cumulative(distribution: Distribution, n: u64) -> Vec<f64> {
    let upto = |j: u64| (j + 1) as f64 / n as f64;
    match distribution {
        Distribution::Uniform => (0..n).map(upto).collect(),
        Distribution::Gaussian { iter } => (0..n).map(|j| irwin_hall(iter, upto(j))).collect(),
        Distribution::Special { pct, res, iter } => {
            let hot_keys = (n * u64::from(pct) / 100).max(1);
            let first = (n - hot_keys) / 2;
            let hot = |j: u64| ((j + 1).saturating_sub(first) as f64 / hot_keys as f64).min(1.0);
            let share = f64::from(res) / 100.0;
            (0..n)
                .map(|j| share * hot(j) + (1.0 - share) * irwin_hall(iter, upto(j)))
                .collect()
        }
        Distribution::Pareto { h } => {
            let power = h.ln() / (1.0 - h).ln();
            (0..n).map(|j| upto(j).powf(1.0 / power)).collect()
        }
        Distribution::Zipfian { exponent } => {
            let weights = (1..=n).map(|rank| (rank as f64).powf(-exponent));
            let total: f64 = weights.clone().sum();
            weights
                .scan(0.0, |sum, weight| {
                    *sum += weight / total;
                    Some(*sum)
                })
                .collect()
        }
    }
}

/// The distribution function of the mean of `count` uniform numbers.
fn irwin_hall(count: u32, mean: f64) -> f64 {
    if mean > 0.5 {
        // The alternating sum loses its digits in the upper half.
        return 1.0 - irwin_hall(count, 1.0 - mean);
    }
    let sum = mean * f64::from(count);
    let (mut total, mut choose, mut factorial) = (0.0, 1.0, 1.0);
    for k in 0..=count {
        if f64::from(k) < sum {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            total += sign * choose * (sum - f64::from(k)).powi(count as i32);
        }
        choose *= f64::from(count - k) / f64::from(k + 1);
    }
    for k in 1..=count {
        factorial *= f64::from(k);
    }
    total / factorial
}

/// How likely draws of `sampled` are to lie as far from `expected` as they do.
/// Bins of about equal probability, so that the hot keys get their own.
fn p_value(sampled: Distribution, expected: Distribution, n: u64) -> f64 {
    let low = 1_000;
    let sampler = KeySampler::new(&sampled, low, low + n - 1).unwrap();
    let mut counts = vec![0u32; n as usize];
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    for _ in 0..DRAWS {
        counts[(sampler.sample(&mut rng) - low) as usize] += 1;
    }

    let (mut chi_square, mut bins) = (0.0, 0.0);
    let (mut probability, mut count, mut before) = (0.0, 0.0, 0.0);
    let cumulative = cumulative(expected, n);
    for (offset, upto) in cumulative.iter().enumerate() {
        probability += upto - before;
        before = *upto;
        count += f64::from(counts[offset]);
        // What is left over at the end is a bin too, if it can be tested.
        let rest = 1.0 - upto;
        let testable = 10.0 / f64::from(DRAWS);
        if (probability >= 1.0 / BINS && rest > testable) || offset + 1 == cumulative.len() {
            let draws = probability * f64::from(DRAWS);
            chi_square += (count - draws).powi(2) / draws;
            bins += 1.0;
            (probability, count) = (0.0, 0.0);
        }
    }
    let p = ChiSquared::new(bins - 1.0).unwrap().sf(chi_square);
    println!(
        "seed {SEED}: {sampled} against {expected}, {n} keys: {bins} bins, chi² {chi_square:.1}, p {p:.2e}"
    );
    p
}

fn parse(texts: &str) -> Vec<Distribution> {
    let texts = texts.split_whitespace();
    texts.map(|text| text.parse().unwrap()).collect()
}

#[test]
fn samplers_follow_their_distribution() {
    for distribution in parse(
        "uniform special special:pct=10,res=80,iter=1 special:res=0 special:res=100 \
         gaussian gaussian:iter=1 gaussian:iter=3 pareto pareto:h=0.1 pareto:h=0.7 \
         zipfian zipfian:exp=0 zipfian:exp=0.5 zipfian:exp=0.99 zipfian:exp=1 \
         zipfian:exp=1.0000000001 zipfian:exp=1.5",
    ) {
        for n in [2, 37, 100_000] {
            // Only one key is hot: nothing to compare.
            if distribution.to_string().contains("res=100") && n < 200 {
                continue;
            }
            assert!(p_value(distribution, distribution, n) > REJECT_BELOW);
        }
    }
}

#[test]
fn a_wrong_distribution_is_rejected() {
    let all = parse("uniform special gaussian pareto zipfian");
    for &sampled in &all {
        for &expected in all.iter().filter(|&&expected| expected != sampled) {
            assert!(p_value(sampled, expected, 10_000) < 1e-12);
        }
    }
}

#[test]
fn a_wrong_parameter_is_rejected() {
    for pair in [
        "special special:res=74",
        "special:pct=10 special:pct=11",
        "gaussian gaussian:iter=11",
        "pareto pareto:h=0.21",
        "zipfian zipfian:exp=0.82",
    ] {
        let pair = parse(pair);
        assert!(p_value(pair[0], pair[1], 10_000) < REJECT_BELOW);
    }
}

#[test]
fn the_ends_of_the_range_are_kept_and_reached() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
    for distribution in parse("uniform special gaussian:iter=1 pareto zipfian") {
        let one = KeySampler::new(&distribution, 5, 5).unwrap();
        assert_eq!(one.sample(&mut rng), 5);

        let four = KeySampler::new(&distribution, 5, 8).unwrap();
        let mut seen = [0; 4];
        for _ in 0..200_000 {
            seen[(four.sample(&mut rng) - 5) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 0), "{distribution}: {seen:?}");

        let most = i32::MAX as u64;
        let all = KeySampler::new(&distribution, 1, most).unwrap();
        for _ in 0..100_000 {
            assert!((1..=most).contains(&all.sample(&mut rng)));
        }
    }
}

#[test]
fn what_makes_no_distribution_is_refused() {
    assert!(KeySampler::new(&Distribution::Uniform, 2, 1).is_err());
    assert!(KeySampler::new(&Distribution::Uniform, 0, u64::MAX).is_err());
    for bad in [
        Distribution::Pareto { h: 0.0 },
        Distribution::Zipfian { exponent: f64::NAN },
        Distribution::Gaussian { iter: 0 },
    ] {
        assert!(KeySampler::new(&bad, 1, 10).is_err());
    }
}
