//! Names of the files in a result directory.

/// The study as it ran.
pub const STUDY: &str = "study.toml";
/// Where it ran.
pub const ENVIRONMENT: &str = "environment.json";
/// Folder of the trials.
pub const TRIALS: &str = "trials";
/// One line a second: rates, times, shares.
pub const SERIES: &str = "series.jsonl";
/// One line a second: histograms.
pub const INTERVALS: &str = "intervals.jsonl";
/// One line a second: metrics of the monitors.
pub const MONITORS: &str = "monitors.jsonl";
/// One line a fault: the transactions around it, every 10 ms.
pub const FAULTS: &str = "faults.jsonl";
/// Folder of a trial's servers.
pub const SERVERS: &str = "servers";
/// Summary of one trial.
pub const TRIAL: &str = "trial.json";
/// All trials.
pub const RESULT: &str = "result.json";
pub const REPORT: &str = "report.html";
pub const MARKDOWN: &str = "report.md";
/// The study's tables, one line per cell.
pub const TABLES: &str = "tables.csv";
/// The steps of searches for the highest rate.
pub const SEARCHES: &str = "searches.csv";
/// One line per fault: when it struck, and how its instance recovered.
pub const FAULTS_CSV: &str = "faults.csv";
/// Scalability: the measured points, and the laws that fit.
pub const SCALING: &str = "scaling.csv";
/// Whether the thresholds were met, for CI systems.
pub const JUNIT: &str = "junit.xml";
/// All numbers, one line per trial.
pub const CSV: &str = "results.csv";

/// The history of an instance's ledger: one line per event.
pub fn ledger(instance: u32) -> String {
    format!("ledger-{instance}.jsonl")
}

/// Whether a file is named as by [`ledger`], or is the part of it that Elle reads.
pub(crate) fn is_ledger(name: &str) -> bool {
    let instance = name
        .strip_prefix("ledger-")
        .and_then(|rest| rest.strip_suffix(".jsonl").or(rest.strip_suffix(".edn")));
    instance.is_some_and(|instance| instance.parse::<u32>().is_ok())
}
