//! The work of a trial: the keys of a study in which two trials must agree for their numbers to be
//! comparable, as `plan::key` declares them. Everything else may differ, such as engine, settings,
//! or users, because that is what comparisons are for.

use plan::key::{KEYS, Key, Work};
use plan::{Load, Trial, digest};
use serde_json::{Value, json};

use crate::digits::apart;

/// Keys that define the work.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.work.is_some())
}

/// Whether an axis of a study changes the value of a key of the work.
pub fn is_changed_by(key: &str, axis: &str) -> bool {
    let decides = [
        ("load.key_range", "data.rows"),
        ("load.workload", "load.mix"),
        ("load.workload", "load.script"),
        ("load.phase", "load.phases.repeat"),
    ];
    let is_below = axis
        .strip_prefix(key)
        .is_some_and(|rest| rest.starts_with('.'));
    key == axis || is_below || decides.contains(&(key, axis))
}

/// The value of each key that defines the work, in the order of [`keys`], for people.
pub fn values(trial: &Trial) -> Vec<String> {
    let stored = stored(trial);
    let shown = |key| match value(key, &stored, trial) {
        Some(value) => shown(&value),
        None => "default".to_owned(),
    };
    keys().map(shown).collect()
}

/// Keys of the work that reports show separately.
const SHOWN: [&str; 10] = [
    "data.tables",
    "data.rows",
    "load.workload",
    "load.phase",
    "load.rate",
    "load.arrivals",
    "load.distribution",
    "load.key_range",
    "load.protocol",
    "load.think",
];

/// The remaining keys of the work whose values are not the defaults: `point_selects=1,
/// skip_trx=true`; empty if there are none.
pub fn options(trial: &Trial) -> String {
    let stored = stored(trial);
    let options = keys().filter(|key| !SHOWN.contains(&key.name));
    let changed = options.filter_map(|key| {
        let value = text(&value(key, &stored, trial)?);
        (key.plain_default().as_ref() != Some(&value)).then(|| format!("{}={value}", key.last()))
    });
    changed.collect::<Vec<_>>().join(", ")
}

/// How the work of a baseline differs from this trial's, for example `data.rows 2,000, here 1,000`;
/// `None` if it does not.
pub fn other_work(trial: &Trial, baseline: &Trial) -> Option<String> {
    let pairs = values(baseline).into_iter().zip(values(trial));
    let unlike = keys()
        .zip(pairs)
        .filter(|(_, (theirs, ours))| theirs != ours);
    let unlike = unlike.map(|(key, (theirs, ours))| format!("{} {theirs}, here {ours}", key.name));
    let unlike: Vec<String> = unlike.collect();
    (!unlike.is_empty()).then(|| unlike.join("; "))
}

/// A trial in its stored form, whose fields are named like the keys.
fn stored(trial: &Trial) -> Value {
    serde_json::to_value(trial).unwrap_or_default()
}

fn value(key: &Key, stored: &Value, trial: &Trial) -> Option<Value> {
    let path = format!("/{}", key.name.replace('.', "/"));
    let value = stored.pointer(&path);
    let value = value.filter(|value| ![Value::Null, json!({})].contains(value));
    match key.work {
        Some(Work::Presence) if value.is_some() => Some("given".into()),
        Some(Work::Presence) => Some("not given".into()),
        _ if key.name == "load.key_range" => Some(trial.key_range().into()),
        _ if key.name == "load.workload" => Some(workload(&trial.load).into()),
        _ => value.cloned(),
    }
}

/// The workload; of scripts, also a digest of their texts.
fn workload(load: &Load) -> String {
    let digests = load.digests();
    let digest = (!digests.is_empty()).then(|| format!(" ({})", digest(&digests)));
    load.workload.value.clone() + &digest.unwrap_or_default()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_u64() => apart(&number.to_string()),
        value => text(value),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(all) => {
            let all = all
                .iter()
                .map(|(name, value)| format!("{name}={}", text(value)));
            all.collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::tests::trial;

    fn planned(change: impl FnOnce(&mut Trial)) -> Trial {
        let mut planned = trial().setup.planned;
        change(&mut planned);
        planned
    }

    /// The difference of the work after a change; it must be the same in both directions.
    fn told(change: impl FnOnce(&mut Trial)) -> Option<String> {
        let (base, changed) = (planned(|_| {}), planned(change));
        assert_eq!(
            other_work(&base, &changed).is_some(),
            other_work(&changed, &base).is_some()
        );
        other_work(&changed, &base)
    }

    #[test]
    fn a_stored_trial_has_every_key_of_the_work() {
        let stored = stored(&trial().setup.planned);
        for key in keys() {
            let path = format!("/{}", key.name.replace('.', "/"));
            assert!(stored.pointer(&path).is_some(), "{path}");
        }
    }

    #[test]
    fn other_work_is_told_with_both_values() {
        for (found, words) in [
            (
                told(|s| s.transaction.skip_trx = true),
                "transaction.skip_trx false, here true",
            ),
            (
                told(|s| s.load.think = Duration::from_millis(39)),
                "load.think 38ms600us, here 39ms",
            ),
            (
                told(|s| s.data.rows += 1_000_000),
                "data.rows 1,000, here 1,001,000; load.key_range 1,000, here 1,001,000",
            ),
            (
                told(|s| s.load.rate = Some(200.0)),
                "load.rate not given, here given",
            ),
            (
                told(|s| s.load.workload.value = "oltp_insert".into()),
                "load.workload oltp_read_write, here oltp_insert",
            ),
        ] {
            assert_eq!(found.as_deref(), Some(words));
        }
    }

    #[test]
    fn what_may_be_compared_is_the_same_work() {
        assert_eq!(told(|trial| trial.load.threads += 1), None);
        assert_eq!(told(|trial| trial.load.key_range = Some(1000)), None);
        let at = |rate: f64| planned(|trial| trial.load.rate = Some(rate));
        assert_eq!(other_work(&at(100.0), &at(250.5)), None);
    }

    #[test]
    fn options_are_those_that_are_not_the_default() {
        assert_eq!(options(&planned(|trial| trial.data.rows = 7)), "");
        let changed = planned(|trial| {
            trial.transaction.point_selects = 1;
            trial.data.secondary = true;
        });
        assert_eq!(options(&changed), "secondary=true, point_selects=1");
    }
}
