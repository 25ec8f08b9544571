//! The one table of keys: reading, checking, overriding, sweeping, suggesting
//! and documenting all walk it.

use std::time::Duration;

/// One key of a study file.
#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted name, as in an axis or an override.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As typed in TOML. `None`: required, or off when absent (see `doc`).
    pub(crate) default: Option<&'static str>,
    pub(crate) required: bool,
    /// Whether trials may differ in it.
    pub(crate) axis: bool,
    pub(crate) doc: &'static str,
}

/// What a key takes.
#[derive(Debug)]
pub(crate) enum Kind {
    Text { max_chars: usize },
    Choice(&'static [&'static str]),
    Url,
    Integer { min: u64, max: u64 },
    Number { min: f64, max: f64 },
    Duration { min: Duration, max: Duration },
}

/// Sections in the order of the reference page.
pub(crate) static SECTIONS: &[(&str, &str)] = &[
    (
        "server",
        "What is measured: `engine` or `url`, exactly one of the two.",
    ),
    ("data", "What the server holds before each trial."),
    ("load", "What virtual users do to it."),
];

/// The section whose keys are names of other keys.
pub(crate) const SWEEP: &str = "sweep";

const DAY: Duration = Duration::from_secs(86_400);
const ZERO: Duration = Duration::ZERO;
const MILLISECOND: Duration = Duration::from_millis(1);
const NAME: Kind = Kind::Text { max_chars: 100 };

const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        name,
        kind,
        default: Some(default),
        required: false,
        axis: true,
        doc,
    }
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key {
        default: None,
        ..key(name, kind, "", doc)
    }
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

const fn span(min: Duration, max: Duration) -> Kind {
    Kind::Duration { min, max }
}

/// Every key, in the order of the reference page.
#[rustfmt::skip]
pub(crate) static KEYS: &[Key] = &[
    Key { required: true, axis: false, ..optional("title", Kind::Text { max_chars: 200 },
        "The question of the study in one line; the heading of its report.") },
    Key { axis: false, ..optional("description", Kind::Text { max_chars: 10_000 },
        "Why the study is made and how to read it.") },

    optional("server.engine", Kind::Choice(&["sqlite"]),
        "The engine that is started for the study; `sqlite` runs in process on a temporary database."),
    optional("server.url", Kind::Url,
        "Address of a server that runs already, such as `mysql://user:password@host:3306/database`; a password is never stored or shown."),

    key("data.tables", count(1, 10_000), "1", "Number of tables."),
    key("data.rows", count(1, 10_000_000_000), "10_000", "Rows in each table."),
    key("data.seed", count(0, u64::MAX), "1", "Seed of every random choice: the same seed, the same rows and statements."),

    key("load.workload", NAME, "\"oltp_read_write\"", "What one transaction does."),
    key("load.threads", count(1, 100_000), "1", "Virtual users: connections, each waiting for every reply."),
    key("load.warmup", span(ZERO, DAY), "\"10s\"", "Load before the measurement; not counted."),
    key("load.time", span(MILLISECOND, Duration::from_secs(30 * 86_400)), "\"60s\"", "Length of the measurement."),
    optional("load.events", count(1, 1_000_000_000_000),
        "Ends the measurement after this many transactions, if `time` has not ended it before."),
    optional("load.rate", Kind::Number { min: 0.001, max: 10_000_000.0 },
        "Transactions that arrive per second, whether or not a virtual user is free (open loop). Without it each virtual user starts its next transaction when the last one ends (closed loop)."),
    optional("load.arrivals", Kind::Choice(&["poisson", "constant"]),
        "How arrivals of the open loop are spaced: `poisson` (random, like independent users; used when only `rate` is given) or `constant`. Needs `rate`."),
    key("load.distribution", NAME, "\"special\"", "How transactions choose their rows."),
    key("load.think", span(ZERO, DAY), "\"0s\"", "Pause of a virtual user after each transaction."),
];

pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.name == name)
}

pub(crate) fn is_section(name: &str) -> bool {
    name == SWEEP || SECTIONS.iter().any(|(section, _)| *section == name)
}

impl Key {
    /// `load` of `load.threads`; empty for a key at the top.
    pub(crate) fn section(&self) -> &'static str {
        self.name
            .rsplit_once('.')
            .map_or("", |(section, _)| section)
    }

    /// `threads` of `load.threads`.
    pub(crate) fn last(&self) -> &'static str {
        last(self.name)
    }

    /// Whether an override may leave out the quotes.
    pub(crate) fn takes_text(&self) -> bool {
        !matches!(self.kind, Kind::Integer { .. } | Kind::Number { .. })
    }
}

/// The part of a dotted name after its last dot.
pub(crate) fn last(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}
