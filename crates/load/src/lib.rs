//! The load engine: virtual users as light tasks on a few worker threads.
//!
//! [`run`] opens all connections, warms up, measures second by second, and stops on transaction
//! boundaries. It is independent of studies and of storage: its caller receives each second as it
//! ends. Loads that share a [`Barrier`] start together, on one clock; those that share [`Turns`]
//! run alternately.

mod arrivals;
mod barrier;
mod clock;
mod control;
mod cpu;
mod cut;
mod memory;
mod outage;
mod outcome;
mod pulse;
mod record;
mod run;
mod runtime;
mod schedule;
mod spec;
mod stop;
mod tally;
mod texts;
mod timed_session;
mod turns;
mod user;
mod worker;

pub use barrier::Barrier;
pub use memory::release_memory;
pub use outcome::{LoadError, LoadEvent, LoadOutcome};
pub use plan::{Arrivals, Pace};
pub use pulse::Pulse;
pub use run::run;
pub use spec::{ANY_ERROR, End, LoadSpec, Part, STALL_LIMIT};
pub use stop::Stop;
pub use tally::Tally;
pub use turns::{Referee, Turn, Turns, TurnsSpec, rounds};

#[cfg(test)]
mod tests;
