//! From a study file to a plan: text in, an ordered list of trials out.
//!
//! [`Study`] is what was typed, with the place of every value; [`Plan`] is what
//! it means. The crate reads no file, opens no socket and prints nothing.
//!
//! The way of the text: `syntax` (TOML), `walk` (keys and values), `content`
//! (what was typed), `check` and `effect` (whether it fits together), `point` and
//! `build` (what it means), `order` (in which order it runs).
//!
//! To add a key: a line in `key.rs`, a field in `spec.rs`, a line in `build.rs`.
//! Checks, overrides, axes, variants, suggestions and the reference page follow.

mod build;
mod check;
mod content;
mod duration;
mod effect;
mod error;
mod key;
mod likely;
mod nesting;
mod order;
mod plan;
mod point;
mod read;
mod redact;
mod reference;
mod render;
mod setting;
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
pub use plan::{Order, Plan, TableSpec, ThresholdSpec, Trial};
pub use redact::redact;
pub use reference::reference_markdown;
pub use setting::reserved_setting;
pub use span::{Span, Spanned};
pub use spec::{
    Arrivals, DataSpec, Engine, EngineSpec, FindMax, Limited, LoadSpec, LoginSpec, Pace, Protocol,
    ReplyTime, Reset, ServerSpec, ServerUrl, TlsMode, TransactionSpec, Until,
};
pub use study::{MAX_FILE_BYTES, MAX_TRIALS, Study};
pub use suggest::nearest;
