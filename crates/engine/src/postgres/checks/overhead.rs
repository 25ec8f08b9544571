//! Overhead: logs, statistics, and assertions.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use super::ms;
use crate::checks::{Facts, switched};

/// Where libraries are loaded from.
const PRELOADED: [&str; 2] = ["shared_preload_libraries", "session_preload_libraries"];

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "statement-logging",
            worst: Level::Severe,
            why: "Each statement or its duration is written to the log, which can take longer than the statement.",
            source: "PostgreSQL manual, Error Reporting and Logging (log_statement, log_min_duration_statement)",
            remedy: Remedy::Setting {
                name: "SETTING",
                value: "USUAL",
                live: true,
            },
        },
        judge: statements,
    },
    Check {
        about: About {
            id: "auto-explain",
            worst: Level::Severe,
            why: "Plans of slow statements are logged; with log_analyze, each plan node of every statement is timed.",
            source: "PostgreSQL manual, auto_explain",
            remedy: Remedy::Setting {
                name: "auto_explain.log_min_duration",
                value: "-1",
                live: true,
            },
        },
        judge: plans,
    },
    Check {
        about: About {
            id: "statement-statistics",
            worst: Level::Note,
            why: "Tracking statements takes CPU time and a lock: servers are comparable only with the same setting.",
            source: "PostgreSQL manual, pg_stat_statements",
            remedy: Remedy::Nothing,
        },
        judge: statistics,
    },
    Check {
        about: About {
            id: "io-timing",
            worst: Level::Note,
            why: "The clock is read before and after each read and write, which costs little or much depending on the host's clock source.",
            source: "PostgreSQL manual, Run-time Statistics (track_io_timing, track_wal_io_timing), pg_test_timing",
            remedy: Remedy::Setting {
                name: "track_io_timing",
                value: "off",
                live: true,
            },
        },
        judge: timing,
    },
    Check {
        about: About {
            id: "debug-assertions",
            worst: Level::Severe,
            why: "A build with assertions is several times slower than a production build.",
            source: "PostgreSQL manual, Preset Options (debug_assertions)",
            remedy: Remedy::Words("install a build without --enable-cassert"),
        },
        judge: |server| switched(server, "debug_assertions", false, Level::Severe),
    },
];

/// The first setting that logs statements.
fn statements(server: &Facts) -> Observed {
    let (statement, duration) = ("log_statement", "log_min_duration_statement");
    let (Some(kind), Some(least_ms)) = (server.text(statement), ms(server, duration, 1.0)) else {
        return server.unknown(statement);
    };
    let found = |level, observed: String, name: &str, usual: &str| {
        Observed::found(level, observed)
            .with("SETTING", name)
            .with("USUAL", usual)
    };
    if matches!(kind, "all" | "mod") {
        return found(
            Level::Severe,
            format!("{statement}: {kind}"),
            statement,
            "none",
        );
    }
    if least_ms == 0.0 {
        return found(Level::Severe, format!("{duration}: 0"), duration, "-1");
    }
    if server.is_on("log_duration") == Some(true) {
        let name = "log_duration";
        return found(Level::Severe, format!("{name}: on"), name, "off");
    }
    let samples = ms(server, "log_min_duration_sample", 1.0).is_some_and(|ms| ms >= 0.0);
    for (name, is_used) in [
        ("log_statement_sample_rate", samples),
        ("log_transaction_sample_rate", true),
    ] {
        let rate = server.text(name).and_then(|rate| rate.parse::<f64>().ok());
        if let Some(rate) = rate.filter(|rate| is_used && *rate > 0.0) {
            return found(Level::Warning, format!("{name}: {rate}"), name, "0");
        }
    }
    match least_ms > 0.0 {
        true => found(
            Level::Note,
            format!("{duration}: {least_ms} ms"),
            duration,
            "-1",
        ),
        false => Observed::passed(format!("{statement}: {kind}, {duration}: -1")),
    }
}

/// Whether the server loads a library; `None`: not known. The account may not see all of them.
fn loads(server: &Facts, library: &str) -> Option<bool> {
    let lists = PRELOADED.iter().filter_map(|name| server.text(name));
    let lists: Vec<&str> = lists.collect();
    let names = || lists.iter().flat_map(|list| list.split(','));
    let is_it = |name: &str| {
        name.trim()
            .trim_matches('"')
            .trim_end_matches(".so")
            .ends_with(library)
    };
    match names().any(is_it) {
        true => Some(true),
        false => (lists.len() == PRELOADED.len()).then_some(false),
    }
}

