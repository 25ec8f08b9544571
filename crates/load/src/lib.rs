//! The load engine: virtual users as light tasks on a few worker threads.
//!
//! [`run`] is the story: open all connections, warm up, measure second by
//! second, stop on transaction boundaries. It knows no study and no storage; what
//! it measures goes to its caller as it happens. Several loads share a [`Barrier`]:
//! they begin together, on one clock.

mod absence;
mod arrivals;
mod barrier;
mod control;
mod cpu;
mod cut;
mod outage;
mod record;
mod run;
mod shared;
mod spec;
mod stop;
mod timed;
mod user;
mod worker;

pub use barrier::Barrier;
pub use run::{Event, LoadError, LoadOutcome, run};
pub use spec::{Arrivals, End, LoadSpec, Pace, STALL_LIMIT};
pub use stop::Stop;
