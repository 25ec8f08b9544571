//! Overhead: logs, instrumentation, and the query cache.

use measure::checks;
use measure::finding::Level::{Note, Severe};
use measure::finding::check::{Check, Judged, Observed};

use crate::checks::Facts;
use crate::mysql::MYSQL;

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "performance-schema", Note => server.switch("performance_schema", false, Note),
        why: "Its instrumentation takes CPU time: servers are comparable only with the same instrumentation.",
        source: "MySQL manual, performance_schema",
        remedy: Restart("performance_schema", "OFF");
    "query-cache", Severe => query_cache(server),
        why: "It answers repeated queries without the storage engine, and all other statements contend for its single lock.",
        source: "MariaDB manual, Query Cache",
        remedy: Live("query_cache_type", "OFF");
    "slow-log", Severe => slow_log(server),
        why: "Slow statements are written to a file; with a low threshold, every statement is.",
        source: "MySQL manual, slow_query_log",
        remedy: Live("slow_query_log", "OFF");
    "general-log", Severe => server.switch("general_log", false, Severe),
        why: "Every statement is written to a file, for which all connections contend.",
        source: "MySQL manual, general_log",
        remedy: Live("general_log", "OFF");
};

fn query_cache(server: &Facts) -> Judged {
    const NAME: &str = "query_cache_type";
    if server.engine == MYSQL && server.is_since(8, 0) && server.settings.is_ok() {
        let observed = format!("{NAME}: MySQL has no query cache since 8.0");
        return Ok(Observed::passed(observed));
    }
    let kind = server.text(NAME)?;
    let is_off = kind.eq_ignore_ascii_case("OFF") || kind == "0";
    Ok(match server.number("query_cache_size") {
        Ok(0) if !is_off => Observed::passed(format!("{NAME}: {kind}, query_cache_size: 0")),
        _ => Observed::graded(Severe.when(!is_off), format!("{NAME}: {kind}")),
    })
}

fn slow_log(server: &Facts) -> Judged {
    const NAME: &str = "slow_query_log";
    let is_on = server.is_on(NAME)?;
    Ok(match server.number("long_query_time") {
        _ if !is_on => Observed::passed(format!("{NAME}: OFF")),
        Ok(0) => Observed::severe(format!("{NAME}: ON, long_query_time: below 1 s")),
        _ => Observed::warning(format!("{NAME}: ON")),
    })
}
