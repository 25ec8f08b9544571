//! Little's law as a consistency check of a trial's numbers.
//!
//! The mean number in a system is the rate times the mean time that each spends in it (Little, "A
//! proof for the queuing formula L = λW", Operations Research 9, 1961; Denning and Buzen, "The
//! operational analysis of queueing network models", Computing Surveys 10, 1978, show it for what
//! was measured, without any assumption). In a closed loop, virtual users = throughput × (response
//! time + think time); in an open loop, throughput × response time = throughput × service time +
//! backlog. If the law is violated, some time is in no number of the trial.

use hdrhistogram::Counter;
use serde::{Deserialize, Serialize};

use crate::interval::Estimate;
use crate::latency::Latency;
use crate::summary::TrialSummary;

/// Allowed difference in a closed loop, as a share of the users.
pub(crate) const CLOSED: f64 = 0.05;
/// Allowance for the edges of a trial, in standard deviations.
const EDGES: f64 = 2.0;
/// Allowance in an open loop, where the backlog is sampled only once per second: its 95 % interval,
/// this share of the backlog…
pub(crate) const OPEN: f64 = 0.2;
/// …and this many users.
pub(crate) const OPEN_USERS: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Little {
    /// Virtual users (closed loop), or the mean number of transactions served and waiting (open
    /// loop).
    pub users: f64,
    /// Throughput times the time in the system, which should equal `users`.
    pub accounted: f64,
    pub allowed: f64,
}

impl Little {
    /// For a trial and its response times; `backlog` is the mean number of arrivals that were due
    /// and not started, in an open loop. `None` if no transaction completed, or if an open loop was
    /// too short to tell how uncertain its backlog is.
    pub fn of<C: Counter>(
        trial: &TrialSummary,
        responses: &Latency<C>,
        backlog: Option<Estimate>,
    ) -> Option<Self> {
        let per_s = trial.transactions.per_s?.value;
        let response_s = trial.response_ms?.mean.value / 1e3;
        let found = match backlog {
            None => closed(trial, per_s, response_s, edges_s(responses)),
            Some(backlog) => {
                let service_s = trial.service_ms?.mean.value / 1e3;
                let users = per_s * service_s + backlog.value;
                Self {
                    users,
                    accounted: per_s * response_s,
                    allowed: OPEN_USERS + OPEN * users + backlog.half_width?,
                }
            }
        };
        Some(found).filter(|found| found.accounted.is_finite() && found.allowed.is_finite())
    }

    /// Whether the difference is within the allowance.
    pub fn holds(&self) -> bool {
        (self.users - self.accounted).abs() <= self.allowed
    }
}

fn closed(trial: &TrialSummary, per_s: f64, response_s: f64, edges_s: f64) -> Little {
    let planned = &trial.setup.planned;
    let (users, think_s) = (planned.users() as f64, planned.load.think.as_secs_f64());
    // Between the arrival of its last reply and its next start, a user is in neither number.
    let delay_ms = trial.generator.delay_ms;
    let delay_s = delay_ms.map_or(0.0, |delay_ms| delay_ms.mean.value / 1e3);
    Little {
        users,
        accounted: per_s * (response_s + delay_s + think_s),
        // Users that start together and pause equally are in step: all may have one pause more or
        // less within the trial.
        allowed: users * (CLOSED + (edges_s + think_s) / between_edges_s(trial)),
    }
}

/// The whole trial, or, if variants take turns, the counted part of a block, of which the beginning
/// is left out: all users start together in each, so that errors may be alike.
fn between_edges_s(trial: &TrialSummary) -> f64 {
    const COUNTED: f64 = 0.5;
    let turns = trial.setup.planned.turns();
    let counted_s = turns.map(|turns| COUNTED * turns.block.as_secs_f64());
    counted_s.map_or(trial.measured_s, |block_s| block_s.min(trial.measured_s))
}

