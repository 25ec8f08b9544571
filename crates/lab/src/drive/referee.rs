//! The servers of variants that take turns: measures what they use in their own turns and in those of
//! the others, and freezes them while they wait.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use host::process::{self, ProcessChange, ProcessStat};
use load::{Referee, Stop};
use measure::metric::{MetricSummary, Metrics};
use measure::slice::Phase;
use measure::values::Values;

use crate::observe::monitors::MonitoredServer;
use crate::servers::{ProcessId, freeze};
use crate::{Failure, locked};

/// Freezes with signals, not with control groups: a process in the freezer of version 1 cannot be killed, so it
/// would outlive a killed dyno.
#[derive(Debug)]
pub(crate) struct ServersInTurns {
    /// The servers of each variant.
    variants: Vec<Vec<MonitoredServer>>,
    pauses: bool,
    /// Ends the loads if a server ignores a signal.
    stop: Arc<Stop>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The variant whose turn it is, the phase, and what the servers had used when it began.
    turn: Option<(usize, Phase, Vec<Reading>)>,
    /// What each variant used in its own turns, and in those of the others.
    used: Vec<[Used; 2]>,
    is_frozen: Vec<bool>,
    is_over: bool,
    failure: Option<(usize, Failure)>,
}

#[derive(Debug)]
struct Reading {
    at: Instant,
    /// The process ID and the counters of each server.
    servers: Vec<Option<(u32, ProcessStat)>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Used {
    seconds: f64,
    /// The sum over all servers, derived as if over one second; `None` if they cannot be read.
    sum: Option<ProcessChange>,
}

impl ServersInTurns {
    pub(crate) fn new(variants: Vec<Vec<MonitoredServer>>, pauses: bool, stop: Arc<Stop>) -> Self {
        let state = State {
            used: vec![<[Used; 2]>::default(); variants.len()],
            is_frozen: vec![false; variants.len()],
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            variants,
            pauses,
            stop,
        }
    }

    /// The processes of all servers, which are no foreign programs to any variant.
    pub(crate) fn processes(&self) -> Vec<ProcessId> {
        let servers = self.variants.iter().flatten();
        servers.map(|server| server.process.clone()).collect()
    }

    /// The metrics of a variant; `server.cpu` covers only its own turns.
    pub(crate) fn metrics(&self, variant: usize) -> Metrics {
        let state = locked(&self.state);
        let mut metrics = Metrics::new();
        let [own, idle] = state.used[variant];
        for (used, from, to) in [
            (own, "server.cpu", "server.cpu"),
            (idle, "server.cpu", "server.idle_cpu"),
            (idle, "server.write_mb_per_s", "server.idle_write_mb_per_s"),
        ] {
            let mean = used.per_s(from);
            metrics.extend(mean.map(|mean| {
                let (min, max) = (mean, mean);
                (to.to_owned(), MetricSummary { mean, min, max })
            }));
        }
        metrics
    }

    /// The variant whose servers could not be frozen or resumed, and why.
    pub(crate) fn failure(&self) -> Option<(usize, Failure)> {
        let mut state = locked(&self.state);
        state.failure.take()
    }

    /// Only servers on this host: other machines take too long to answer.
    fn read(&self) -> Vec<Reading> {
        let read = |server: &MonitoredServer| {
            let pid = server.process.get().filter(|_| server.site.is_here())?;
            Some((pid, process::read_family(server.site.files(), pid)?))
        };
        let variants = self.variants.iter().map(|servers| Reading {
            at: Instant::now(),
            servers: servers.iter().map(read).collect(),
        });
        variants.collect()
    }

