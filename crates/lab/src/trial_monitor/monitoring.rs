//! The states of the monitors during a trial.

use std::sync::mpsc::Sender;

use measure::metric::Metrics;

use super::TrialMessage;
use crate::monitors::{self, Monitors, SampleClock};
use crate::observer::Observer;
use crate::rig::Rig;
use crate::trial::Trial;

pub(crate) enum Monitoring {
    /// They begin to sample with the load.
    Prepared(Monitors),
    Running(Monitors),
    Over(Metrics),
}

impl Monitoring {
    /// Prepares the monitors before the load keeps the servers busy.
    pub(crate) fn prepare(
        trial: &Trial,
        rig: &Rig,
        sender: &Sender<TrialMessage>,
        observer: &mut dyn Observer,
    ) -> Self {
        if !trial.planned.monitors {
            return Self::Over(Metrics::new());
        }
        let sender = sender.clone();
        // The trial may end before the monitors.
        let on_interval = Box::new(move |point| drop(sender.send(TrialMessage::Monitored(point))));
        match monitors::prepare(rig.monitored(), on_interval) {
            Ok(monitors) => Self::Prepared(monitors),
            Err(error) => {
                observer.note(&format!("cannot monitor host and servers: {error}"));
                Self::Over(Metrics::new())
            }
        }
    }

    /// Begins to sample, unless that has happened.
    pub(super) fn begin(&mut self, clock: SampleClock) {
        *self = match self.take() {
            Self::Prepared(monitors) => {
                monitors.begin(clock);
                Self::Running(monitors)
            }
            other => other,
        };
    }

    /// Takes the last sample, unless that has happened.
    pub(super) fn stop(&mut self) {
        *self = match self.take() {
            Self::Prepared(monitors) | Self::Running(monitors) => Self::Over(monitors.stop()),
            over => over,
        };
    }

    /// The metrics of the measure phase; none before the monitors have stopped.
    pub(super) fn take_metrics(&mut self) -> Metrics {
        match self.take() {
            Self::Over(metrics) => metrics,
            Self::Prepared(_) | Self::Running(_) => Metrics::new(),
        }
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Over(Metrics::new()))
    }
}
