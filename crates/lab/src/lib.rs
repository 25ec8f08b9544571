//! The laboratory: starts the servers of a study with their data, drives all of them at once, and
//! monitors host and servers on the load's clock.
//!
//! [`run`] runs the trials: for each, `lab` starts the servers, `drive` drives them, and
//! `trial_loop` follows loads, monitors and servers and reports everything to an [`Observer`] as it
//! happens.

pub mod account;
mod broken_links;
mod build;
mod clean;
mod clock;
mod cluster;
mod copy;
pub mod doctor;
mod drive;
mod early_stop;
mod failure;
mod faults;
mod files;
mod find_max;
pub mod home;
mod instance;
mod ip;
mod lab;
mod ledger;
mod merge;
pub mod monitors;
pub mod needs;
mod observer;
mod preload;
mod prepare;
mod preview;
mod probe;
mod process;
mod rig;
mod run;
mod run_trial;
mod server_process;
pub mod servers;
mod settle;
pub mod site;
mod spec;
mod strangers;
mod study;
pub mod template;
#[cfg(test)]
mod testing;
mod threads;
mod tree;
mod trial;
mod trial_loop;
mod volume;
mod watch;

/// An open database.
pub type Database = std::sync::Arc<dyn engine::Database>;

/// The rows of a query's result.
type Rows = Vec<Vec<Option<String>>>;

pub use clean::{clean, clean_in};
pub use engine::Access;
pub use failure::{Exit, Fact, Failure};
pub use find_max::{find_max, max_trials};
pub use home::{Cleaned, Leftover};
pub use lab::Lab;
pub use observer::Observer;
pub use plan::shown_bytes;
pub use prepare::prepare;
pub use preview::{Preview, disk_of_cache, preview};
pub use run::Run;
pub use run_trial::{FinishedTrial, run as run_trial};
pub use spec::{config, installed};
pub use study::run;
pub use trial::{RunOptions, Target, Trial};
