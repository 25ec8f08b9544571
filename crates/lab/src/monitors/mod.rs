//! What host and servers did under load: a thread samples all of them once a second on the
//! load's clock.
//!
//! A sample has counters; two samples make the metrics of the interval between them
//! ([`sample`]). `host` reads those of the machine. `measure::metric::METRICS` names and
//! explains all metrics.

mod snapshot;
mod sampler;
mod window;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use measure::metric::{Metrics, MonitorPoint};
use measure::values;

use crate::Database;
use crate::servers::ProcessId;
use crate::site::Site;
use snapshot::{Snapshot, derive};
use sampler::Sampler;
use window::Window;

const SECOND: Duration = Duration::from_secs(1);
/// The shortest interval with metrics: the kernel counts CPU time in hundredths of a second.
const MIN_INTERVAL: Duration = Duration::from_millis(500);

/// What to monitor.
#[derive(Debug, Clone)]
pub struct Monitored {
    /// The machine that dyno runs on.
    pub site: Arc<dyn Site>,
    /// The servers under load.
    pub servers: Vec<MonitoredServer>,
}

/// A server to monitor, as far as it can be.
#[derive(Debug, Clone)]
pub struct MonitoredServer {
    /// From 1, as in the metrics' names.
    pub number: u32,
    /// Where it runs.
    pub site: Arc<dyn Site>,
    /// Its process, if that is known; followed when it restarts.
    pub process: ProcessId,
    /// Its data directory, if that is on its site.
    pub data_dir: Option<PathBuf>,
    /// What is asked for its counters: one connection is opened there.
    pub database: Option<Database>,
}

/// The load's clock, as far as the monitors need it.
#[derive(Debug, Clone, Copy)]
pub struct SampleClock {
    /// Zero of [`MonitorPoint::t_s`].
    pub origin: Instant,
    /// The first sample; others follow after each whole second…
    pub begin: Instant,
    /// …and at the start of the measure phase, from which seconds count anew.
    pub measure: Instant,
}

impl SampleClock {
    /// When the next sample is due after the one that was due at `due` and taken `at`. A late
    /// sample skips those that are past, and the next one if it is too near.
    fn after(&self, due: Instant, at: Instant) -> Instant {
        let missed = (at + MIN_INTERVAL).saturating_duration_since(due).as_secs();
        let next = due + SECOND + Duration::from_secs(missed);
        match due < self.measure {
            true => next.min(self.measure),
            false => next,
        }
    }
}

/// Running monitors. They end when dropped.
#[derive(Debug)]
pub struct Monitors {
    /// Ends the thread by being dropped.
    running: Sender<()>,
    thread: JoinHandle<Metrics>,
}

/// Starts to sample. `tell` gets the metrics of each interval as it ends, on the monitors'
/// thread. A server that cannot be reached is absent from the metrics and is retried; it does
/// not keep anything else from being sampled.
///
/// # Errors
/// When the system cannot create a thread.
pub fn start(
    watched: Monitored,
    clock: SampleClock,
    mut tell: Box<dyn FnMut(MonitorPoint) + Send>,
) -> std::io::Result<Monitors> {
    let (running, stop) = channel();
    let thread = std::thread::Builder::new()
        .name("dyno-monitors".to_owned())
        .spawn(move || watch(Sampler::new(watched), clock, &stop, &mut *tell))?;
    Ok(Monitors { running, thread })
}

impl Monitors {
    /// Takes the last sample and returns the metrics from the first sample of the measure phase
    /// to this one: none if the phase has not begun. Takes no longer than a server may take to
    /// answer, which is less than a second.
    #[must_use]
    pub fn stop(self) -> Metrics {
        drop(self.running);
        // A thread that panicked has no metrics.
        self.thread.join().unwrap_or_default()
    }
}

fn watch(
    mut sampler: Sampler,
    clock: SampleClock,
    stop: &Receiver<()>,
    tell: &mut dyn FnMut(MonitorPoint),
) -> Metrics {
    let mut window = Window::default();
    let mut last: Option<Snapshot> = None;
    let mut due = clock.begin;
    loop {
        let stopped = stopped_before(due, stop);
        let now = Instant::now();
        let sample = sampler.sample(now.saturating_duration_since(due));
        if let Some(before) = &last {
            tell_stretch(before, &sample, clock, &mut window, tell);
        }
        if now >= clock.measure {
            window.begin(&sample);
        }
        if stopped {
            return window.summarize(&sample);
        }
        // However long a server took to answer since.
        due = clock.after(due, sample.at);
        last = Some(sample);
    }
}

/// Waits until a sample is due; true if the monitors are stopped first.
fn stopped_before(due: Instant, stop: &Receiver<()>) -> bool {
    let wait = due.saturating_duration_since(Instant::now());
    stop.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected)
}

fn tell_stretch(
    before: &Snapshot,
    after: &Snapshot,
    clock: SampleClock,
    window: &mut Window,
    tell: &mut dyn FnMut(MonitorPoint),
) {
    let length = after.at.duration_since(before.at);
    if length < MIN_INTERVAL {
        return;
    }
    let seconds = length.as_secs_f64();
    let values = derive(before, after);
    window.add(&values, seconds);
    tell(MonitorPoint {
        t_s: before
            .at
            .saturating_duration_since(clock.origin)
            .as_secs_f64(),
        seconds,
        values: values.0,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_count_from_the_beginning_and_anew_from_the_measure_phase() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let clock = SampleClock {
            origin: begin,
            begin,
            measure: at(1500),
        };
        assert_eq!(clock.after(begin, at(1)), at(1000));
        assert_eq!(clock.after(at(1000), at(1001)), at(1500));
        assert_eq!(clock.after(at(1500), at(1501)), at(2500));
        assert_eq!(clock.after(at(2500), at(2999)), at(3500));
        // The next would be too near, or is over: it is lost.
        assert_eq!(clock.after(at(2500), at(3001)), at(4500));
        assert_eq!(clock.after(at(2500), at(6600)), at(7500));
        // The start of the measure phase never is.
        assert_eq!(clock.after(at(1000), at(9000)), at(1500));
    }
}
