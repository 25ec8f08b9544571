//! Overhead: logs, statistics, and assertions.

use measure::checks;
use measure::finding::Level::{Note, Passed, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};

use super::ms;
use crate::checks::Facts;

/// Where libraries are loaded from.
const PRELOADED: [&str; 2] = ["shared_preload_libraries", "session_preload_libraries"];

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "statement-logging", Severe => statements(server),
        why: "Each statement or its duration is written to the log, which can take longer than the statement.",
        source: "PostgreSQL manual, Error Reporting and Logging (log_statement, log_min_duration_statement)",
        remedy: Live("SETTING", "USUAL");
    "auto-explain", Severe => plans(server),
        why: "Plans of slow statements are logged; with log_analyze, each plan node of every statement is timed.",
        source: "PostgreSQL manual, auto_explain",
        remedy: Live("auto_explain.log_min_duration", "-1");
    "statement-statistics", Note => statistics(server),
        why: "Tracking statements takes CPU time and a lock: servers are comparable only with the same setting.",
        source: "PostgreSQL manual, pg_stat_statements",
        remedy: Nothing;
    "io-timing", Note => timing(server),
        why: "The clock is read before and after each read and write, which costs little or much depending on the host's clock source.",
        source: "PostgreSQL manual, Run-time Statistics (track_io_timing, track_wal_io_timing), pg_test_timing",
        remedy: Live("track_io_timing", "off");
    "debug-assertions", Severe => server.switch("debug_assertions", false, Severe),
        why: "A build with assertions is several times slower than a production build.",
        source: "PostgreSQL manual, Preset Options (debug_assertions)",
        remedy: Words("install a build without --enable-cassert");
};

/// The first setting that logs statements.
fn statements(server: &Facts) -> Judged {
    let (statement, duration) = ("log_statement", "log_min_duration_statement");
    let (kind, least_ms) = (server.text(statement)?, ms(server, duration, 1.0)?);
    let is_on = server.is_on("log_duration") == Ok(true);
    let samples = ms(server, "log_min_duration_sample", 1.0).is_ok_and(|ms| ms >= 0.0);
    let rate = |name: &str| {
        let rate = server.parsed(name, |rate| rate.parse::<f64>().ok()).ok();
        rate.filter(|rate| *rate > 0.0).map(|rate| rate.to_string())
    };
    let (of_sample, of_transaction) = ("log_statement_sample_rate", "log_transaction_sample_rate");
    let logging = [
        (
            Severe,
            statement,
            matches!(kind, "all" | "mod").then(|| kind.to_owned()),
            "none",
        ),
        (
            Severe,
            duration,
            (least_ms == 0.0).then(|| "0".to_owned()),
            "-1",
        ),
        (
            Severe,
            "log_duration",
            is_on.then(|| "on".to_owned()),
            "off",
        ),
        (Warning, of_sample, rate(of_sample).filter(|_| samples), "0"),
        (Warning, of_transaction, rate(of_transaction), "0"),
        (
            Note,
            duration,
            (least_ms > 0.0).then(|| format!("{least_ms} ms")),
            "-1",
        ),
    ];
    let found = logging.into_iter().find_map(|(level, name, value, usual)| {
        let observed = Observed::graded(level, format!("{name}: {}", value?));
        Some(observed.with("SETTING", name).with("USUAL", usual))
    });
    Ok(found.unwrap_or_else(|| Observed::passed(format!("{statement}: {kind}, {duration}: -1"))))
}

/// Whether the server loads a library. The account may not see all lists of them.
fn loads(server: &Facts, library: &str) -> Result<bool, Observed> {
    let lists = PRELOADED.map(|name| server.text(name));
    let mut names = lists.iter().flatten().flat_map(|list| list.split(','));
    let is_loaded = names.any(|name| {
        let name = name.trim().trim_matches('"').trim_end_matches(".so");
        name.ends_with(library)
    });
    match lists.iter().all(Result::is_ok) || is_loaded {
        true => Ok(is_loaded),
        false => Err(server.unknown(PRELOADED[0])),
    }
}

fn plans(server: &Facts) -> Judged {
    let (least, analyze) = ("auto_explain.log_min_duration", "auto_explain.log_analyze");
    Ok(
        match (loads(server, "auto_explain"), ms(server, least, 1.0)) {
            (Err(unknown), Err(_)) => unknown,
            (Ok(false), Err(_)) => Observed::passed("auto_explain is not loaded"),
            (_, Ok(..0.0)) => Observed::passed(format!("{least}: -1")),
            _ if server.is_on(analyze) == Ok(true) => Observed::severe(format!("{analyze}: on")),
            _ => Observed::note("auto_explain is loaded"),
        },
    )
}

fn statistics(server: &Facts) -> Judged {
    let (level, is) = match loads(server, "pg_stat_statements")? {
        true => (Note, "is"),
        false => (Passed, "is not"),
    };
    Ok(Observed::graded(
        level,
        format!("pg_stat_statements {is} loaded"),
    ))
}

fn timing(server: &Facts) -> Judged {
    let (all, wal) = ("track_io_timing", "track_wal_io_timing");
    match server.is_on(wal) {
        Ok(true) => Ok(server.switch(wal, false, Note)?.with(all, wal)),
        _ => server.switch(all, false, Note),
    }
}
