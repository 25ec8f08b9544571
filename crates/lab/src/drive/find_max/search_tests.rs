use std::collections::BinaryHeap;

use measure::find_max::StepVerdict::{Held, Overloaded, Unsteady};

use super::*;

/// The verdict on a step and its value.
type Judged = (StepVerdict, f64);

fn step(rate_per_s: f64, long: bool, (verdict, value_ms): Judged) -> SearchStep {
    SearchStep {
        trial: 1,
        rate_per_s,
        achieved_per_s: None,
        mean_ms: None,
        value_ms: Some(value_ms),
        long,
        verdict,
        caveats: Vec::new(),
    }
}

/// The steps of a search in which `of` judges each rate, longer step, and step index.
fn search(
    capacity: f64,
    limit_ms: f64,
    mut of: impl FnMut(f64, bool, usize) -> Judged,
) -> (Vec<SearchStep>, SearchEnd) {
    let mut steps = Vec::new();
    loop {
        let search = Search {
            capacity,
            limit_ms,
            steps: &steps,
        };
        let (rate, long) = match search.next() {
            Next::Try(rate) => (rate, false),
            Next::Confirm(rate) => (rate, true),
            Next::End(end) => return (steps, end),
        };
        let judged = of(rate, long, steps.len());
        steps.push(step(rate, long, judged));
        assert!(steps.len() < MAX_TRIALS);
    }
}

/// A portable random number generator (SplitMix64, as published by its author).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, per_s: f64) -> f64 {
        -(1.0 - self.unit()).ln() / per_s
    }
}

/// Simulates M/M/c: one queue with `servers` servers, each with a service rate of `per_s`. Returns
/// the 99th percentile of the response times, in seconds, of the arrivals in `length_s` after a
/// warm-up, and how many are waiting at the end.
fn m_m_c(random: &mut Random, rate: f64, servers: usize, per_s: f64, length_s: f64) -> (f64, f64) {
    let warmup_s = length_s / 2.0;
    let mut free: BinaryHeap<std::cmp::Reverse<u64>> =
        (0..servers).map(|_| std::cmp::Reverse(0)).collect();
    let (mut now_s, mut times) = (0.0, Vec::new());
    let mut last_start_s = 0.0;
    while now_s < warmup_s + length_s {
        now_s += random.exponential(rate);
        let std::cmp::Reverse(free_ns) = free.pop().unwrap();
        let start_s = f64::max(now_s, free_ns as f64 / 1e9);
        let end_s = start_s + random.exponential(per_s);
        free.push(std::cmp::Reverse((end_s * 1e9) as u64));
        last_start_s = start_s;
        if now_s >= warmup_s {
            times.push(end_s - now_s);
        }
    }
    times.sort_by(f64::total_cmp);
    let p99 = times[times.len() * 99 / 100];
    (p99, (last_start_s - now_s).max(0.0) * rate)
}

/// The share of responses that take longer than `t_s` (Erlang C; Gross & Harris,
/// *Fundamentals of Queueing Theory*, the waiting time of M/M/c).
fn longer(t_s: f64, rate: f64, servers: usize, per_s: f64) -> f64 {
    let (c, a) = (servers as f64, rate / per_s);
    let mut inverse = 1.0;
    for n in 1..=servers {
        inverse = 1.0 + inverse * n as f64 / a;
    }
    let blocked = 1.0 / inverse;
    let waits = blocked / (1.0 - a / c * (1.0 - blocked));
    let spare = c - 1.0 - a;
    let served = (-per_s * t_s).exp();
    served * (1.0 + waits * (1.0 - (-per_s * t_s * spare).exp()) / spare)
}

