//! One option: what it takes, and what it is for.

use std::time::Duration;

use crate::number::{grouped, shown_bytes};
use crate::{alternatives, format_duration};

/// One option of a trial: a key of a study file, and often an option of `dyno bench`.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted name, as in an axis or an override.
    pub name: &'static str,
    pub kind: Kind,
    /// As typed in TOML. `None`: required, or off when absent (see `doc`).
    pub default: Option<&'static str>,
    pub required: bool,
    pub axis: bool,
    /// What must be in the study for it to have an effect.
    pub needs: Needs,
    /// Markdown, for the reference page.
    pub doc: &'static str,
    /// Its option of `dyno bench`, if it has one.
    pub flag: Option<Flag>,
    /// How it defines the work; `None` for settings, such as the number of virtual users, whose
    /// effect is what comparisons are for.
    pub work: Option<Work>,
}

/// How a key defines the work of a trial, which two trials must have in common for their
/// numbers to be comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    Value,
    /// By its presence: its value is a setting.
    Presence,
}

#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Without dashes; empty: the key's own name, see [`Key::flag_name`].
    pub(super) name: &'static str,
    /// Empty: the key's documentation, see [`Key::help`].
    pub(super) help: &'static str,
}

#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the ranges explain themselves")]
pub enum Kind {
    Text {
        max_chars: usize,
    },
    /// A text that appears in labels: without control characters.
    Name {
        max_chars: usize,
    },
    Choice(&'static [&'static str]),
    /// The name of an engine that dyno can start.
    Engine,
    /// The name of an engine's kind of replication.
    Cluster,
    Url,
    Path,
    Paths,
    Version,
    Boolean,
    Integer {
        min: u64,
        max: u64,
    },
    Number {
        min: f64,
        max: f64,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    /// A share, typed as `2%`; the range is in percent.
    Percent {
        min: f64,
        max: f64,
    },
    /// Free settings of the server, each a key of its own below this one.
    Settings,
    /// Options of a script, each a key of its own below this one.
    Options,
    /// Scripts with weights, see [`crate::parse_scripts`].
    Scripts,
    Tables,
    /// `any`, or a list of kinds of faults.
    Faults,
    /// How often something happens, such as `1 per 30s`.
    Frequency,
    /// A size in bytes, such as `512M`.
    Bytes {
        min: u64,
        max: u64,
    },
    /// CPUs by their numbers, such as `0-1,3`.
    CpuSet,
    /// Hosts for ssh, with what differs there, see [`crate::Host::parse_list`].
    Hosts,
    Mix,
    Phases,
    /// Labels of agents.
    Labels,
    /// An address of this host with a port.
    Listen,
}

/// What must be in the study for a key to have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// A server that dyno starts as a process.
    StartedServer,
    RunningServer,
    Rate,
    /// A load with phases.
    Phases,
    /// A trial that ends once its result is precise enough.
    Until,
    Cluster,
    /// Servers on other hosts.
    Hosts,
    /// Servers that replicate, each beside a cluster manager.
    Manager,
    /// Servers that replicate, or the addresses of several servers.
    Members,
    /// The tables of workloads that are built in.
    Tables,
    /// A script that takes such values.
    Script,
    /// Servers that run as processes, whoever started them.
    Process,
    /// The workload that proves which commits were kept.
    Ledger,
    Chaos,
    /// A comparison that ends once it is decided.
    Compare,
    /// A load from several machines.
    Fleet,
}

