use super::*;

const TPS: Question = Question {
    sense: Sense::HigherIsBetter,
    interleaved: true,
    least: LEAST,
};
const APART: Question = Question {
    interleaved: false,
    ..TPS
};

fn trials(values: &[f64]) -> Vec<Measured> {
    let trial = |(repeat, value): (u32, &f64)| Measured {
        repeat,
        value: Estimate {
            value: *value,
            half_width: None,
        },
    };
    (1..).zip(values).map(trial).collect()
}

fn one(value: f64, half_width: Option<f64>) -> [Measured; 1] {
    let value = Estimate { value, half_width };
    [Measured { repeat: 1, value }]
}

const A: [f64; 5] = [320.0, 325.0, 318.0, 322.0, 330.0];
const B: [f64; 5] = [305.0, 311.0, 300.0, 309.0, 312.0];

/// scipy 1.17.1, with the ratio's standard error written out: t from `stats.t`.
#[test]
fn pairs_and_repeats_are_what_another_program_computes() {
    let check = |question: &Question, half: f64, p: f64| {
        let found = compare(&trials(&A), &trials(&B), question).unwrap();
        assert!((found.change_pct.value + 4.829_721_36).abs() < 1e-7);
        let found_half = found.change_pct.half_width.unwrap();
        assert!((found_half - half).abs() < 1e-5, "{found_half}");
        assert!((found.p / p - 1.0).abs() < 1e-4, "{}", found.p);
        assert_eq!(found.decision, Decision::Slower);
        found.method
    };
    assert_eq!(
        check(&TPS, 0.877_145_05, 1.067_835_5e-4),
        Method::Pairs { pairs: 5 }
    );
    assert_eq!(
        check(&APART, 2.126_926_02, 8.030_667_8e-4),
        Method::Repeats { base: 5, new: 5 }
    );
}

/// Table of the paper on virtualisation (`papers/000`): 320 and 305 tps, 4.69 %.
#[test]
fn one_trial_each_has_its_own_seconds_only() {
    let found = compare(&one(320.0, Some(2.0)), &one(305.0, Some(2.0)), &TPS).unwrap();
    assert_eq!(format!("{:.2}", found.change_pct.value), "-4.69");
    assert_eq!(
        (found.method, found.decision),
        (Method::WithinRun, Decision::Slower)
    );
    // sqrt(2² + (305 / 320 * 2)²) / 320
    assert!((found.change_pct.half_width.unwrap() - 0.863_7).abs() < 1e-3);
    let unknown = compare(&one(320.0, None), &one(305.0, Some(2.0)), &TPS);
    assert_eq!(unknown, Err(NoComparison::NoInterval));
}

#[test]
fn the_sense_of_a_number_says_what_is_better() {
    let times = Question {
        sense: Sense::LowerIsBetter,
        ..TPS
    };
    let found = compare(&trials(&A), &trials(&B), &times).unwrap();
    assert_eq!(found.decision, Decision::Faster);
}

#[test]
fn noise_is_no_answer_and_says_how_much_would_be() {
    let (noisy, other) = ([100.0, 120.0, 80.0], [118.0, 85.0, 104.0]);
    let found = compare(&trials(&noisy), &trials(&other), &APART).unwrap();
    let Decision::TooNoisy { repeats_needed } = found.decision else {
        panic!("{found:?}");
    };
    assert!(repeats_needed > 100, "{repeats_needed}");
    assert!(found.decision.to_string().contains("would need about"));
    let hopeless = Decision::TooNoisy {
        repeats_needed: MOST_REPEATS,
    };
    assert!(hopeless.to_string().contains("10,000 repeats or more"));
    // Less than matters, and known to be.
    let same = compare(&trials(&A), &trials(&A.map(|value| value * 1.005)), &TPS).unwrap();
    assert_eq!(same.decision, Decision::NoDifferenceShown);
    assert_eq!(compare(&trials(&A), &trials(&A), &TPS).unwrap().p, 1.0);
}

/// The same sums with scipy: 52 pairs, 51 of each, and never fewer than two.
#[test]
fn repeats_needed_are_those_of_another_program() {
    let pairs = Method::Pairs { pairs: 5 };
    assert_eq!(repeats_needed(0.05, 0.02, pairs), 52);
    assert_eq!(repeats_needed(0.05, 0.02, Method::WithinRun), 51);
    assert_eq!(repeats_needed(0.001, 0.02, pairs), 2);
    assert_eq!(repeats_needed(50.0, 0.02, pairs), MOST_REPEATS);
}

#[test]
fn a_trial_that_is_missing_has_no_partner() {
    let mut other = trials(&B);
    other.remove(1);
    let found = compare(&trials(&A), &other, &TPS).unwrap();
    assert_eq!(found.method, Method::Pairs { pairs: 4 });
    // What is shown is what was compared.
    assert_eq!(found.base, (320.0 + 318.0 + 322.0 + 330.0) / 4.0);
    assert_eq!(compare(&[], &other, &TPS), Err(NoComparison::Nothing));
    let zero = trials(&[0.0, 0.0]);
    assert_eq!(compare(&zero, &other, &APART), Err(NoComparison::ZeroBase));
}

/// Twice the half width is 5.14 errors at five degrees of freedom, where p is 0.0036; of a
/// normal distribution it would be 0.00009, and sixteen such numbers at once would differ.
#[test]
fn single_runs_are_asked_little_of_their_tails() {
    let one = |value, half_width| {
        let half_width = Some(half_width);
        [Measured {
            repeat: 1,
            value: Estimate { value, half_width },
        }]
    };
    let exact = one(100.0, 0.0);
    let found = compare(&exact, &one(120.0, 10.0), &TPS).unwrap();
    assert!((found.p - 0.003_64).abs() < 1e-5, "{}", found.p);
    assert_eq!(found.change_pct.half_width.map(f64::round), Some(10.0));
    let mut family = [found; 16];
    correct(&mut family);
    assert!(family[0].p_corrected > 0.05);
    // Two repeats on a side have a single degree.
    let two = trials(&[119.0, 121.0]);
    assert!(compare(&exact, &two, &APART).unwrap().p > 0.02);
}

#[test]
fn a_sure_difference_below_what_matters_is_told_from_none() {
    let found = compare(
        &trials(&[100.0, 100.1, 99.9]),
        &trials(&[99.0, 99.1, 98.9]),
        &TPS,
    );
    let found = found.unwrap();
    assert_eq!(found.decision, Decision::NoDifferenceShown);
    assert_eq!(
        found.verdict(),
        "no difference shown that matters (below 2 %)"
    );
    let none = compare(&trials(&A), &trials(&A), &TPS).unwrap();
    assert_eq!(none.verdict(), "no difference shown");
}

/// Holm's own procedure by hand: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06.
#[test]
fn many_at_once_are_corrected() {
    let some = compare(&trials(&A), &trials(&B), &TPS).unwrap();
    let with = |p| Comparison { p, ..some };
    let mut family = [0.03, 0.01, 0.04, 0.02].map(with);
    correct(&mut family);
    let found = family.map(|comparison| (comparison.p_corrected * 1e6).round() / 1e6);
    assert_eq!(found, [0.06, 0.04, 0.06, 0.06]);
    let decisions = family.map(|comparison| comparison.decision == Decision::Slower);
    assert_eq!(decisions, [false, true, false, false]);
    correct(&mut []);
}
