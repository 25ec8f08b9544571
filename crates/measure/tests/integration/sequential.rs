//! Comparisons that are looked at several times: what they call different, and what they find.

use crate::simulate::{Random, luck, runs, share};
use measure::compare::{
    Block, Boundary, Decision, LEAST, Look, Measured, Question, Sense, carry_over, compare, looks,
};
use measure::interval::Estimate;

/// Two variants that take turns in each start: ABBA or BAAB.
struct Host {
    /// Standard deviations of the log ratio from start to start, and from pair to pair.
    sd_start: f64,
    sd_pair: f64,
    pairs: usize,
}

const NOISY: Host = Host {
    sd_start: 0.01,
    sd_pair: 0.1,
    pairs: 10,
};
const VERY_NOISY: Host = Host {
    sd_pair: 0.15,
    ..NOISY
};

impl Host {
    /// The blocks of a start in which the new variant is faster by `change`, and a block changes the
    /// rate of the next one by `carried` if that belongs to the other variant.
    fn start(&self, random: &mut Random, [change, carried]: [f64; 2]) -> Vec<Block> {
        let of_start = change.ln_1p() + self.sd_start * random.normal();
        let mut order = Vec::new();
        for _ in 0..self.pairs / 2 {
            let first = usize::from(random.chance() < 0.5);
            order.extend([first, 1 - first, 1 - first, first]);
        }
        let mut before = order[0];
        let blocks = order.into_iter().map(|variant| {
            let noise = self.sd_pair / 2_f64.sqrt() * random.normal();
            let disturbed = match variant {
                1 if before == 0 => carried,
                _ => 0.0,
            };
            before = variant;
            let log = variant as f64 * of_start + disturbed + noise;
            let rate = 1000.0 * log.exp();
            Block { variant, rate }
        });
        blocks.collect()
    }

    /// Looks at a study after each of some numbers of starts until it ends; the last look, and how many
    /// starts there were.
    fn study(
        &self,
        random: &mut Random,
        change: f64,
        looks: &[u32],
        boundary: Boundary,
    ) -> (Look, u32) {
        let question = Question {
            boundary: Some(boundary),
            ..QUESTION
        };
        let mut sides = [Vec::new(), Vec::new()];
        for repeat in 1.. {
            let blocks = self.start(random, [change, 0.0]);
            for (variant, side) in sides.iter_mut().enumerate() {
                let own = blocks.iter().filter(|block| block.variant == variant);
                // Blocks of equal length: the sum of transactions over the sum of time.
                let value = Estimate::exact(own.map(|block| block.rate).sum());
                side.push(Measured { repeat, value });
            }
            if looks.contains(&repeat) {
                let look = compare(&sides[0], &sides[1], &question).unwrap().at_look(1);
                if !look.goes_on {
                    return (look, repeat);
                }
            }
        }
        unreachable!()
    }
}

const QUESTION: Question = Question {
    sense: Sense::HigherIsBetter,
    interleaved: true,
    restarted: true,
    least: LEAST,
    boundary: None,
};

/// Of normal log ratios, whatever ends the series.
#[test]
fn intervals_of_all_looks_hold_the_truth_at_once() {
    let mut random = Random::new(20_261_125);
    let series = runs(300_000);
    for (looks, error_rate) in [
        (&[6, 8, 10][..], 0.05),
        (&[6, 8, 12, 16, 20], 0.05),
        (&[6, 8, 12, 16, 20], 0.05 / 4.0),
        (&[3, 4, 5, 6], 0.05),
    ] {
        let boundary = Boundary::new(looks);
        let constants: Vec<f64> = looks
            .iter()
            .map(|&n| boundary.critical(error_rate, n))
            .collect();
        let missed = share(series, || {
            let (mut sum, mut squares, mut starts) = (0.0, 0.0, 0);
            looks.iter().zip(&constants).any(|(look, constant)| {
                while starts < *look {
                    let value = random.normal();
                    sum += value;
                    squares += value * value;
                    starts += 1;
                }
                let n = f64::from(starts);
                let variance = (squares - sum * sum / n) / (n - 1.0);
                (sum / n).abs() > constant * (variance / n).sqrt()
            })
        });
        println!(
            "looks {looks:?}, {error_rate}: {constants:.3?}, missed in {:.2} %",
            100.0 * missed
        );
        let off = (missed - error_rate).abs();
        assert!(
            off <= 0.002 * error_rate / 0.05 + luck(error_rate, series),
            "{missed}"
        );
    }
}

struct Found {
    different: f64,
    right: f64,
    held: f64,
    starts: f64,
}

