//! Results for the terminal, without colours.

mod study;
mod table;
mod trial;
mod wrap;

pub use crate::thresholds::misses;
pub use study::{study, thresholds};
pub use trial::trial;
