//! The one list of options. Reading, checking, overriding, sweeping, suggesting and documenting
//! a study all walk it, and so does the command line of `dyno bench`.

mod definition;
mod fault;
mod list;
mod make;
mod volume;

pub use definition::{Flag, Key, Kind, Needs, Work, last};
pub use fault::FAULT_KEYS;
pub(crate) use list::default;
pub use list::{KEYS, SECTIONS, VARIANT_NAME, is_group};
pub use make::word;

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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_flags_are_unique_and_sections_exist() {
        let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), KEYS.len());
        let flags: Vec<_> = KEYS.iter().filter_map(Key::flag_name).collect();
        let unique: BTreeSet<_> = flags.iter().collect();
        assert_eq!(unique.len(), flags.len());
        assert!(
            KEYS.iter()
                .all(|key| key.section().is_empty() || SECTIONS.contains(&key.section()))
        );
    }

    #[test]
    fn transactions_are_work_and_users_are_a_setting() {
        let transaction = KEYS.iter().filter(|key| key.section() == "transaction");
        assert!(transaction.clone().count() > 10);
        assert!(transaction.clone().all(|key| key.work == Some(Work::Value)));
        assert_eq!(Key::find("load.rate").unwrap().work, Some(Work::Presence));
        assert_eq!(Key::find(THREADS).unwrap().work, None);
    }

    #[test]
    fn a_default_is_shown_as_it_would_be_typed() {
        let default = |name| Key::find(name).and_then(Key::plain_default);
        assert_eq!(default("load.warmup").as_deref(), Some("10s"));
        assert_eq!(default("data.rows").as_deref(), Some("10000"));
        assert_eq!(default("load.rate"), None);
    }
}
