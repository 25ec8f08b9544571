//! Turns the text of a study file into a plan, which is an ordered list of trials.
//!
//! [`Study`] is the study as written, with the location of every value; [`plan::Plan`] is
//! what it means. The crate reads no file, opens no socket and prints nothing.
//!
//! The text passes through `syntax` (TOML) and `walk` (keys and values) to `content` (the study as
//! written). `check` expands it: for each `point`, `trial` builds the first trial, and `rules`,
//! `faults`, and `chaos` check that; `effect` refuses what no trial read. `repeats` and `order` make
//! the plan.
//!
//! To add a key: a line in `plan::key`, a field in `plan`, a line in `trial.rs`.
//! Overrides, axes, variants, suggestions and the reference page follow; a key that `trial.rs` does
//! not read has no effect.

mod chaos;
mod check;
mod content;
mod effect;
mod error;
mod faults;
mod fleet;
mod hosts;
mod items;
mod name;
mod order;
mod pair;
mod point;
mod read;
mod repeats;
mod rules;
mod servers;
mod setting;
mod source;
mod study;
mod suggest;
mod syntax;
mod trial;
mod volume;
mod walk;
mod written;

pub use check::MAX_TRIALS;
pub use error::{Problem, StudyError};
pub use pair::SIDES;
pub use study::{MAX_FILE_BYTES, Study, Vocabulary};
pub use walk::overrides::read_option;
pub use written::{fault_toml, quoted, value_toml};
