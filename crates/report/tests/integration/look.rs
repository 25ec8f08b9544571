//! How a comparison stands when its starts end, for whatever reason.

use std::time::Duration;

use measure::result::RunResult;
use plan::{Alternate, Compare, Trial};
use report::compare::{decided, point_state};

use crate::common::made::made;

static POINTS: [[(&str, &str); 1]; 2] = [[("variant", "A")], [("variant", "B")]];
const MOST: u32 = 8;

/// So many of at most eight starts, and the next trial. B is slower by 3 % in every second start,
/// and faster by 10 % in the others.
fn starts(count: u32) -> (RunResult, Trial) {
    let trials = (1..=count).flat_map(|repeat| {
        let tps = if repeat % 2 == 1 { 970.0 } else { 1100.0 };
        let both = POINTS.iter().zip([1000.0, tps]);
        both.map(move |(point, tps)| (&point[..], repeat, tps, 1.0))
    });
    let mut result = made("starts", &trials.collect::<Vec<_>>());
    for trial in &mut result.trials {
        trial.setup.planned.compare = Some(Compare {
            starts: MOST,
            budget: Duration::from_secs(3600),
            alternate: Alternate::Never,
            block: Duration::from_secs(1),
            pause: false,
        });
    }
    let mut next = result.trials[0].setup.planned.clone();
    next.repeat = (count + 1).min(MOST);
    (result, next)
}

#[test]
fn an_undecided_point_tells_what_would_decide_it_between_looks_and_at_the_end() {
    for count in [4, MOST] {
        let (result, next) = starts(count);
        assert_eq!(decided(&result, &next), None);
        let state = point_state(&result, &next).unwrap();
        assert!(!state.is_conclusive);
        let text = state.shown(Some(Duration::from_secs(1)));
        let begin = format!("after {count} starts: B: ");
        assert!(text.starts_with(&begin), "{text}");
        assert!(text.contains("would decide it (about "), "{text}");
        assert!(
            text.contains(" more starts, ") && text.ends_with("m)"),
            "{text}"
        );
        let text = state.shown(None);
        assert!(text.ends_with(" more starts)"), "{text}");
    }
}

#[test]
fn a_single_start_tells_what_would_decide_it() {
    let (result, next) = starts(1);
    let text = point_state(&result, &next).unwrap().shown(None);
    assert!(text.starts_with("after 1 start: B: "), "{text}");
    let end = "at least 5 repeats of each needed (about 4 more starts)";
    assert!(text.ends_with(end), "{text}");
}
