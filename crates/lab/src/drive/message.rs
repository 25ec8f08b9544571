//! What the threads of a running trial tell its loop.

use load::{LoadError, LoadEvent, LoadOutcome};
use measure::fault::FaultRecord;
use measure::instance::NodeEvent;
use measure::metric::MonitorPoint;

use crate::Failure;

pub(crate) enum TrialMessage {
    /// From the load of the instance with this index.
    Load(usize, LoadEvent),
    LoadEnded(usize, Result<LoadOutcome, LoadError>),
    Monitored(MonitorPoint),
    /// Something that happened to a node.
    Event(NodeEvent),
    /// The latest record of a fault and, if the trial cannot continue, the reason.
    Fault(Box<FaultRecord>, Option<Failure>),
    /// The trial cannot continue.
    Failed(Failure),
}