/// How many seconds of a user's time may be miscounted: a transaction that is running at the
/// beginning counts with all its time, and one that is running at the end with none. Its age at
/// either edge follows from renewal theory (Cox, *Renewal Theory*, 1962, chapter 5): an edge meets
/// a long transaction more often than a short one, so the age has the mean E(X²)/2E(X) and the mean
/// square E(X³)/3E(X). What delays a transaction delays all users at once, so their errors do not
/// cancel.
fn edges_s<C: Counter>(responses: &Latency<C>) -> f64 {
    let [first, second, third] = [1, 2, 3].map(|power| responses.moment_s(power));
    let mean = second / (2.0 * first);
    let variance = (third / (3.0 * first) - mean * mean).max(0.0);
    EDGES * (2.0 * variance).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::trial;

    fn with(threads: u32, per_s: f64, response_ms: f64, think_s: f64) -> TrialSummary {
        let mut trial = trial();
        trial.setup.planned.load.threads = threads;
        trial.setup.planned.load.think = std::time::Duration::from_secs_f64(think_s);
        trial.transactions.per_s = Some(Estimate::exact(per_s));
        trial.response_ms.as_mut().unwrap().mean = Estimate::exact(response_ms);
        trial
    }

    /// As if every transaction took the mean time.
    fn of(trial: &TrialSummary, backlog: Option<Estimate>) -> Option<Little> {
        let mean_ms = trial.response_ms.unwrap().mean.value;
        let mut responses = Latency::new();
        responses.record((mean_ms * 1e6) as u64);
        Little::of(trial, &responses, backlog)
    }

    /// If transactions always take 12 ms, their age is evenly distributed, with a deviation of 12 /
    /// sqrt(12). If their duration is exponential, the deviation is the mean.
    #[test]
    fn edges_are_as_uncertain_as_the_age_of_what_runs_then() {
        let mut even = Latency::new();
        even.record(12_000_000);
        let expected = 2.0 * 2_f64.sqrt() * 0.012 / 12_f64.sqrt();
        assert!((edges_s(&even) / expected - 1.0).abs() < 0.01);
        let mut chance = Latency::new();
        for place in 0..100_000 {
            let share = (f64::from(place) + 0.5) / 100_000.0;
            chance.record((-share.ln() * 1e7) as u64);
        }
        let expected = 2.0 * 2_f64.sqrt() * 0.010;
        assert!((edges_s(&chance) / expected - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_generators_own_delay_is_accounted_for() {
        let mut trial = with(4, 100.0, 10.0, 0.0);
        assert!(!of(&trial, None).unwrap().holds());
        let mut delay_ms = trial.response_ms.unwrap();
        delay_ms.mean.value = 30.0;
        trial.generator.delay_ms = Some(delay_ms);
        assert!(of(&trial, None).unwrap().holds());
    }

    /// Eight users of an embedded engine: most transactions take 1 ms, some wait for two seconds,
    /// and such a wait is in progress at the end of ten seconds.
    #[test]
    fn a_rare_long_wait_at_an_edge_is_no_lost_time() {
        let mut responses = Latency::new();
        (0..10_000).for_each(|_| responses.record(1_000_000));
        (0..10).for_each(|_| responses.record(2_000_000_000));
        let mut trial = with(8, 2500.0, 3.0, 0.0);
        trial.measured_s = 10.0;
        let found = Little::of(&trial, &responses, None).unwrap();
        assert!(found.accounted == 7.5 && found.holds(), "{found:?}");
        trial.measured_s = 300.0;
        assert!(!Little::of(&trial, &responses, None).unwrap().holds());
    }

    /// From a table of the paper `papers/004` (vSAN): 32 threads, 2,368 tps, 13.5 ms; and its other
    /// rows.
    #[test]
    fn a_published_trial_obeys_it() {
        for (threads, per_s, response_ms) in [
            (32, 2368.0, 13.5),
            (64, 4038.0, 15.84),
            (128, 6609.0, 19.37),
        ] {
            let found = of(&with(threads, per_s, response_ms, 0.0), None).unwrap();
            assert!(found.holds(), "{found:?}");
        }
        // One thread, 362 tps and 2.75 ms.
        assert!(of(&with(1, 362.0, 2.75, 0.0), None).unwrap().holds());
    }

    #[test]
    fn time_that_went_elsewhere_shows() {
        let lost = of(&with(32, 2000.0, 13.5, 0.0), None).unwrap();
        assert!(!lost.holds() && (lost.accounted - 27.0).abs() < 1e-9);
        // Unless a think time was requested.
        assert!(of(&with(32, 2000.0, 13.5, 0.0025), None).unwrap().holds());
    }

    /// Eight users that pause for five seconds: each completes seven transactions in 32 s.
    #[test]
    fn users_that_pause_in_step_lose_no_time() {
        let mut trial = with(8, 8.0 * 7.0 / 32.0, 10.0, 5.0);
        trial.measured_s = 32.0;
        let found = of(&trial, None).unwrap();
        assert!(found.accounted > 8.7 && found.holds(), "{found:?}");
    }

    #[test]
    fn an_open_loop_is_served_and_waits() {
        let backlog = |value, half_width| Some(Estimate { value, half_width });
        let mut open = with(64, 1000.0, 30.0, 0.0);
        let even = Some(0.5);
        assert_eq!(of(&open, backlog(20.0, even)), None);
        open.service_ms = open.response_ms;
        open.service_ms.as_mut().unwrap().mean.value = 10.0;
        let holds = |backlog| of(&open, backlog).map(|found| found.holds());
        assert_eq!(holds(backlog(20.0, even)), Some(true));
        assert_eq!(holds(backlog(200.0, even)), Some(false));
        // A backlog that comes in bursts is less certain, and that of a few seconds is unknown.
        assert_eq!(holds(backlog(200.0, Some(150.0))), Some(true));
        assert_eq!(holds(backlog(200.0, None)), None);
    }
}
