//! Results for the terminal, without colours.

mod doctor;
mod layout;
mod sheet;
mod study;
mod summary;
mod table;
mod trial;
mod visible;
mod wrap;

pub use crate::thresholds::{misses, undecided};
pub use doctor::{findings, spoilers};
pub use layout::Layout;
pub(crate) use sheet::sheet;
pub use study::{study, thresholds};
pub use summary::summary;
pub use trial::trial;
pub use visible::{ascii, steers, visible};