/// The rate at which exactly 1 % of responses take longer than `limit_s`.
fn exact(limit_s: f64, servers: usize, per_s: f64) -> f64 {
    let (mut low, mut high) = (0.0, per_s * servers as f64 * 0.999_999);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        match longer(limit_s, middle, servers, per_s) < 0.01 {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// Runs a search against a simulated server.
fn find(seed: u64, servers: usize, per_s: f64, limit_s: f64) -> (Vec<SearchStep>, SearchEnd) {
    let mut random = Random(seed);
    search(per_s * servers as f64, limit_s, |rate, long, _| {
        let length_s = if long { 3.0 * 20.0 } else { 20.0 };
        let (p99, waiting) = m_m_c(&mut random, rate, servers, per_s, length_s);
        let is_overloaded = waiting > 0.05 * rate * length_s;
        (if is_overloaded { Overloaded } else { Held }, p99)
    })
}

#[test]
fn the_rate_of_a_simulated_server_is_found() {
    for (servers, per_s, limit_s) in [(1, 1000.0, 0.02), (4, 250.0, 0.05), (16, 100.0, 0.06)] {
        let exact = exact(limit_s, servers, per_s);
        let mut near = 0;
        for seed in 0..20 {
            let (steps, end) = find(seed, servers, per_s, limit_s);
            let search = Search {
                capacity: per_s * servers as f64,
                limit_ms: limit_s,
                steps: &steps,
            };
            let (held, failed) = (search.held().unwrap(), search.failed().unwrap());
            assert!(held < failed, "{search:?}");
            if let SearchEnd::Found { held_per_s, .. } = end {
                near += usize::from((held_per_s / exact - 1.0).abs() < 0.1);
            }
        }
        assert!(near >= 18, "{near} of 20 within 10 % of {exact}");
    }
}

#[test]
fn the_formula_holds_for_one_server() {
    // M/M/1: response times are exponential, with the spare capacity as their rate.
    let exact = exact(0.02, 1, 1000.0);
    let by_hand = 1000.0 - 100_f64.ln() / 0.02;
    assert!((exact - by_hand).abs() < 0.01, "{exact} {by_hand}");
}

#[test]
fn no_rate_is_found_if_a_single_transaction_exceeds_the_limit() {
    let (steps, end) = find(1, 4, 10.0, 0.02);
    let SearchEnd::NoRate { failed_per_s } = end else {
        panic!("{end:?}")
    };
    assert!(failed_per_s <= 40.0 * LOWEST * 1.01, "{failed_per_s}");
    assert!(steps.len() <= MAX_SHORT);
}

/// The rates of a search's steps, and whether each was a longer one.
fn path(limit_ms: f64, of: impl Fn(f64, usize) -> Judged) -> (Vec<(f64, bool)>, SearchEnd) {
    let (steps, end) = search(1000.0, limit_ms, |rate, _, index| of(rate, index));
    let path = steps.iter().map(|step| (step.rate_per_s, step.long));
    (path.collect(), end)
}

#[test]
fn rates_increase_by_a_factor_and_are_then_bisected() {
    let (path, end) = path(20.0, |rate, _| match rate <= 777.0 {
        true => (Held, 5.0),
        false => (Overloaded, 0.0),
    });
    let rates: Vec<f64> = path.iter().map(|(rate, _)| *rate).collect();
    assert_eq!(rates, [700.0, 840.0, 766.8, 802.6, 766.8, 802.6]);
    let long: Vec<bool> = path.iter().map(|(_, long)| *long).collect();
    assert_eq!(long, [false, false, false, false, true, true]);
    let wanted = SearchEnd::Found {
        held_per_s: 766.8,
        failed_per_s: 802.6,
    };
    assert_eq!(end, wanted);
}

#[test]
fn a_step_near_the_limit_is_repeated() {
    let (path, _) = path(20.0, |rate, index| match (rate as u32, index) {
        (700, 0) => (Held, 19.0),
        (700, _) => (Held, 22.0),
        (0..=699, _) => (Held, 3.0),
        _ => (Overloaded, 0.0),
    });
    // The mean of 19 and 22 exceeds the limit.
    assert_eq!(path[..3], [(700.0, false), (700.0, false), (350.0, false)]);
    let short = path.iter().filter(|(_, long)| !long);
    let twice = short.filter(|(rate, _)| *rate == 700.0).count();
    assert_eq!(twice, 2);
}

#[test]
fn an_unsteady_step_is_repeated() {
    let (steady, _) = path(20.0, |rate, index| match (rate < 800.0, index) {
        (true, 0) => (Unsteady, 5.0),
        (true, _) => (Held, 5.0),
        (false, _) => (Overloaded, 0.0),
    });
    assert_eq!(
        steady[..3],
        [(700.0, false), (700.0, false), (840.0, false)]
    );
    let (unsteady, end) = path(20.0, |_, _| (Unsteady, 5.0));
    assert!(matches!(
        end,
        SearchEnd::OutOfTrials { .. } | SearchEnd::NoRate { .. }
    ));
    assert!(unsteady.len() <= MAX_SHORT);
}

#[test]
fn a_rate_that_cannot_be_confirmed_does_not_hold() {
    let mut confirmed = Vec::new();
    let (_, end) = search(1000.0, 20.0, |rate, long, _| match long {
        false if rate < 790.0 => (Held, 5.0),
        false => (Overloaded, 0.0),
        true => {
            confirmed.push(rate);
            // The first longer step exceeds the limit.
            (Held, if confirmed.len() == 1 { 30.0 } else { 10.0 })
        }
    });
    let SearchEnd::Found {
        held_per_s,
        failed_per_s,
    } = end
    else {
        panic!("{end:?}")
    };
    assert_eq!(failed_per_s, confirmed[0]);
    assert_eq!(held_per_s, confirmed[1]);
    assert!(held_per_s < failed_per_s && failed_per_s <= held_per_s * RESOLUTION);
}

#[test]
fn a_longer_step_corrects_a_rate_that_failed_by_chance() {
    let (path, end) = path(20.0, |rate, index| match (rate > 830.0, index) {
        (true, _) => (Overloaded, 0.0),
        // A stall in the fourth step.
        (false, 3) => (Held, 90.0),
        (false, _) => (Held, 5.0),
    });
    assert_eq!(path[3], (802.6, false));
    assert!(path.contains(&(802.6, true)) && path.contains(&(840.0, true)));
    let wanted = SearchEnd::Found {
        held_per_s: 802.6,
        failed_per_s: 840.0,
    };
    assert_eq!(end, wanted);
}

#[test]
fn a_search_ends_at_its_maximum_of_trials() {
    // Every rate holds the limit, so the rate only increases.
    let (path, end) = path(20.0, |_, _| (Held, 1.0));
    assert_eq!(path.len(), MAX_SHORT);
    assert!(matches!(
        end,
        SearchEnd::OutOfTrials {
            held_per_s: Some(_),
            failed_per_s: None
        }
    ));
}

#[test]
fn rates_have_four_significant_digits() {
    assert_eq!(rounded(1234.567), 1235.0);
    assert_eq!(rounded(0.123_456), 0.1235);
    assert_eq!(rounded(987_654.0), 987_700.0);
}
