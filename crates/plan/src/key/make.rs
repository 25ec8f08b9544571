//! Constructors of keys, for the list.

use std::time::Duration;

use super::definition::{Flag, Key, Kind, Needs, Work};

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key {
        name,
        kind,
        default: Some(default),
        required: false,
        axis: true,
        needs: Needs::Nothing,
        doc,
        flag: None,
        work: None,
    }
}

pub(super) const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key {
        default: None,
        ..key(name, kind, "", doc)
    }
}

/// The same in every trial.
pub(super) const fn fixed(key: Key) -> Key {
    Key { axis: false, ..key }
}

pub(super) const fn needs(needs: Needs, key: Key) -> Key {
    Key { needs, ..key }
}

/// Only for a server that dyno starts as a process.
pub(super) const fn started(key: Key) -> Key {
    needs(Needs::StartedServer, key)
}

/// Only for a server that is already running.
pub(super) const fn running(key: Key) -> Key {
    needs(Needs::RunningServer, key)
}

/// Also an option of `dyno bench`, of the same name and documentation.
pub(super) const fn bench(key: Key) -> Key {
    bench_as("", "", key)
}

/// Also an option of `dyno bench`, with a name or a help text of its own.
pub(super) const fn bench_as(name: &'static str, help: &'static str, key: Key) -> Key {
    Key {
        flag: Some(Flag { name, help }),
        ..key
    }
}

/// Part of the work that comparisons require to be equal.
pub(super) const fn work(key: Key) -> Key {
    Key {
        work: Some(Work::Value),
        ..key
    }
}

/// Part of what workloads that are built in do.
pub(super) const fn option(key: Key) -> Key {
    needs(Needs::Tables, work(bench(key)))
}

pub(super) const fn count(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

pub(super) const fn span(min: Duration, max: Duration) -> Kind {
    Kind::Duration { min, max }
}

/// A name that must be given, and is not a key of the study.
pub const fn word(name: &'static str, max_chars: usize) -> Key {
    Key {
        required: true,
        ..fixed(optional(name, Kind::Name { max_chars }, ""))
    }
}
