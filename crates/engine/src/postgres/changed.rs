//! What a server says of its settings: those that are not the defaults, and what checks look at.

use std::path::PathBuf;
use std::time::Duration;

use client::postgres::{Connection, Error, Target};
use client::reactor::{Reactor, timeout};

use super::checks::{VACUUMS, WANTED};
use super::counters::SIZE_QUERY;
use crate::checks::Said;
use crate::database::Whereabouts;

/// More settings than a server has.
const MAX_SETTINGS: usize = 2000;
/// Most characters of a value that are kept.
const MAX_VALUE_CHARS: usize = 1000;
/// How long a server may take to answer.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer the questions of checks.
const ASK_LIMIT: Duration = Duration::from_secs(3);
/// Replaces the value of a secret.
const HIDDEN: &str = "(hidden)";

/// Settings whose values may hold secrets, by parts of their names.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "passphrase",
    "secret",
    "token",
    "credential",
    "private",
    "conninfo",
    "_key",
    // A command line may hold anything.
    "_command",
];

/// What dyno itself sets in its sessions is left out, as is what the server decides at its start
/// (`override`).
const CHANGED_QUERY: &str = "SELECT name, current_setting(name) FROM pg_settings \
     WHERE source NOT IN ('default', 'override', 'client', 'session') \
     AND setting IS DISTINCT FROM boot_val ORDER BY name";