fn studies(host: &Host, change: f64, most: u32, random: &mut Random) -> Found {
    let looks = looks(most);
    let boundary = Boundary::new(&looks);
    let count = runs(STUDIES);
    let mut sums = [0.0; 4];
    for _ in 0..count {
        let (look, starts) = host.study(random, change, &looks, boundary);
        let decision = look.comparison.decision;
        let interval = look.comparison.change_pct.interval.unwrap();
        let is_different = matches!(decision, Decision::Faster | Decision::Slower);
        let is_right = match change {
            0.0 => decision == Decision::Equivalent,
            _ => decision == Decision::Slower,
        };
        let is_held = (interval.low..=interval.high).contains(&(100.0 * change));
        let flags = [is_different, is_right, is_held].map(|is| f64::from(u8::from(is)));
        for (sum, value) in sums
            .iter_mut()
            .zip(flags.into_iter().chain([f64::from(starts)]))
        {
            *sum += value / count as f64;
        }
    }
    let [different, right, held, starts] = sums;
    println!(
        "{:+.0} %, pairs {} %, at most {most} starts: different {:.1} %, right {:.1} %, held {:.1} %, {starts:.1} starts",
        100.0 * change,
        100.0 * host.sd_pair,
        100.0 * different,
        100.0 * right,
        100.0 * held,
    );
    Found {
        different,
        right,
        held,
        starts,
    }
}

const STUDIES: usize = 4000;

#[test]
fn five_per_cent_is_found_and_nothing_is_not() {
    let mut random = Random::new(20_261_126);
    let margin = luck(0.05, runs(STUDIES));
    for most in [10, 20] {
        for host in [NOISY, VERY_NOISY] {
            let same = studies(&host, 0.0, most, &mut random);
            assert!(same.different <= 0.05 + margin);
            let slower = studies(&host, -0.05, most, &mut random);
            assert!(same.held.min(slower.held) >= 0.95 - margin);
            if host.sd_pair == NOISY.sd_pair {
                assert!(slower.right >= 0.9, "{}", slower.right);
                assert!(slower.starts < 10.0, "{}", slower.starts);
            }
        }
    }
}

/// Starts that a study which ended undecided asks for decide as many as they promise.
#[test]
fn as_many_more_starts_as_are_asked_for_decide() {
    let mut random = Random::new(20_261_127);
    let boundary = Boundary::new(&looks(10));
    let (mut ended, mut decided) = (0, 0);
    for _ in 0..runs(500) {
        let (look, _) = VERY_NOISY.study(&mut random, -0.05, &looks(10), boundary);
        let repeats = look.comparison.decision.repeats_needed();
        // Boundaries of many starts take long to compute; with more, more would decide.
        let Some(most) = repeats.filter(|repeats| *repeats <= 100) else {
            continue;
        };
        let again = looks(most);
        let (look, _) = VERY_NOISY.study(&mut random, -0.05, &again, Boundary::new(&again));
        ended += 1;
        decided += usize::from(look.comparison.is_conclusive());
    }
    let share = decided as f64 / ended as f64;
    println!(
        "{ended} undecided, with the starts asked for {:.1} % decided",
        100.0 * share
    );
    assert!(share >= 0.8 - luck(0.8, ended), "{share}");
}

/// Carry-over is found where blocks are steady, and turns without it are rarely called unfair.
#[test]
fn carry_over_is_found() {
    let mut random = Random::new(20_261_128);
    let studies = runs(2000);
    for (sd_pair, carried) in [(0.1, 0.0), (0.1, 0.1), (0.02, 0.0), (0.02, 0.03)] {
        let host = Host {
            sd_pair,
            pairs: 20,
            ..NOISY
        };
        let mut counts = [0; 3];
        for _ in 0..studies {
            let starts: Vec<_> = (0..10)
                .map(|_| host.start(&mut random, [-0.05, carried]))
                .collect();
            let found = carry_over(&starts, None).unwrap();
            let place = match found.decision {
                Decision::Equivalent => 0,
                Decision::Faster | Decision::Slower => 1,
                _ => 2,
            };
            counts[place] += 1;
        }
        let [fair, unfair, unknown] = counts.map(|count| f64::from(count) / studies as f64);
        println!(
            "carry-over of {carried}, pairs {sd_pair}: fair {fair:.3}, unfair {unfair:.3}, unknown {unknown:.3}"
        );
        match carried {
            0.0 => assert!(unfair <= 0.05 + luck(0.05, studies)),
            _ => assert!(unfair > 0.8 && fair <= 0.025),
        }
    }
}
