//! Observes a trial: monitors sample machines and servers, probers ask the members of clusters, and
//! watches follow what happens around faults.

pub mod monitors;
pub(crate) mod probe;
pub(crate) mod watch;
