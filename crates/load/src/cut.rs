//! Cuts a running load into seconds.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use measure::slice::{Busy, Phase, Second, Slice};

use crate::cpu::{self, CpuTime};
use crate::record::Recorder;

/// Takes the slices and CPU times of all workers at the same instant.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    /// When the last second ended, on the load's clock.
    pub(crate) last_ns: u64,
    cpu: Vec<Option<CpuTime>>,
}

impl Cutter {
    /// Starts the first second.
    pub(crate) fn begin(&mut self, recorders: &[Arc<Recorder>], now_ns: u64) {
        self.last_ns = now_ns;
        self.cpu = cpu_times(recorders);
    }

    /// Takes everything that was recorded since the last cut.
    pub(crate) fn cut(
        &mut self,
        recorders: &[Arc<Recorder>],
        phase: Phase,
        now_ns: u64,
        backlog: Option<u64>,
    ) -> Second {
        // A full slice takes a megabyte: none is kept but those that are being recorded.
        let slices = recorders.iter().map(|recorder| recorder.take());
        let merged = slices.reduce(|mut merged, slice| {
            merged.merge(&slice);
            merged
        });
        let start_ns = std::mem::replace(&mut self.last_ns, now_ns);
        Second {
            start_ns,
            end_ns: now_ns,
            phase,
            slice: merged.unwrap_or_else(|| Slice::new(0)),
            backlog,
            workers: self.busy(recorders, now_ns - start_ns),
        }
    }

    /// How each worker spent the last `length_ns`; empty if the kernel does not report it.
    fn busy(&mut self, recorders: &[Arc<Recorder>], length_ns: u64) -> Vec<Busy> {
        let times = cpu_times(recorders);
        let before = std::mem::replace(&mut self.cpu, times.clone());
        let length_s = length_ns.max(1) as f64 / 1e9;
        let share = |now: Duration, then: Duration| {
            (now.saturating_sub(then).as_secs_f64() / length_s).min(1.0)
        };
        times
            .into_iter()
            .zip(before)
            .filter_map(|(now, then)| {
                let (now, then) = (now?, then?);
                Some(Busy {
                    running: share(now.running, then.running),
                    waiting: share(now.waiting, then.waiting),
                })
            })
            .collect()
    }
}

fn cpu_times(recorders: &[Arc<Recorder>]) -> Vec<Option<CpuTime>> {
    let time = |recorder: &Arc<Recorder>| cpu::thread_time(recorder.thread.load(Ordering::Relaxed));
    recorders.iter().map(time).collect()
}
