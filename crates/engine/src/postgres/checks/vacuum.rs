//! Vacuum.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use super::VACUUMS;
use crate::checks::Facts;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "autovacuum",
            worst: Level::Warning,
            why: "Without autovacuum, dead rows accumulate: a write load becomes slower the longer it runs, so its result is not sustainable.",
            source: "PostgreSQL manual, Automatic Vacuuming (autovacuum, track_counts)",
            remedy: Remedy::Setting {
                name: "autovacuum",
                value: "on",
                live: true,
            },
        },
        judge: autovacuum,
    },
    Check {
        about: About {
            id: "vacuum-running",
            worst: Level::Warning,
            why: "A vacuum competes with the load for I/O, and the next trial may have none.",
            source: "PostgreSQL manual, Progress Reporting (pg_stat_progress_vacuum)",
            remedy: Remedy::Words(
                "wait until pg_stat_progress_vacuum is empty, or run VACUUM ANALYZE before the load",
            ),
        },
        judge: running,
    },
];

fn autovacuum(server: &Facts) -> Observed {
    let (autovacuum, counts) = ("autovacuum", "track_counts");
    match (server.is_on(autovacuum), server.is_on(counts)) {
        (None, _) => server.unknown(autovacuum),
        (Some(false), _) => Observed::warning(format!("{autovacuum}: off")),
        (Some(true), Some(false)) => {
            Observed::warning(format!("{autovacuum}: on, {counts}: off")).with(autovacuum, counts)
        }
        (Some(true), _) => Observed::passed(format!("{autovacuum}: on")),
    }
}

fn running(server: &Facts) -> Observed {
    match server.number(VACUUMS) {
        None if server.planned && server.settings.is_ok() => {
            Observed::passed("a new server runs no vacuum")
        }
        None => server.unknown(VACUUMS),
        Some(0) => Observed::passed(format!("{VACUUMS}: none")),
        Some(count) => Observed::warning(format!("{VACUUMS}: {count}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;
    use Level::{Passed, Warning};

    #[test]
    fn autovacuum_needs_track_counts() {
        let judge = |on, counts| {
            check(
                "autovacuum",
                &[("autovacuum", on), ("track_counts", counts)],
            )
        };
        assert_eq!(
            [judge("on", "on"), judge("off", "on"), judge("on", "off")],
            [Passed, Warning, Warning]
        );
    }

    #[test]
    fn a_running_vacuum_is_found() {
        let judge = |count| check("vacuum-running", &[(VACUUMS, count)]);
        assert_eq!([judge("0"), judge("2")], [Passed, Warning]);
    }
}
