//! Trials that end when they are sure, through the whole program. No server is needed;
//! how long they take depends on the machine, and no limit here does.

use crate::common::Program;
use measure::setup::Outcome;
use measure::summary::TrialSummary;
use measure::warning::Warning;

/// One statement at a time, and as many in each second on any machine.
const CALM: &str = "--workload oltp_point_select --tables 1 --rows 300 --threads 1 --warmup 1s \
    --rate 20 --arrivals constant";

fn is_unsure(trial: &TrialSummary) -> bool {
    let mut warnings = trial.warnings.iter();
    warnings.any(|warning| matches!(warning, Warning::Unsure { .. }))
}

#[test]
fn the_limit_is_the_longest_length() {
    let study = "title = \"t\"\nserver.engine = \"sqlite\"\ndata.rows = 300\n\
        [load]\nworkload = \"oltp_point_select\"\nwarmup = \"0s\"\ntime = \"1s\"\n\
        rate = 20\narrivals = \"constant\"\n\
        until = { ci = \"0.1%\", max = \"2s\" }\n";
    // Too short for an interval, so nothing can be sure.
    let done = Program::study(study).succeeds();
    let trial = done.trial();
    assert_eq!(trial.ended, None);
    assert!(is_unsure(&trial), "{:?}", trial.warnings);
    assert!(trial.measured_s >= 1.9, "{}", trial.measured_s);
    let page = done.file("report.html");
    assert!(page.contains("until mean throughput is known to ±0.1 %"));
    let kept = done.file("study.toml");
    assert!(
        kept.contains("until = { ci = \"0.1%\", max = \"2s\" }"),
        "{kept}"
    );
}

#[test]
fn an_interrupt_is_still_an_interrupt() {
    let mut running = Program::bench("sqlite:")
        .args(CALM)
        .args("--until-ci 0.1% --max-time 1h --time 1h")
        .start();
    running.says("  measure  ");
    running.signal(rustix::process::Signal::INT);
    let done = running.wait().fails(4, &["interrupted"]);
    let trial = done.trial();
    assert_eq!((trial.outcome, trial.ended), (Outcome::Interrupted, None));
}
