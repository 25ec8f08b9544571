//! Searches for the highest rate on simulated hosts where it is known.
//!
//! `DYNO_TEST_ALL=1 cargo test -p measure --test integration find_max -- --nocapture` prints what
//! `benches/RESULTS.md` reports.

use crate::simulate::{Random, luck, runs};
use measure::find_max::pooled::{Probe, highest_rate};
use measure::find_max::probes::next_probe;

const SERVERS: usize = 8;
/// Completions per second of each server.
const PER_S: f64 = 500.0;
const LIMIT_S: f64 = 0.012;
const SHARE: f64 = 0.01;
const WARMUP_S: f64 = 5.0;
const PROBE_S: f64 = 20.0;
const MOST_PROBES: usize = 26;
const MANY: usize = 1000;

/// Stalls of exponential length make every arrival wait; the speed of a drifting host is an
/// autoregression over seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Calm,
    Stalling { per_s: f64, mean_s: f64 },
    Drifting { spread: f64, seconds: f64 },
}

const STALLING: Kind = Kind::Stalling {
    per_s: 0.2,
    mean_s: 0.01,
};
const DRIFTING: Kind = Kind::Drifting {
    spread: 0.03,
    seconds: 120.0,
};

/// From `at_s` on, the host does `speed` seconds of work per second; by then, it has done `work_s`.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    at_s: f64,
    work_s: f64,
    speed: f64,
}

struct Host {
    kind: Kind,
    random: Random,
    drift: f64,
    /// The speed in each second of all probes.
    speeds: Vec<f64>,
}

impl Host {
    fn new(kind: Kind, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let drift = random.normal();
        Self {
            kind,
            random,
            drift,
            speeds: Vec::new(),
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.random.chance()).ln() * mean
    }

    /// The stretches of this many seconds.
    fn stretches(&mut self, length_s: f64) -> Vec<Stretch> {
        let (mut at_s, mut work_s, mut all) = (0.0, 0.0, Vec::new());
        while at_s < length_s {
            let parts = match self.kind {
                Kind::Calm => vec![(length_s, 1.0)],
                Kind::Stalling { per_s, mean_s } => {
                    let between_s = self.exponential(1.0 / per_s);
                    vec![(between_s, 1.0), (self.exponential(mean_s), 0.0)]
                }
                Kind::Drifting { spread, seconds } => {
                    let keeps = (-1.0 / seconds).exp();
                    let shock = (1.0 - keeps * keeps).sqrt() * self.random.normal();
                    self.drift = keeps * self.drift + shock;
                    let speed = (spread * self.drift).exp();
                    self.speeds.push(speed);
                    vec![(1.0, speed)]
                }
            };
            for (part_s, speed) in parts {
                all.push(Stretch {
                    at_s,
                    work_s,
                    speed,
                });
                at_s += part_s;
                work_s += part_s * speed;
            }
        }
        all
    }

    /// Poisson arrivals at one queue with several servers, initially empty. Times are converted to
    /// work and back, so that the queue need not know of slow and stalled hosts.
    fn probe(&mut self, rate_per_s: f64, length_s: f64) -> Probe {
        let end_s = WARMUP_S + length_s;
        let stretches = self.stretches(end_s);
        let mut free = [0.0_f64; SERVERS];
        let (mut now_s, mut here, mut transactions, mut amount) = (0.0, 0, 0.0, 0.0);
        loop {
            now_s += self.exponential(1.0 / rate_per_s);
            if now_s >= end_s {
                break;
            }
            let next = |place: usize| stretches.get(place + 1);
            while next(here).is_some_and(|next| next.at_s <= now_s) {
                here += 1;
            }
            let arrived =
                stretches[here].work_s + (now_s - stretches[here].at_s) * stretches[here].speed;
            let server = (0..SERVERS)
                .min_by(|a, b| free[*a].total_cmp(&free[*b]))
                .unwrap();
            let done = f64::max(arrived, free[server]) + self.exponential(1.0 / PER_S);
            free[server] = done;
            if now_s < WARMUP_S {
                continue;
            }
            let mut place = here;
            while next(place).is_some_and(|next| next.work_s < done) {
                place += 1;
            }
            let done_s =
                stretches[place].at_s + (done - stretches[place].work_s) / stretches[place].speed;
            transactions += 1.0;
            amount += f64::from(u8::from(done_s - now_s > LIMIT_S));
        }
        Probe {
            rate_per_s,
            transactions,
            amount,
        }
    }