    fn set_frozen(&self, state: &mut State, variant: usize, frozen: bool) {
        if std::mem::replace(&mut state.is_frozen[variant], frozen) == frozen {
            return;
        }
        let disobeys = |server: &MonitoredServer| {
            // Its trial notices if a server has died.
            let runs = |pid| process::read(server.site.files(), pid).is_some();
            server.is_own
                && !freeze(&*server.site, &server.process, frozen)
                && server.process.get().is_some_and(runs)
        };
        if self.variants[variant].iter().any(disobeys) {
            let message = "a server of a variant that takes turns ignored SIGSTOP or SIGCONT";
            let failure = (variant, Failure::server(message));
            state.failure.get_or_insert(failure);
            self.stop.interrupt();
        }
    }
}

impl Referee for ServersInTurns {
    fn turn(&self, next: Option<(u32, Phase)>) {
        let mut state = locked(&self.state);
        let now = self.read();
        if let Some((variant, Phase::Measure, all_before)) = state.turn.take() {
            for (index, (before, now)) in all_before.iter().zip(&now).enumerate() {
                let is_idle = index != variant;
                // A process that serves both variants is not idle.
                if is_idle && before.shares_process(&all_before[variant]) {
                    continue;
                }
                state.used[index][usize::from(is_idle)].add(before, now);
            }
        }
        let next = next.map(|(variant, phase)| (variant as usize, phase));
        state.is_over |= next.is_none();
        state.turn = next.map(|(variant, phase)| (variant, phase, now));
        if !self.pauses {
            return;
        }
        let waits = |state: &State, index| {
            !state.is_over && next.is_some_and(|(variant, _)| variant != index)
        };
        // The servers of the next variant are resumed first.
        for frozen in [false, true] {
            for index in 0..self.variants.len() {
                if waits(&state, index) == frozen {
                    self.set_frozen(&mut state, index, frozen);
                }
            }
        }
    }
}

impl Reading {
    fn shares_process(&self, other: &Self) -> bool {
        let pids = |reading: &Self| -> Vec<u32> {
            let servers = reading.servers.iter().flatten();
            servers.map(|(pid, _)| *pid).collect()
        };
        let others = pids(other);
        pids(self).iter().any(|pid| others.contains(pid))
    }
}

impl Used {
    fn add(&mut self, before: &Reading, now: &Reading) {
        let both = before.servers.iter().zip(&now.servers);
        // A partial sum would look like the total of all servers.
        let changes: Option<Vec<ProcessChange>> = both
            .map(|(before, now)| process::derive(&before.as_ref()?.1, &now.as_ref()?.1, 1.0))
            .collect();
        let Some(changes) = changes else {
            return;
        };
        self.seconds += now.at.duration_since(before.at).as_secs_f64();
        for change in &changes {
            self.sum.get_or_insert_default().add(change);
        }
    }

    fn per_s(&self, metric: &str) -> Option<f64> {
        let mut values = Values::default();
        let sum = self.sum.filter(|_| self.seconds > 0.0)?;
        sum.put("server", &mut values);
        sum.put_written("server", &mut values);
        Some(values.0.get(metric)? / self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;
    use crate::site::ThisHost;

    fn on(process: &Child) -> Vec<MonitoredServer> {
        vec![MonitoredServer {
            number: 1,
            site: Arc::new(ThisHost::default()),
            process: Some(process.id()).into(),
            directories: Vec::new(),
            database: None,
            is_own: false,
        }]
    }

    #[test]
    fn a_server_of_two_variants_does_not_wait_while_one_of_them_runs() {
        let sleeping = || Command::new("sleep").arg("600").spawn().unwrap();
        let mut servers = [sleeping(), sleeping()];
        let [both, one] = &servers;
        let variants = vec![on(both), on(both), on(one)];
        let referee = ServersInTurns::new(variants, false, Arc::default());
        let have = |name: &str| {
            let metrics = [0, 1, 2].map(|variant| referee.metrics(variant));
            metrics.map(|metrics| metrics.contains_key(name))
        };
        for variant in [0, 1] {
            referee.turn(Some((variant, Phase::Measure)));
        }
        referee.turn(Some((2, Phase::Measure)));
        assert_eq!(have("server.cpu"), [true, true, false]);
        assert_eq!(have("server.idle_cpu"), [false, false, true]);
        referee.turn(None);
        assert_eq!(have("server.cpu"), [true; 3]);
        assert_eq!(have("server.idle_cpu"), [true; 3]);
        for server in &mut servers {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
}
