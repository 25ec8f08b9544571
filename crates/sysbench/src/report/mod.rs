//! What sysbench prints, in the layouts of its versions. Pure: strings only.
//!
//! Programs parse this text, so labels, their order, and the columns of numbers are exact: the
//! files of `text/` are templates of each version's text. A function returns whole lines, or
//! nothing where that version prints nothing.

mod cumulative;
mod histogram;
mod interval;
mod log;
mod template;

use std::collections::BTreeMap;

pub use cumulative::{Summary, Totals};
pub use histogram::{histogram, quantized};
pub use interval::{Counts, Interval, JSON_END, csv, json};
pub use log::{Level, Log};

/// The version whose text is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    V04,
    V05,
    V10,
    Master,
}

impl Layout {
    /// What `--version` prints after `sysbench`.
    pub fn version(self) -> &'static str {
        match self {
            Self::V04 => "0.4.12",
            Self::V05 => "0.5",
            Self::V10 => "1.0.20",
            Self::Master => "1.1.0",
        }
    }

    /// The program's first lines. `lua` is what runs scripts, such as `system LuaJIT 2.1`.
    pub fn header(self, lua: &str) -> String {
        let version = self.version();
        if self.is_before_1_0() {
            format!("sysbench {version}:  multi-threaded system evaluation benchmark\n\n")
        } else {
            format!("sysbench {version} (using {lua})\n\n")
        }
    }

    /// What is printed before threads are created, for a run or a parallel command.
    pub fn initializing(self) -> &'static str {
        match self {
            Self::V04 => "",
            _ => "Initializing worker threads...\n\n",
        }
    }

    /// What is printed once all threads are ready.
    pub fn started(self, warmup_s: Option<u64>) -> String {
        let end = if self == Self::V04 { "" } else { "\n" };
        let warmup = warmup_s.map(|seconds| format!("Warming up for {seconds} seconds...\n\n"));
        format!("Threads started!\n{end}{}", warmup.unwrap_or_default())
    }

    fn is_before_1_0(self) -> bool {
        matches!(self, Self::V04 | Self::V05)
    }
}

/// What the texts of a run have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub layout: Layout,
    /// Every general option by its name in 1.0, and those of the test, with `-`. Switches are 0
    /// and 1, sizes are in bytes, and `report-checkpoints` is `10, 20`.
    ///
    /// Some are not sysbench's: `test` is `cpu`, `memory`, `threads`, `mutex`, `fileio`, `sql` for
    /// what uses a database, or `none` for another script. `notes` is lines about dyno, none of
    /// which begins with `[`; `info` is whether messages of [`Level::Info`] are shown; `shutdown`
    /// is the second in which a shutdown is forced; `begin` is the statement with which a
    /// transaction of 0.4 begins, such as `LOCK TABLES READ`.
    pub options: BTreeMap<String, String>,
}

impl Report {
    /// The options of a run, and the test's own lines.
    pub fn head(&self) -> String {
        let template = match self.layout {
            Layout::V04 => include_str!("text/head-0.4.txt"),
            Layout::V05 => include_str!("text/head-0.5.txt"),
            Layout::V10 | Layout::Master => include_str!("text/head-1.0.txt"),
        };
        self.fill(template, |_| None)
    }

    /// Fills a template with numbers, or else options.
    fn fill(&self, template: &str, number: impl Fn(&str) -> Option<f64>) -> String {
        template::fill(template, &|name| match number(name) {
            Some(number) => Some(number.to_string()),
            None => self.options.get(name).cloned(),
        })
    }
}

#[cfg(test)]
mod head_tests;
#[cfg(test)]
mod parser_tests;
#[cfg(test)]
mod tests;
