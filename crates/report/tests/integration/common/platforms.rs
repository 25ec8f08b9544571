//! The two platforms of the virtualization paper, as two results and as the variants of one.

use measure::result::RunResult;
use report::Answer;
use report::compare::{ResultComparison, Side};
use report::text::Layout;

use super::made::swept;
use super::{flat, set};

/// Threads, throughput and latency of hardware and virtual machine, as the paper has them.
const PAPER: [(&str, [f64; 2], [f64; 2]); 4] = [
    ("4", [320.0, 38.0], [305.0, 39.0]),
    ("8", [330.0, 52.0], [316.0, 54.0]),
    ("16", [329.0, 114.0], [313.0, 123.0]),
    ("32", [324.0, 318.0], [305.0, 333.0]),
];

/// One side, each point so many times.
pub(crate) fn platform(side: usize, repeats: u32) -> RunResult {
    let points = PAPER.map(|(threads, hardware, machine)| {
        let [tps, mean_ms] = if side == 0 { hardware } else { machine };
        (threads, tps, mean_ms)
    });
    let middle = f64::from(repeats + 1) / 2.0;
    let luck = |repeat| 1.0 + (f64::from(repeat) - middle) * 0.002;
    let title = "What does virtualisation cost?";
    swept(title, "load.threads", &points, repeats, luck)
}

/// The whole of a result.
pub(crate) fn side<'a>(name: &'a str, result: &'a RunResult) -> Side<'a> {
    let variant = None;
    Side {
        name,
        result,
        variant,
    }
}

/// Two results of different times.
pub(crate) fn compare(base: &RunResult, new: &RunResult) -> ResultComparison {
    ResultComparison::of(&side("HW", base), &side("VM", new), &[])
}

/// Both platforms as the variants of one study, which ran them in blocks.
pub(crate) fn study(repeats: u32) -> RunResult {
    let (mut both, machine) = (platform(0, repeats), platform(1, repeats));
    both.trials.extend(machine.trials);
    both.design.axes.insert(0, "variant".into());
    both.design.trials *= 2;
    let half = both.trials.len() / 2;
    for (place, trial) in both.trials.iter_mut().enumerate() {
        let name = if place < half { "HW" } else { "VM" };
        set(trial, "variant", name);
        // The sides take turns at who is first.
        trial.setup.planned.number = ((trial.setup.planned.number * 2 + u32::from(place >= half))
            ^ (trial.setup.planned.repeat % 2))
            - 1;
        if place >= half {
            let luck = 1.0 + (f64::from(trial.setup.planned.repeat * 7 % 5) - 2.0) * 0.001;
            trial.transactions.per_s.as_mut().unwrap().value *= luck;
            let times = trial.response_ms.as_mut().unwrap();
            for time in [&mut times.mean.value, &mut times.p95, &mut times.p99] {
                *time /= luck;
            }
        }
    }
    both
}

/// Its two variants.
pub(crate) fn variants(result: &RunResult) -> ResultComparison {
    let side = |name| Side {
        variant: Some(name),
        ..side(name, result)
    };
    ResultComparison::of(&side("HW"), &side("VM"), &[])
}

/// What the CSV has in a column of each line.
pub(crate) fn column(both: &ResultComparison, name: &str) -> Vec<String> {
    let csv = both.csv();
    let cells = |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
    let mut lines = csv.lines().map(cells);
    let heads = lines.next().unwrap();
    let place = heads.iter().position(|head| head == name).unwrap();
    lines.map(|line| line[place].clone()).collect()
}

/// The text on one line.
pub(crate) fn unwrapped(both: &ResultComparison) -> String {
    flat(&both.text(Layout::DEFAULT))
}
