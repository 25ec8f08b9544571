//! Writes besides commits: checkpoints and WAL, and what the planner assumes about the disk.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};
use plan::shown_bytes;

use super::{bytes, ms, size};
use crate::checks::{Facts, valued};
use crate::postgres::settings::MEGABYTE;

/// From this size on, a write load forces few checkpoints.
const GOOD_WAL_BYTES: u64 = 4 << 30;
/// The default.
const SMALL_WAL_BYTES: u64 = 1 << 30;
/// The default, in milliseconds.
const CHECKPOINT_MS: f64 = 300_000.0;
/// In seconds, as the setting counts.
const SECOND_MS: f64 = 1000.0;
/// The default since PostgreSQL 14.
const COMPLETION_TARGET: f64 = 0.9;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "max-wal-size",
            worst: Level::Warning,
            why: "A load that writes this much WAL within checkpoint_timeout forces a checkpoint, after which the first change of each page logs the full page: throughput dips, and the WAL grows.",
            source: "PostgreSQL manual, WAL Configuration (max_wal_size)",
            remedy: Remedy::Setting {
                name: "max_wal_size",
                value: "NEEDED",
                live: true,
            },
        },
        judge: wal_size,
    },
    Check {
        about: About {
            id: "checkpoint-timeout",
            worst: Level::Warning,
            why: "Frequent checkpoints write the same pages repeatedly, and each is logged in full once after each checkpoint.",
            source: "PostgreSQL manual, WAL Configuration (checkpoint_timeout)",
            remedy: Remedy::Setting {
                name: "checkpoint_timeout",
                value: "5min",
                live: true,
            },
        },
        judge: |server| {
            let Some(time) = ms(server, "checkpoint_timeout", SECOND_MS) else {
                return server.unknown("checkpoint_timeout");
            };
            valued(server, "checkpoint_timeout", |_| {
                match time < CHECKPOINT_MS {
                    true => Level::Warning,
                    false => Level::Passed,
                }
            })
        },
    },
    Check {
        about: About {
            id: "checkpoint-completion-target",
            worst: Level::Note,
            why: "A checkpoint spreads its writes over this fraction of the interval; a small fraction causes bursts of writes that sessions wait for.",
            source: "PostgreSQL manual, WAL Configuration (checkpoint_completion_target)",
            remedy: Remedy::Setting {
                name: "checkpoint_completion_target",
                value: "0.9",
                live: true,
            },
        },
        judge: |server| {
            valued(server, "checkpoint_completion_target", |part| {
                match part.parse().is_ok_and(|part: f64| part < COMPLETION_TARGET) {
                    true => Level::Note,
                    false => Level::Passed,
                }
            })
        },
    },
    Check {
        about: About {
            id: "background-writer",
            worst: Level::Note,
            why: "Without the background writer, sessions that need a free page write dirty ones themselves.",
            source: "PostgreSQL manual, Background Writer (bgwriter_lru_maxpages)",
            remedy: Remedy::Setting {
                name: "bgwriter_lru_maxpages",
                value: "100",
                live: true,
            },
        },
        judge: |server| unless(server, "bgwriter_lru_maxpages", |value| value != "0"),
    },
    Check {
        about: About {
            id: "wal-compression",
            worst: Level::Note,
            why: "Compressing page images makes the WAL smaller and takes CPU time: servers are comparable only with the same setting.",
            source: "PostgreSQL manual, Write Ahead Log (wal_compression)",
            remedy: Remedy::Nothing,
        },
        judge: |server| unless(server, "wal_compression", |value| value == "off"),
    },
    Check {
        about: About {
            id: "wal-level",
            worst: Level::Note,
            why: "The WAL contains more for logical replication, and less than by default without replication and archiving.",
            source: "PostgreSQL manual, Write Ahead Log (wal_level)",
            remedy: Remedy::Nothing,
        },
        judge: |server| unless(server, "wal_level", |value| value == "replica"),
    },
    Check {
        about: About {
            id: "archiving",
            worst: Level::Warning,
            why: "Each WAL file is copied while the load runs; without a command that does so, the files fill the disk.",
            source: "PostgreSQL manual, Continuous Archiving (archive_mode, archive_command)",
            remedy: Remedy::Setting {
                name: "archive_mode",
                value: "off",
                live: false,
            },
        },
        judge: archiving,
    },
    Check {
        about: About {
            id: "commit-delay",
            worst: Level::Note,
            why: "Commits wait to share a flush with others, which affects response times and how throughput scales with users.",
            source: "PostgreSQL manual, Write Ahead Log (commit_delay)",
            remedy: Remedy::Setting {
                name: "commit_delay",
                value: "0",
                live: true,
            },
        },
        judge: |server| unless(server, "commit_delay", |value| value == "0"),
    },
    Check {
        about: About {
            id: "random-page-cost",
            worst: Level::Note,
            why: "The default is for spinning disks: on others, the planner may choose a sequential scan where an index scan is faster.",
            source: "PostgreSQL manual, Query Planning (random_page_cost)",
            remedy: Remedy::Setting {
                name: "random_page_cost",
                value: "1.1",
                live: true,
            },
        },
        judge: page_cost,
    },
];

