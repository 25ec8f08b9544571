//! Names of keys and sections that have a part in more than the list.

/// The section whose keys name other keys.
pub const SWEEP: &str = "sweep";
/// The section of named sizes, one of which an override may choose.
pub const SIZES: &str = "sizes";
/// The section whose keys are columns of report tables…
pub const THRESHOLDS: &str = "thresholds";
/// …except this one.
pub const BASELINE: &str = "baseline";
/// The list of what is broken during the measurement.
pub const FAULT: &str = "fault";
/// The key that turns the ledger on.
pub const LEDGER_RATE: &str = "ledger.rate";
/// The key that turns random faults on.
pub const CHAOS: &str = "chaos.faults";
/// The key that turns on a comparison that ends once it is decided.
pub const COMPARE: &str = "compare.starts";
/// Values, as typed in TOML, that apply once a study has the key's section but not the key.
pub const SWITCHES: [(&str, &str); 3] = [(LEDGER_RATE, "50"), (CHAOS, "\"any\""), (COMPARE, "20")];
/// The list of named alternatives; also the name of their axis.
pub const VARIANT: &str = "variant";

pub const THREADS: &str = "load.threads";
/// Its default in an open loop, where a user that is not needed stays idle. Servers accept at least
/// 100 connections by default.
pub const OPEN_LOOP_USERS: u32 = 64;
/// The same default for an engine that runs in process, where each user is a blocking thread that
/// shares the CPUs with the engine.
pub const IN_PROCESS_USERS: u32 = 8;
/// What the names of a search's limits begin with, see [`crate::Limited::KEYS`].
pub(super) const FIND_MAX: &str = "load.find_max.";
pub(crate) const FIND_MAX_P99: &str = "load.find_max.p99";
pub(crate) const FIND_MAX_P95: &str = "load.find_max.p95";
pub(crate) const FIND_MAX_MEAN: &str = "load.find_max.mean";
