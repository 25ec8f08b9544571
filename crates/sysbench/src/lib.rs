//! sysbench's own command line: its options in all of its dialects, its report, and its tests that
//! need no database.
//!
//! [`options`] reads a command line, [`native`] runs the tests without a database, [`report`] writes
//! what the tools that parse sysbench's output expect.

pub mod native;
pub mod options;
pub mod report;
