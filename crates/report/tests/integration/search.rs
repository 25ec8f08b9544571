//! Searches for the highest rate in every form of the report, on results made without a
//! server.

use crate::common::search::{FOUND, Found, searched};
use crate::common::{self, flat, golden, outline, report_of, says};
use measure::find_max::{SearchEnd, StepVerdict};
use measure::interval::Estimate;
use report::Answer;

fn text(ends: &[(&str, Found)]) -> String {
    flat(&outline(&searched(ends).result))
}

#[test]
fn the_answer_comes_first_in_every_form() {
    let left = searched(&[("1000", FOUND)]);
    let report = report_of(&left.result);
    let answer = "The highest rate that keeps 99 % of the response times below 20 ms is 780.0 (95 % confidence \
                  interval 764.4 to 795.6) transactions per second, 78 % of the 1,000 in a closed loop with 8 users.";
    let page = report.html().unwrap();
    let (_, lead) = page.split_once("<p class=\"lead\">").unwrap();
    assert!(flat(lead).starts_with(answer), "{}", &lead[..600]);
    let text = text(&[("1000", FOUND)]);
    assert!(text.starts_with(answer), "{text}");
    for text in [text, flat(&report.markdown()), flat(&page)] {
        assert!(text.contains(answer), "{text}");
        says(
            &text,
            &[
                "Response times begin to climb at 700.0 transactions per second (the knee of the \
             curve), where p99 was 12.00 ms.",
                "The search ended after 7 steps, because the interval is narrow enough.",
                "within limit",
                "Limit: 20 ms.",
            ],
        );
    }
    // The curve stands where a sweep would.
    assert!(page.contains("id=\"searches\"") && !page.contains("id=\"sweep-tps\""));
    // The trial that is shown first has the highest rate within the limit.
    assert!(page.contains("\"best\":8"), "the highest rate that held");
    assert!(page.contains("\"highest\":{\"value\":780.0,\"half\":15.6"));
}

#[test]
fn every_step_is_a_line_of_the_csv() {
    let left = searched(&[("1000", FOUND), ("5000", FOUND)]);
    golden("searches.csv", &report::search::csv(&left.result).unwrap());
    let (without, _) = common::study(&[8]);
    assert_eq!(report::search::csv(&without), None);
}

#[test]
fn it_is_said_how_a_search_ended() {
    let stopped = || SearchEnd::Stopped {
        reason: "the server died".into(),
    };
    let text_of = |found: Found, keeps: fn(&StepVerdict) -> bool| {
        let mut left = searched(&[("1000", found)]);
        let steps = &mut left.result.searches[0].steps;
        steps.retain(|step| keeps(&step.verdict));
        flat(&outline(&left.result))
    };
    let all: fn(&StepVerdict) -> bool = |_| true;
    let held: fn(&StepVerdict) -> bool = |verdict| *verdict == StepVerdict::Held;
    let failed: fn(&StepVerdict) -> bool = |verdict| *verdict != StepVerdict::Held;
    let rough = Some(Estimate::exact(780.0));
    for (found, keeps, said) in [
        (
            (None, SearchEnd::NoRate),
            failed,
            "No rate keeps 99 % of the response times below 20 ms: even at 802.6 transactions \
             per second, p99 was 30.00 ms.",
        ),
        (
            (None, SearchEnd::OutOfSteps),
            held,
            "is above 766.8 transactions per second, where p99 was 18.50 ms; no tested rate exceeded the limit.",
        ),
        (
            (rough, SearchEnd::OutOfSteps),
            all,
            "at its maximum number of steps",
        ),
        (
            (rough, SearchEnd::OutOfSteps),
            all,
            "is about 780.0 (too few steps near it for a confidence interval) transactions per second",
        ),
        (
            (None, stopped()),
            failed,
            "No tested rate keeps 99 % of the response times below 20 ms: at 802.6 \
             transactions per second, the lowest, p99 was 30.00 ms.",
        ),
        (
            (None, stopped()),
            |_| false,
            "The highest rate that keeps 99 % of the response times below 20 ms is unknown. The search did not finish: the server died.",
        ),
    ] {
        let text = text_of(found, keeps);
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn of_several_searches_the_highest_is_told_and_all_are_listed() {
    let lower = (Some(Estimate::exact(700.0)), SearchEnd::OutOfSteps);
    let text = text(&[("1000", lower), ("5000", FOUND)]);
    assert!(
        text.starts_with(
            "Of 2 searches, the highest rate was found at rows=5000. The highest rate that keeps \
             99 % of the response times below 20 ms is 780.0 (95 %"
        ),
        "{text}"
    );
    assert!(text.contains("rows=1000: The highest rate that keeps"));
    assert!(text.contains("rows=1000 700.0 700.0 1,000 7 out of steps"));
    assert!(text.contains("Steps of rows=5000 in the order"));
}