/// Notes an unusual value.
fn unless(server: &Facts, name: &str, usual: impl Fn(&str) -> bool) -> Observed {
    valued(server, name, |value| match usual(value) {
        true => Level::Passed,
        false => Level::Note,
    })
}

fn wal_size(server: &Facts) -> Observed {
    const NAME: &str = "max_wal_size";
    let Some(most) = bytes(server, NAME, MEGABYTE) else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {}", shown_bytes(most));
    let found = match most {
        GOOD_WAL_BYTES.. => return Observed::passed(observed),
        ..=SMALL_WAL_BYTES => Observed::warning(observed),
        _ => Observed::note(observed),
    };
    found.with("NEEDED", size(server, GOOD_WAL_BYTES))
}

fn archiving(server: &Facts) -> Observed {
    const NAME: &str = "archive_mode";
    let Some(mode) = server.text(NAME) else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {mode}");
    let ways = ["archive_command", "archive_library"];
    // An unprivileged account does not see the command.
    let known = ways.iter().filter_map(|name| server.text(name));
    let is_empty = |way: &str| way.is_empty() || way == "(disabled)";
    match mode {
        "off" => Observed::passed(observed),
        _ if known.clone().count() > 0 && known.clone().all(is_empty) => {
            Observed::warning(format!("{observed}, without an archive_command"))
        }
        _ => Observed::note(observed),
    }
}

fn page_cost(server: &Facts) -> Observed {
    const NAME: &str = "random_page_cost";
    let Some(cost) = server.text(NAME) else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {cost}");
    match (server.turning_disk, cost.parse::<f64>()) {
        (Some(false), Ok(4.0..)) => {
            Observed::note(format!("{observed}, and its disk does not turn"))
        }
        (None, Ok(4.0..)) => {
            Observed::unknown(format!("{observed}; whether its disk turns is not known"))
        }
        _ => Observed::passed(observed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, with};
    use super::*;
    use Level::{Note, Passed, Unknown, Warning};

    #[test]
    fn the_log_between_checkpoints() {
        let size = |value| check("max-wal-size", &[("max_wal_size", value)]);
        let levels = ["1GB", "1024", "2GB", "16GB"].map(size);
        assert_eq!(levels, [Warning, Warning, Note, Passed]);
        let time = |value| check("checkpoint-timeout", &[("checkpoint_timeout", value)]);
        assert_eq!(
            ["5min", "1h", "30s", "30"].map(time),
            [Passed, Passed, Warning, Warning]
        );
        let target = |value| {
            let name = "checkpoint_completion_target";
            check("checkpoint-completion-target", &[(name, value)])
        };
        assert_eq!([target("0.9"), target("0.5")], [Passed, Note]);
    }

    #[test]
    fn an_archive_needs_a_command() {
        let judge = |mode, command| {
            let settings = [("archive_mode", mode), ("archive_command", command)];
            check("archiving", &settings)
        };
        assert_eq!(
            [judge("off", ""), judge("on", ""), judge("on", "cp")],
            [Passed, Warning, Note]
        );
        assert_eq!(check("archiving", &[("archive_mode", "on")]), Note);
    }

    #[test]
    fn what_differs_from_the_usual_is_noted() {
        for (id, usual, other) in [
            ("background-writer", "100", "0"),
            ("wal-compression", "off", "lz4"),
            ("wal-level", "replica", "logical"),
            ("commit-delay", "0", "10"),
        ] {
            let name = match id {
                "background-writer" => "bgwriter_lru_maxpages".to_owned(),
                id => id.replace('-', "_"),
            };
            let judge = |value| check(id, &[(&name, value)]);
            assert_eq!([judge(usual), judge(other)], [Passed, Note], "{id}");
        }
    }

    #[test]
    fn the_cost_of_a_random_page_depends_on_the_disk() {
        let judge = |cost, turns| {
            let mut server = with(&[("random_page_cost", cost)]);
            server.turning_disk = turns;
            page_cost(&server).level()
        };
        assert_eq!(
            [judge("4", Some(false)), judge("1.1", Some(false))],
            [Note, Passed]
        );
        assert_eq!(
            [judge("4", Some(true)), judge("4", None)],
            [Passed, Unknown]
        );
    }
}