impl Key {
    /// `load` of `load.threads`; empty for a key at the top.
    pub fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }

    /// `threads` of `load.threads`, `until.ci` of `load.until.ci`.
    pub fn last(&self) -> &'static str {
        last(self.name)
    }

    /// What the key takes, for a message; the same more exactly; and an example, if there is one.
    #[rustfmt::skip]
    fn words(&self) -> [&'static str; 3] {
        match self.kind {
            Kind::Text { .. } | Kind::Name { .. } | Kind::Choice(_) => ["a string", "a string", ""],
            Kind::Engine => ["a string", "the name of an engine", ""],
            Kind::Cluster => ["a string", "the name of a kind of cluster", ""],
            Kind::Url => ["a string", "an address", ""],
            Kind::Path => ["a string", "an absolute path", ""],
            Kind::Paths => ["a list of strings", "a list of absolute paths", ""],
            Kind::Version => ["a string", "a version", ""],
            Kind::Boolean => ["`true` or `false`", "`true` or `false`", ""],
            Kind::Integer { .. } => ["a whole number", "a whole number", "100"],
            Kind::Number { .. } => ["a number", "a number", "100"],
            Kind::Duration { .. } => ["a duration", "a duration", "\"30s\""],
            Kind::Percent { .. } => ["a percentage", "a percentage", "\"2%\""],
            Kind::Settings => ["a table of settings", "a table of settings", ""],
            Kind::Options => ["a table of values", "strings, numbers, booleans, or lists, by name", ""],
            Kind::Scripts => ["a string or a list of strings", "the path or name of a script, or a list of them, with weights such as `\"own.sql@3\"`", "\"own.sql\""],
            Kind::Tables => ["a list of tables", "a list of tables", ""],
            Kind::Faults => ["`\"any\"` or a list of kinds of faults", "`\"any\"` or a list of kinds of faults", ""],
            Kind::Frequency => ["a frequency", "a number of faults per duration", "\"1 per 30s\""],
            Kind::Bytes { .. } => ["a size in bytes", "a size in bytes", "\"512M\""],
            Kind::CpuSet => ["a list of CPUs", "CPUs and ranges of CPUs, such as `\"0-1,3\"`", "\"0-1\""],
            Kind::Hosts => ["a host or a list of hosts", "a host's name for ssh, such as `\"me@db1\"`, or a list of them", "[\"db1\", \"me@db2\"]"],
            Kind::Mix => ["a list of workloads", "workloads with weights or rates, such as `\"oltp_read_only:3, oltp_insert:1\"`", "\"oltp_read_only:3, oltp_insert:1\""],
            Kind::Labels => ["a list of strings", "a list of agents' labels", "[\"load1\", \"load2\"]"],
            Kind::Listen => ["an address", "an address with a port, such as `\"10.0.0.5:4222\"`", "\"127.0.0.1:4222\""],
            Kind::Phases => ["a list of phases", "phases, such as `\"60s 200/s, spike: 10s 200..1000/s\"`", "\"60s 200/s, 10s 200..1000/s\""],
        }
    }

    /// What the key takes, for a message.
    pub fn takes(&self) -> &'static str {
        self.words()[0]
    }

    /// A value that the key takes, if an example helps.
    pub fn example(&self) -> Option<String> {
        let example = match (self.default, &self.kind) {
            (Some(default), Kind::Integer { .. } | Kind::Number { .. }) => default.to_owned(),
            (None, Kind::Integer { min, .. }) => min.max(&100).to_string(),
            _ => self.words()[2].to_owned(),
        };
        (!example.is_empty()).then_some(example)
    }

    /// Its range: `from 1 to 1_000`.
    pub fn limits(&self) -> Option<String> {
        let [min, max] = match &self.kind {
            Kind::Integer { min, max } => [min, max].map(|n| grouped(*n)),
            Kind::Number { min, max } => [min, max].map(f64::to_string),
            Kind::Percent { min, max } => [min, max].map(|percent| format!("{percent}%")),
            Kind::Bytes { min, max } => [min, max].map(|bytes| shown_bytes(*bytes)),
            Kind::Duration { min, max } => [min, max].map(|limit| format_duration(*limit)),
            _ => return None,
        };
        Some(format!("from {min} to {max}"))
    }

    /// What the key takes, with its range, in Markdown.
    pub fn range(&self) -> String {
        let what = self.words()[1];
        match (&self.kind, self.limits()) {
            (Kind::Text { max_chars }, _) => format!("{what}, at most {max_chars} characters"),
            (Kind::Name { max_chars }, _) => {
                format!("{what} on one line, at most {max_chars} characters")
            }
            (Kind::Choice(words), _) => alternatives(words),
            (_, Some(limits)) => format!("{what}, {limits}"),
            (_, None) => what.to_owned(),
        }
    }

    /// Its option of `dyno bench` without dashes: `range-size` of `transaction.range_size`.
    pub fn flag_name(&self) -> Option<String> {
        let flag = self.flag.as_ref()?;
        Some(match flag.name {
            "" => self.last().replace(['_', '.'], "-"),
            name => name.to_owned(),
        })
    }

    /// What the help of `dyno bench` says of it.
    pub fn help(&self) -> String {
        let own = self.flag.as_ref().map_or("", |flag| flag.help);
        let text = if own.is_empty() { self.doc } else { own };
        text.replace('`', "")
    }

    /// Whether it limits response times in a search; see [`crate::Limited::KEYS`].
    pub fn is_limit(&self) -> bool {
        self.name.starts_with("load.find_max.")
    }

    /// The unit of a duration that is given without one: limits of response times are milliseconds.
    pub fn plain_unit(&self) -> &'static str {
        if self.is_limit() { "ms" } else { "s" }
    }

    /// The default as typed on a command line: `10s`, `10000`.
    pub fn plain_default(&self) -> Option<String> {
        let default = self.default?;
        Some(match default.strip_prefix('"') {
            Some(quoted) => quoted.trim_end_matches('"').to_owned(),
            None => default.replace('_', ""),
        })
    }
}

/// The part of a dotted name after its section.
pub fn last(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, last)| last)
}
