//! Names of the files in a result directory.

pub const STUDY: &str = "study.toml";
pub const ENVIRONMENT: &str = "environment.json";
pub const TRIALS: &str = "trials";
pub const SERIES: &str = "series.jsonl";
pub const INTERVALS: &str = "intervals.jsonl";
pub const MONITORS: &str = "monitors.jsonl";
/// One line a fault: the transactions around it, every 10 ms.
pub const FAULTS: &str = "faults.jsonl";
pub const SERVERS: &str = "servers";
pub const TRIAL: &str = "trial.json";
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
/// The workloads of mixes, one line for each of a trial.
pub const WORKLOADS: &str = "workloads.csv";
/// The phases of loads, one line for each of a trial.
pub const PHASES: &str = "phases.csv";
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
