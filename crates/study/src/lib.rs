//! From a study file to a plan: text in, an ordered list of trials out.
//!
//! [`Study`] is what was typed, with the place of every value; [`Plan`] is what
//! it means. The crate reads no file, opens no socket and prints nothing.
//!
//! To add a key: a line in `key.rs`, a field in `spec.rs`, a line in `build.rs`.
//! Checks, overrides, axes, suggestions and the reference page follow.

mod build;
mod check;
mod duration;
mod error;
mod key;
mod nesting;
mod overrides;
mod plan;
mod read;
mod redact;
mod reference;
mod render;
mod source;
mod span;
mod spec;
mod study;
mod suggest;
mod syntax;
mod value;
mod walk;

pub use duration::{DurationError, format_duration, parse_duration};
pub use error::{Location, Problem, StudyError};
pub use plan::{Plan, Trial};
pub use reference::reference_markdown;
pub use span::{Span, Spanned};
pub use spec::{Arrivals, DataSpec, Engine, LoadSpec, Pace, ServerSpec, ServerUrl};
pub use study::{MAX_FILE_BYTES, MAX_TRIALS, Study};
