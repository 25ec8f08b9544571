//! The laboratory: builds the servers of a study, gives each its data, drives all
//! of them at the same time, watches host and servers on the load's clock.

pub mod monitors;
pub mod servers;
