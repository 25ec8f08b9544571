//! Mixes and phases: a table and a file of each.

use measure::parts::PartSummary;
use measure::summary::TrialSummary;

use crate::common::{flat, outline, says, study};

/// A quarter of a trial.
fn part(trial: &TrialSummary, name: &str, start_s: Option<f64>) -> PartSummary {
    let mut transactions = trial.transactions;
    transactions.count /= 4;
    PartSummary {
        name: name.to_owned(),
        start_s,
        transactions,
        response_ms: trial.response_ms,
    }
}

#[test]
fn a_mix_and_phases_have_a_table_and_a_file_each() {
    let (mut result, _) = study(&[8]);
    let trial = &mut result.trials[0];
    let reads = part(trial, "oltp_read_only", None);
    let spike = part(trial, "spike: 10s 1000/s", Some(70.0));
    (trial.by_workload, trial.by_phase) = (vec![reads], vec![spike]);
    trial.setup.planned.load.phase = Some("60s 200/s, spike: 10s 1000/s".to_owned());
    trial.steady = None;
    let told = flat(&outline(&result));
    says(
        &told,
        &[
            "By workload, with shares of all transactions.",
            "By phase, with shares of all transactions.",
            "oltp_read_only",
            "spike: 10s 1000/s",
            "in phases: 60s 200/s, spike: 10s 1000/s",
            "not assessed: the load has phases",
        ],
    );
    let file = report::parts::csv(&result, |trial| &trial.by_phase).unwrap();
    let heads =
        "number,label,name,start_s,transactions,share %,tps,mean,p95,p99,max,tps.half_width\r\n";
    assert!(file.starts_with(heads), "{file}");
    assert!(file.contains("spike: 10s 1000/s,70,"), "{file}");
    result.trials[0].by_workload.clear();
    assert_eq!(
        report::parts::csv(&result, |trial| &trial.by_workload),
        None
    );
}
