//! sysbench's command line, in all of its dialects.
//!
//! [`parse`] reads what every test has. Once the test is known, [`CommandLine::finish`] takes its
//! own options. [`General`] and [`Targets`] are the values that a run needs, checked.

mod dialect;
mod error;
mod general;
mod help;
mod line;
mod table;
mod targets;
mod values;
mod word;

pub use dialect::Dialect;
pub use error::{INTERRUPTED, OptionError};
pub use general::General;
pub use help::{test_help, usage};
pub use line::{CommandLine, parse};
pub use table::declarations;
pub use targets::Targets;
pub(crate) use values::meaning;
pub use values::{Kind, OptionDeclaration, Values};

#[cfg(test)]
mod tests;
