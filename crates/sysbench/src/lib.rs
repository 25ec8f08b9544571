//! sysbench's own command line: its options in all of its dialects, its report, and its tests.
//!
//! [`options`] reads a command line. Its test is one that needs no database ([`native`]), a
//! workload ([`bundled`]), or one of the [`scripts`] that later versions no longer have. [`report`]
//! writes what the tools that parse sysbench's output expect.

pub mod bundled;
pub mod native;
pub mod options;
pub mod report;
pub mod scripts;
