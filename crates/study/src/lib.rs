//! From a study file to a plan: text in, an ordered list of trials out.
//!
//! [`Study`] is what was typed, with the place of every value; [`plan::Plan`] is what
//! it means. The crate reads no file, opens no socket and prints nothing.
//!
//! The way of the text: `syntax` (TOML), `walk` (keys and values), `content`
//! (what was typed), `check` and `effect` (whether it fits together), `point` and
//! `build` (what it means), `order` (in which order it runs).
//!
//! To add a key: a line in `plan::key`, a field in `plan`, a line in `build.rs`.
//! Checks, overrides, axes, variants, suggestions and the reference page follow.

mod build;
mod check;
mod content;
mod effect;
mod engines;
mod error;
mod events;
mod name;
mod nesting;
mod order;
mod point;
mod read;
mod reference;
mod render;
mod setting;
mod source;
mod study;
mod suggest;
mod syntax;
mod walk;

pub use error::{Location, Problem, StudyError};
pub use reference::reference_markdown;
pub use study::{MAX_FILE_BYTES, MAX_TRIALS, Study};
pub use walk::overrides::read_option;