    /// The rate at which 1 % of the responses exceed the limit, over the seconds of the search.
    fn truth(&self) -> f64 {
        let speeds = match self.speeds.as_slice() {
            [] => &[1.0],
            speeds => speeds,
        };
        let (mut low, mut high) = (0.1, PER_S * SERVERS as f64 * 1.1);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            let slower = speeds.iter().map(|speed| slower(middle, PER_S * speed));
            match slower.sum::<f64>() / (speeds.len() as f64) < SHARE {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }
}

/// The share of responses beyond the limit (Erlang C; Gross & Harris, *Fundamentals of Queueing
/// Theory*, the waiting time of M/M/c).
fn slower(rate: f64, per_s: f64) -> f64 {
    let (servers, load) = (SERVERS as f64, rate / per_s);
    if load >= servers {
        return 1.0;
    }
    let mut inverse = 1.0;
    for n in 1..=SERVERS {
        inverse = 1.0 + inverse * n as f64 / load;
    }
    let blocked = 1.0 / inverse;
    let waits = blocked / (1.0 - load / servers * (1.0 - blocked));
    let spare = servers - 1.0 - load;
    let served = (-per_s * LIMIT_S).exp();
    served * (1.0 + waits * (1.0 - (-per_s * LIMIT_S * spare).exp()) / spare)
}

/// There is no formula for the rate of a stalling host: it is interpolated between two rates with
/// about 4,000 stalls each.
fn stalling_truth() -> f64 {
    let rates = [3200.0, 3340.0];
    let [low, high] = rates.map(|rate| {
        let (mut slow, mut all) = (0.0, 0.0);
        for seed in 0..8 {
            let probe = Host::new(STALLING, seed).probe(rate, 2500.0);
            slow += probe.amount;
            all += probe.transactions;
        }
        (slow / all / SHARE).ln()
    });
    let truth = rates[0] + (rates[1] - rates[0]) * low / (low - high);
    println!("the highest rate of the stalling host is {truth:.0}/s");
    truth
}

struct Searches {
    /// Share (0 to 1) of the intervals that hold the true rate.
    covered: f64,
    /// Root mean square of the relative errors.
    error: f64,
    probes: f64,
}

impl Searches {
    /// Few searches only show that the rate is found; many also show how often the interval holds it.
    #[track_caller]
    fn assert_found(&self, most_error: f64) {
        assert!(self.error < most_error, "{}", self.error);
        let enough = 0.93 - luck(0.93, MANY);
        assert!(count() < MANY || self.covered > enough, "{}", self.covered);
    }
}

fn searches(kind: Kind, truth: Option<f64>, count: usize) -> Searches {
    let (mut covered, mut squares, mut probes) = (0, 0.0, 0);
    for seed in 0..count {
        let mut host = Host::new(kind, 500_000 + seed as u64);
        let capacity = PER_S * SERVERS as f64 * (0.9 + 0.1 * host.random.chance());
        let mut done = Vec::new();
        while done.len() < MOST_PROBES
            && let Ok(rate) = next_probe(capacity, SHARE, &done)
        {
            done.push(host.probe(rate, PROBE_S));
        }
        let found = highest_rate(&done, SHARE).unwrap();
        let error = (found.per_s / truth.unwrap_or_else(|| host.truth())).ln();
        covered += usize::from(found.half_width.is_some_and(|half| error.abs() <= half));
        squares += error * error;
        probes += done.len();
    }
    let found = Searches {
        covered: covered as f64 / count as f64,
        error: (squares / count as f64).sqrt(),
        probes: probes as f64 / count as f64,
    };
    println!(
        "{kind:?}: {count} searches, {:.1} % covered, RMSE {:.2} %, {:.1} probes",
        found.covered * 100.0,
        found.error * 100.0,
        found.probes
    );
    found
}

/// All searches with `DYNO_TEST_ALL=1`, otherwise few: each simulates a million arrivals.
fn count() -> usize {
    match runs(MANY) {
        MANY => MANY,
        _ => 8,
    }
}

#[test]
fn the_rate_of_a_calm_host_is_found() {
    searches(Kind::Calm, None, count()).assert_found(0.015);
}

#[test]
fn the_rate_of_a_drifting_host_is_found() {
    searches(DRIFTING, None, count()).assert_found(0.03);
}

#[test]
fn the_rate_of_a_stalling_host_is_found() {
    if count() == MANY {
        searches(STALLING, Some(stalling_truth()), MANY).assert_found(0.04);
    }
}
