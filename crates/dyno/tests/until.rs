//! Trials that end when they are sure, through the whole program. No server is needed;
//! how long they take depends on the machine, and no limit here does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use common::Program;
use measure::ended::Ended;
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
fn a_trial_ends_when_it_is_sure_and_says_so() {
    let done = Program::bench("sqlite:")
        .args(CALM)
        .args("--until-ci 50% --time 20s --max-time 50s")
        .run()
        .succeeds();
    let trial = done.trial();
    let Some(Ended::Sure {
        after_s,
        at_most_s,
        reached,
    }) = trial.ended
    else {
        panic!("{}", done.shown())
    };
    let two_looks = 22.0;
    assert!(after_s > two_looks - 1.0 && reached <= 0.5 && at_most_s == 50.0);
    // Nothing of it is counted as an interruption, and nothing is cut off.
    assert_eq!(trial.outcome, Outcome::Completed);
    assert_eq!(trial.unfinished.cancelled, 0);
    assert!(trial.measured_s < 50.0 && !is_unsure(&trial));
    assert!(
        done.stdout
            .contains("Ended: target precision reached after"),
        "{}",
        done.stdout
    );
    let page = std::fs::read_to_string(done.out().join("report.html")).unwrap();
    assert!(
        page.contains("1 of 1 trials")
            && page.contains("until mean throughput is known to ±50.0 %")
    );
    let kept = std::fs::read_to_string(done.out().join("study.toml")).unwrap();
    assert!(
        kept.contains("until.ci = \"50%\"\nuntil.max = \"50s\"\n"),
        "{kept}"
    );
}

#[test]
fn time_is_the_least_length_and_the_limit_is_the_longest() {
    let study = "title = \"t\"\nserver.engine = \"sqlite\"\ndata.rows = 300\n\
        [load]\nworkload = \"oltp_point_select\"\nwarmup = \"0s\"\ntime = \"24s\"\n\
        rate = 20\narrivals = \"constant\"\n\
        until = { ci = \"50%\", max = \"50s\" }\n";
    let done = Program::study(study).run().succeeds();
    let trial = done.trial();
    assert!(trial.measured_s >= 23.9, "{}", done.shown());
    assert!(matches!(trial.ended, Some(Ended::Sure { after_s, .. }) if after_s >= 23.9));
    // Too short for an interval, so nothing can be sure.
    let done = Program::study(study)
        .args("--set load.until.max=2s --set load.time=1s --set load.until.ci=0.1%")
        .run()
        .succeeds();
    let trial = done.trial();
    assert_eq!(trial.ended, None);
    assert!(is_unsure(&trial), "{:?}", trial.warnings);
    assert!(
        (1.9..20.0).contains(&trial.measured_s),
        "{}",
        trial.measured_s
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

#[test]
fn a_plan_counts_the_longest_time() {
    let text = "title = \"t\"\nserver.engine = \"sqlite\"\n\
        load = { warmup = \"10s\", time = \"20s\", until = { ci = \"1%\", max = \"5m\" } }\n";
    let plan = Program::new();
    std::fs::write(plan.dir().join("study.toml"), text).unwrap();
    let done = plan.args("plan study.toml").run().succeeds();
    assert!(
        done.stdout.contains("at most 5m10s in total"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_rule_that_cannot_be_is_refused() {
    for (words, said) in [
        (
            "--until-ci 2 --time 2m --max-time 1m",
            "--time, is longer than",
        ),
        ("--until-ci 80%", "from 0.1% to 50%"),
        ("--until-ci often", "not a percentage"),
        ("--max-time 5m", "--until-ci"),
    ] {
        let done = Program::bench("sqlite:")
            .args(words)
            .run()
            .fails(2, &[said]);
        assert!(!done.out().exists(), "{words}");
    }
}
