//! The one list of options. Reading, checking, overriding, sweeping, suggesting and documenting
//! a study all walk it, and so does the command line of `dyno bench`.

mod definition;
mod fault;
mod list;
mod make;
mod name;
mod volume;

pub use definition::{Flag, Key, Kind, Needs, Work, last};
pub use fault::FAULT_KEYS;
pub(crate) use list::default;
pub use list::{KEYS, SECTIONS, VARIANT_NAME, is_group};
pub use make::word;
pub use name::{
    BASELINE, CHAOS, COMPARE, FAULT, IN_PROCESS_USERS, LEDGER_RATE, OPEN_LOOP_USERS, SIZES, SWEEP,
    SWITCHES, THREADS, THRESHOLDS, VARIANT,
};
pub(crate) use name::{FIND_MAX_MEAN, FIND_MAX_P95, FIND_MAX_P99};

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
