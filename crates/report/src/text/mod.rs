//! Writes sheets for a terminal, without colors.

mod layout;
mod sheet;
mod table;
mod visible;
mod wrap;

pub use layout::Layout;
pub use visible::{ascii, steers, visible};
