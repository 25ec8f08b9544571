//! Result directories with numbers of one's choice, such as a paper's.

use std::path::Path;

use measure::result::RunResult;
use store::ResultDir;

/// Writes a result as a run leaves it, but for the seconds of its trials.
pub fn keep(dir: &Path, result: &RunResult, study: &str) {
    let kept = ResultDir::create(Some(dir), &result.title, study, &result.environment).unwrap();
    for trial in &result.trials {
        let writer = kept
            .trial(trial.setup.planned.number, &trial.setup.planned.label)
            .unwrap();
        writer.finish(trial).unwrap();
    }
    kept.write_result(result).unwrap();
}
