//! The laboratory: starts the servers of a study with their data, drives all of them at once, and
//! monitors host and servers on the load's clock.
//!
//! In the order of time: [`run`] runs the trials of a study, [`run_trial`] one of them. `setup`
//! starts what it drives, `drive` drives it, `observe` watches it, `faults` breaks it, and `ledger`
//! checks what its servers kept. Everything is reported to an [`Observer`] as it happens.

pub mod doctor;
mod drive;
mod failure;
mod faults;
mod ledger;
mod observe;
mod observer;
mod run;
mod run_trial;
mod setup;
mod study;
#[cfg(test)]
mod testing;
mod trial;

use drive::{clock, files, threads};
use machine::{account, copy, home, ip, port, process, site, tree, volume};
use setup::{cluster, instance, rig, server_process, spec};

/// An open database.
pub type Database = std::sync::Arc<dyn engine::Database>;

/// The rows of a query's result.
type Rows = Vec<Vec<Option<String>>>;

pub use drive::find_max::{find_max, max_trials};
pub use engine::Access;
pub use failure::{Exit, Fact, Failure};
pub use observe::monitors;
pub use observer::Observer;
pub use plan::shown_bytes;
pub use run::Run;
pub use run_trial::{FinishedTrial, run as run_trial};
pub use setup::Lab;
pub use setup::clean::{clean, clean_in};
pub use setup::prepare::prepare;
pub use setup::preview::{Preview, disk_of_cache, preview};
pub use setup::spec::{config, installed};
pub use setup::{needs, servers, template};
pub use study::run;
pub use trial::{RunOptions, Target, Trial};
