//! The report of a hundred trials: small enough, and quick to write.

use std::time::Instant;

use crate::common::scale_up::{Left, scale_up};
use measure::metric::bracketed;
use report::Answer;

/// The size of the page, and how long it took.
fn page(left: &Left) -> usize {
    let start = Instant::now();
    let report = left.report();
    let page = report.html().unwrap();
    let written = start.elapsed();
    println!(
        "{} trials: {} bytes in {written:?}",
        left.result.trials.len(),
        page.len()
    );
    if let Some(dir) = std::env::var_os("REPORT_OUT") {
        std::fs::write(std::path::Path::new(&dir).join("hundred.html"), &page).unwrap();
    }
    page.len()
}

/// One to eight servers of some 60 metrics each and more. Many cores make many metrics, which are
/// not drawn second by second.
#[test]
fn a_hundred_long_trials_on_many_cores_are_under_ten_megabytes() {
    let mut left = scale_up(13);
    for (trial, points) in left.result.trials.iter_mut().zip(&mut left.monitors) {
        for share in ["cpu.user", "cpu.system", "cpu.iowait", "cpu.idle"] {
            let known = trial.metrics[share];
            for core in 0..128 {
                trial
                    .metrics
                    .insert(bracketed(share, &core.to_string()), known);
            }
        }
        let minute = points.clone();
        for repeat in 1..5 {
            points.extend(minute.iter().cloned().map(|mut point| {
                point.t_s += 71.0 * f64::from(repeat);
                point
            }));
        }
    }
    assert!(page(&left) < 10_000_000);
}
