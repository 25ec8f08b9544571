//! The same work: what has to be equal in two setups for their numbers to be comparable.
//! Which keys of a study change it follows from the list of keys. Everything else may differ,
//! such as engine, settings or users: that is what comparisons are for.

use plan::key::Work;

use crate::digits::apart;
use crate::setup::{CLOSED_LOOP, Setup};

/// Something that has to be alike.
#[derive(Debug)]
pub struct Must {
    /// What people call it, for example `rows in each table`.
    pub name: &'static str,
    work: Work,
    of: fn(&Setup) -> String,
}

impl Must {
    /// What it is in a set-up, for people.
    #[must_use]
    pub fn of(&self, setup: &Setup) -> String {
        (self.of)(setup)
    }

    /// Whether a key of a study changes it.
    #[must_use]
    pub fn is_changed_by(&self, key: &str) -> bool {
        self.work.is_changed_by(key)
    }
}

/// All that has to be alike.
pub const MUST: [Must; 9] = [
    Must {
        name: "workload",
        work: Work::Workload,
        of: |setup| setup.workload.clone(),
    },
    Must {
        name: "options",
        work: Work::Options,
        of: |setup| options(setup).to_owned(),
    },
    Must {
        name: "tables",
        work: Work::Tables,
        of: tables,
    },
    Must {
        name: "rows in each table",
        work: Work::Rows,
        of: |setup| apart(&setup.rows.to_string()),
    },
    Must {
        name: "keys drawn",
        work: Work::KeysDrawn,
        of: |setup| format!("1 to {}", apart(&setup.key_range.to_string())),
    },
    Must {
        name: "distribution",
        work: Work::Distribution,
        of: |setup| setup.distribution.clone(),
    },
    Must {
        name: "statements",
        work: Work::Protocol,
        of: |setup| setup.protocol.to_string(),
    },
    Must {
        name: "arrivals",
        work: Work::Arrivals,
        of: |setup| kind_of_arrivals(setup).to_owned(),
    },
    Must {
        name: "think time",
        work: Work::ThinkTime,
        of: think_time,
    },
];

/// Each user of `bulk_insert` fills a table of its own, and users may differ.
fn tables(setup: &Setup) -> String {
    match setup.workload == "bulk_insert" {
        true => "one for each user".to_owned(),
        false => apart(&setup.tables.to_string()),
    }
}

/// Options of transactions and tables, for people.
#[must_use]
pub fn options(setup: &Setup) -> &str {
    match setup.options.as_str() {
        "" => "all default",
        options => options,
    }
}

/// Pause of a user after each transaction, for people.
#[must_use]
pub fn think_time(setup: &Setup) -> String {
    match setup.think_s > 0.0 {
        true => format!("{} s", setup.think_s),
        false => "none".to_owned(),
    }
}

/// What remains of the arrivals without their rate, which is a setting like the number of
/// users.
fn kind_of_arrivals(setup: &Setup) -> &str {
    match setup.arrivals.split_once("/s ") {
        Some((_, "constant")) => "at a constant rate",
        Some(_) => "at a random rate",
        None if setup.arrivals == CLOSED_LOOP => CLOSED_LOOP,
        None => "at a rate",
    }
}

/// How the work of a baseline differs from this, each as `rows in each table 2,000, here
/// 1,000`; `None` where it is the same.
#[must_use]
pub fn other_work(setup: &Setup, baseline: &Setup) -> Option<String> {
    let pairs = MUST
        .iter()
        .map(|must| (must.name, must.of(baseline), must.of(setup)));
    let unlike = pairs.filter(|(_, theirs, ours)| theirs != ours);
    let unlike: Vec<String> = unlike
        .map(|(name, theirs, ours)| format!("{name} {theirs}, here {ours}"))
        .collect();
    (!unlike.is_empty()).then(|| unlike.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::trial;

    fn setup(change: impl FnOnce(&mut Setup)) -> Setup {
        let mut setup = trial().setup;
        change(&mut setup);
        setup
    }

    /// What is told of a change, either way.
    fn told(change: impl FnOnce(&mut Setup)) -> Option<String> {
        let (base, changed) = (setup(|_| {}), setup(change));
        assert_eq!(
            other_work(&base, &changed).is_some(),
            other_work(&changed, &base).is_some()
        );
        other_work(&changed, &base)
    }

    #[test]
    fn other_work_is_told_with_both_values() {
        let options = told(|setup| setup.options = "skip_trx=true".into());
        assert_eq!(
            options.as_deref(),
            Some("options all default, here skip_trx=true")
        );
        for (told, words) in [
            (told(|s| s.think_s += 0.001), "think time "),
            (
                told(|s| s.rows += 1_000_000),
                "rows in each table 1,000, here 1,001,000",
            ),
            (
                told(|s| s.arrivals = "200/s poisson".into()),
                "arrivals closed loop, here at a random rate",
            ),
            (told(|s| s.workload = "oltp_insert".into()), "workload "),
        ] {
            let told = told.unwrap();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn what_may_be_compared_is_the_same_work() {
        assert_eq!(told(|setup| setup.threads += 1), None);
        assert_eq!(told(|setup| setup.engine = "Other 3".into()), None);
        let inserts = |users: u32| {
            setup(|setup| {
                setup.workload = "bulk_insert".to_owned();
                (setup.threads, setup.tables) = (users, users);
            })
        };
        assert_eq!(other_work(&inserts(4), &inserts(8)), None);
        let at = |arrivals: &str| setup(|setup| setup.arrivals = arrivals.to_owned());
        let (slow, fast) = (at("100/s poisson"), at("250.5/s poisson"));
        assert_eq!(other_work(&slow, &fast), None);
        assert!(other_work(&slow, &at("100/s constant")).is_some());
    }

    #[test]
    fn the_set_up_of_an_old_result_has_the_default_options() {
        let new = setup(|setup| setup.think_s = 0.0);
        let mut stored = serde_json::to_value(&new).unwrap();
        for key in ["options", "think_s"] {
            stored.as_object_mut().unwrap().remove(key).unwrap();
        }
        let old: Setup = serde_json::from_value(stored).unwrap();
        assert_eq!(other_work(&new, &old), None);
    }
}