fn plans(server: &Facts) -> Observed {
    let (least, analyze) = ("auto_explain.log_min_duration", "auto_explain.log_analyze");
    match (loads(server, "auto_explain"), ms(server, least, 1.0)) {
        (None, None) => server.unknown(PRELOADED[0]),
        (Some(false), None) => Observed::passed("auto_explain is not loaded"),
        (_, Some(..0.0)) => Observed::passed(format!("{least}: -1")),
        _ => match server.is_on(analyze) {
            Some(true) => Observed::severe(format!("{analyze}: on")),
            _ => Observed::note("auto_explain is loaded"),
        },
    }
}

fn statistics(server: &Facts) -> Observed {
    match loads(server, "pg_stat_statements") {
        None => server.unknown(PRELOADED[0]),
        Some(true) => Observed::note("pg_stat_statements is loaded"),
        Some(false) => Observed::passed("pg_stat_statements is not loaded"),
    }
}

fn timing(server: &Facts) -> Observed {
    let wal = "track_wal_io_timing";
    match server.is_on(wal) {
        Some(true) => switched(server, wal, false, Level::Note).with("track_io_timing", wal),
        _ => switched(server, "track_io_timing", false, Level::Note),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, with};
    use super::*;
    use Level::{Note, Passed, Severe, Unknown, Warning};

    #[test]
    fn logs_of_statements() {
        const QUIET: [(&str, &str); 6] = [
            ("log_statement", "none"),
            ("log_min_duration_statement", "-1"),
            ("log_duration", "off"),
            ("log_min_duration_sample", "-1"),
            ("log_statement_sample_rate", "1"),
            ("log_transaction_sample_rate", "0"),
        ];
        let judge = |name, value| {
            check(
                "statement-logging",
                &[&QUIET[..], &[(name, value)]].concat(),
            )
        };
        assert_eq!(judge("log_statement", "ddl"), Passed);
        assert_eq!(judge("log_statement", "all"), Severe);
        assert_eq!(judge("log_min_duration_statement", "0"), Severe);
        assert_eq!(judge("log_min_duration_statement", "1s"), Note);
        assert_eq!(judge("log_duration", "on"), Severe);
        assert_eq!(judge("log_min_duration_sample", "0"), Warning);
        assert_eq!(judge("log_transaction_sample_rate", "0.1"), Warning);
        let all = statements(&with(&[&QUIET[..], &[("log_statement", "all")]].concat()));
        let found = Observed::severe("log_statement: all");
        assert_eq!(
            all,
            found.with("SETTING", "log_statement").with("USUAL", "none")
        );
    }

    #[test]
    fn libraries_that_watch_statements() {
        let judge = |id, libraries, also: &[(&str, &str)]| {
            let lists = [(PRELOADED[0], libraries), (PRELOADED[1], "")];
            check(id, &[&lists[..], also].concat())
        };
        let libraries = "pg_stat_statements, auto_explain";
        assert_eq!(judge("statement-statistics", libraries, &[]), Note);
        assert_eq!(judge("statement-statistics", "", &[]), Passed);
        assert_eq!(
            check("statement-statistics", &[(PRELOADED[0], "")]),
            Unknown
        );
        let explain = |least, analyze| {
            let settings = [
                ("auto_explain.log_min_duration", least),
                ("auto_explain.log_analyze", analyze),
            ];
            judge("auto-explain", libraries, &settings)
        };
        assert_eq!(judge("auto-explain", "", &[]), Passed);
        assert_eq!(explain("-1", "on"), Passed);
        assert_eq!([explain("1s", "on"), explain("1s", "off")], [Severe, Note]);
    }

    #[test]
    fn timing_and_assertions() {
        let timing = |io, wal| {
            check(
                "io-timing",
                &[("track_io_timing", io), ("track_wal_io_timing", wal)],
            )
        };
        assert_eq!(
            [
                timing("off", "off"),
                timing("on", "off"),
                timing("off", "on")
            ],
            [Passed, Note, Note]
        );
        assert_eq!(
            check("debug-assertions", &[("debug_assertions", "on")]),
            Severe
        );
    }
}
