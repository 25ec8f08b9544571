//! Results for the terminal, without colours.

mod sheet;
mod study;
mod table;
mod trial;
mod wrap;

pub use crate::thresholds::misses;
pub(crate) use sheet::sheet;
pub use study::{study, thresholds};
pub use trial::trial;
