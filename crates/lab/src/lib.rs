//! The laboratory: starts the servers of a study with their data, drives all of them at once, and
//! monitors host and servers on the load's clock.
//!
//! In the order of time: [`run`] runs the trials of a study, [`run_trial`] one of them, and `start`
//! those of variants that take turns, at once. `setup` starts what it drives, `drive` drives it,
//! `observe` watches it, `faults` breaks it, and `ledger` checks what its servers kept. Everything is
//! reported to an [`Observer`] as it happens.

pub mod doctor;
mod drive;
mod failure;
mod faults;
mod fleet;
#[cfg(test)]
mod for_tests;
mod hosts;
mod ledger;
mod observe;
mod observer;
mod run_trial;
mod setup;
mod start;
mod study;
mod takes_turns;
mod trial;
mod work;

use drive::threads;
use machine::{account, copy, home, ip, locked, port, process, site, tree, volume};
use setup::cluster::{Cluster, Member};
use setup::rig::{Instance, Rig};
use setup::{server_process, spec};

pub type Database = std::sync::Arc<dyn engine::Database>;

type Rows = Vec<Vec<Option<String>>>;

pub use crate::fleet::{GATHER_LIMIT, check_agents, gather, run_order};
pub use drive::find_max::{MAX_SEARCH_TRIALS, find_max};
pub use drive::start::counted;
pub use engine::Access;
pub use failure::{Exit, Fact, Failure};
pub use hosts::serve as serve_host;
pub use observe::monitors;
pub use observer::{Observer, Progress, Run};
pub use plan::shown_bytes;
pub use run_trial::run as run_trial;
pub use setup::data::prepare;
pub use setup::spec::{config, installed, preview};
pub use setup::{Lab, clean, clean_in, disk_of_cache, needs, servers, template};
pub use study::run;
pub use takes_turns::{against_turns, alternate, settle_turns};
pub use trial::{FinishedTrial, RunOptions, Target, Trial};
pub use work::Workload;
