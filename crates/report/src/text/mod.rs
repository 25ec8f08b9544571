//! Results for the terminal, without colours.

mod doctor;
mod sheet;
mod study;
mod table;
mod trial;
mod wrap;

pub use crate::thresholds::{misses, undecided};
pub use doctor::{findings, spoilers};
pub(crate) use sheet::sheet;
pub use study::{study, thresholds};
pub use trial::trial;
