//! Comparisons of variants that took turns.

use measure::result::{RunResult, Table};
use measure::summary::Turn;
use plan::{Alternate, Compare};
use report::compare::decided;
use std::time::Duration;

use crate::common::made::made;
use crate::common::{flat, outline};

const NOT_RESTARTED: &str = "title = 't'\nserver.url = 'any://server'";

/// Six starts with turns ABBA BAAB. B is slower by 5 %, and by `carried` more after A's turns; A's rates
/// vary by `noise` between starts where B comes first.
fn in_turns(carried: f64, noise: f64) -> RunResult {
    let points = [[("variant", "A")], [("variant", "B")]];
    let trials = (1..=6).flat_map(|repeat| {
        let of = move |(point, tps)| (point, repeat, tps, 1.0);
        points
            .iter()
            .map(|point| &point[..])
            .zip([1000.0, 950.0])
            .map(of)
    });
    let mut result = made("turns", &trials.collect::<Vec<_>>());
    for trial in &mut result.trials {
        let planned = &mut trial.setup.planned;
        planned.compare = Some(Compare {
            starts: 20,
            budget: Duration::from_secs(3600),
            alternate: Alternate::Always,
            block: Duration::from_secs(1),
            pause: false,
        });
        let own = planned.variant().unwrap().to_owned();
        let luck = noise * f64::from(planned.repeat % 3);
        let order: Vec<char> = "ABBABAAB".chars().collect();
        let turns = order
            .iter()
            .enumerate()
            .filter(|(_, of)| own.contains(**of));
        let turns = turns.map(|(at, of)| {
            let after_other = at > 0 && order[at - 1] != *of;
            let rate = match (own.as_str(), after_other) {
                ("A", false) => 1000.0 * (1.0 + luck),
                ("A", true) => 1000.0,
                (_, true) => 950.0 * (1.0 - carried),
                _ => 950.0,
            };
            Turn {
                start_s: at as f64,
                length_s: 0.9,
                transactions: (rate * 0.9) as u64,
            }
        });
        trial.turns = turns.collect();
    }
    result
}

#[test]
fn turns_that_disturb_each_other_have_no_verdict_and_end_the_point() {
    let result = in_turns(0.03, 0.0);
    let text = flat(&outline(&result));
    let why = "no verdict: turns disturb each other by +3.1 %";
    assert!(text.to_lowercase().contains(why), "{text}");
    let mut next = result.trials[0].setup.planned.clone();
    next.repeat = 7;
    let decided = decided(&result, &next).unwrap();
    assert!(!decided.is_conclusive);
    assert!(decided.verdicts[0].contains(why), "{decided:?}");
}

#[test]
fn a_carry_over_that_is_unknown_is_a_caution() {
    let caution = "It is not known whether turns disturb each other by more than 1 %";
    let text = flat(&outline(&in_turns(0.0, 0.0)));
    assert!(
        !text.contains(caution) && !text.contains("disturb"),
        "{text}"
    );
    let text = flat(&outline(&in_turns(0.0, 0.1)));
    assert!(text.contains(caution), "{text}");
    assert!(
        text.contains("B: slower") || text.contains("slower by"),
        "{text}"
    );
}

#[test]
fn writes_in_turns_of_running_servers_are_a_caution() {
    let caution = "The servers took turns and wrote";
    let mut result = in_turns(0.0, 0.0);
    result
        .trials
        .retain(|trial| trial.setup.planned.repeat == 1);
    let text = flat(&outline(&result));
    assert!(!text.contains(caution), "{text}");
    let study = study::Study::parse("test", NOT_RESTARTED, &[]).unwrap();
    let server = study.plan().trials.remove(0).server;
    for trial in &mut result.trials {
        trial.setup.planned.server = server.clone();
    }
    let text = flat(&outline(&result));
    assert_eq!(text.matches(caution).count(), 1, "{text}");
    for trial in &mut result.trials {
        trial.writes = 0;
    }
    let text = flat(&outline(&result));
    assert!(!text.contains(caution), "{text}");
}

#[test]
fn a_change_within_one_start_is_no_percentile() {
    let mut result = in_turns(0.0, 0.0);
    result
        .trials
        .retain(|trial| trial.setup.planned.repeat == 1);
    let study = study::Study::parse("test", NOT_RESTARTED, &[]).unwrap();
    let server = study.plan().trials.remove(0).server;
    for trial in &mut result.trials {
        trial.setup.planned.server = server.clone();
        let turns = trial.turns.len();
        trial.turns.extend_from_within(..);
        let again = trial.turns[turns..].iter_mut();
        again.for_each(|turn| turn.start_s += 8.0);
    }
    result.design.tables = vec![Table {
        rows: "variant".into(),
        columns: vec!["tps.change_pct".into()],
    }];
    let text = flat(&outline(&result));
    assert!(text.contains("-5.00 (-5.00 to -5.00)"), "{text}");
    assert!(text.contains("the intervals over the blocks"), "{text}");
    assert!(!text.contains("single trial's percentile"), "{text}");
}
