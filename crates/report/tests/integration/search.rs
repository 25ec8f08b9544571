//! Searches for the highest rate in every form of the report, on results made without a
//! server.

use crate::common::search::{FOUND, searched};
use crate::common::{self, flat, golden, outline, report_of, says};
use measure::find_max::{SearchEnd, StepCaveat};
use report::Answer;

fn text(ends: &[(&str, SearchEnd)]) -> String {
    flat(&outline(&searched(ends).result))
}

#[test]
fn the_answer_comes_first_in_every_form() {
    let left = searched(&[("1000", FOUND)]);
    let report = report_of(&left.result);
    let answer = "The highest rate that keeps 99 % of the response times below 20 ms is between \
                  766.8 and 802.6 transactions per second: at the lower one p99 was 18.50 ms, at \
                  the higher one p99 was 30.00 ms. The lower one is 77 % of the 1,000 in a closed loop with 8 users.";
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
                "The search ended after 7 steps, because the two rates are 4.7 % apart and longer \
             trials confirmed both.",
                "within limit, in a longer trial",
                "Limit: 20 ms.",
            ],
        );
    }
    // The curve stands where a sweep would.
    assert!(page.contains("id=\"searches\"") && !page.contains("id=\"sweep-tps\""));
    // The trial that is shown first is the one that confirmed.
    assert!(page.contains("\"best\":8"), "the held rate's longer trial");
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
    let stopped = |held_per_s, failed_per_s| SearchEnd::Stopped {
        reason: "the server died".into(),
        held_per_s,
        failed_per_s,
    };
    let out = |held_per_s, failed_per_s| SearchEnd::OutOfTrials {
        held_per_s,
        failed_per_s,
    };
    let none = SearchEnd::NoRate {
        failed_per_s: 840.0,
    };
    for (end, said) in [
        (
            none,
            "No rate keeps 99 % of the response times below 20 ms: even at 840.0 transactions \
             per second, arrivals exceeded throughput.",
        ),
        (
            out(Some(700.0), None),
            "is above 700.0 transactions per second, where p99 was 12.00 ms; no tested rate exceeded the limit.",
        ),
        (out(Some(700.0), None), "at its maximum number of steps"),
        (
            out(None, Some(802.6)),
            "No tested rate keeps 99 % of the response times below 20 ms: at 802.6 \
             transactions per second, the lowest, p99 was 30.00 ms.",
        ),
        (
            stopped(Some(700.0), Some(840.0)),
            "is between 700.0 and 840.0 transactions per second",
        ),
        (
            stopped(None, None),
            "The highest rate that keeps 99 % of the response times below 20 ms is unknown. The search did not finish: the server died.",
        ),
    ] {
        let text = text(&[("1000", end)]);
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// A trial is long enough when it shows steadiness and has ten slow transactions.
#[test]
fn what_may_be_luck_is_said_with_the_answer() {
    let said = |doubted: &[(f64, StepCaveat)]| {
        let mut left = searched(&[("1000", FOUND)]);
        for step in &mut left.result.searches[0].steps {
            let of_step = doubted.iter().filter(|(rate, _)| *rate == step.rate_per_s);
            step.caveats = of_step.map(|(_, caveat)| *caveat).collect();
        }
        let csv = report::search::csv(&left.result).unwrap();
        (flat(&outline(&left.result)), csv)
    };
    let (none, _) = said(&[]);
    assert!(
        !none.contains("Caution") && !none.contains("Short:"),
        "{none}"
    );
    // More arrived than was done, however short it was; and no answer rests on 700.
    let (other, csv) = said(&[(840.0, StepCaveat::Short), (700.0, StepCaveat::FewSlower)]);
    assert!(!other.contains("Caution"), "{other}");
    says(&csv, &[",700,700,5,12,false,within limit,few slower\r\n"]);
    let (few, _) = said(&[(766.8, StepCaveat::FewSlower)]);
    says(
        &few,
        &[
            "with 8 users. Caution: At 766.8 per second, fewer than 10 transactions exceeded p99, so \
         it may be chance: use steps of 7 s or more (--time; in a study, load.time).",
            "within limit, in a longer trial, few slower",
            "Few slower: fewer than 10 transactions exceeded",
        ],
    );
    // Of 7 per second, 1 % are most likely ten in (1,000 + 3 sqrt(1,000)) / 7 = 156.4 s.
    let mut slow = searched(&[("1000", SearchEnd::NoRate { failed_per_s: 7.0 })]);
    slow.result.searches[0].steps[0].rate_per_s = 7.0;
    slow.result.searches[0].steps[0].caveats = vec![StepCaveat::FewSlower];
    let slow = flat(&outline(&slow.result));
    assert!(slow.contains("use steps of 157 s or more"), "{slow}");
    let both = [766.8, 802.6].map(|rate| (rate, StepCaveat::Short));
    let (short, _) = said(&both);
    says(
        &short,
        &["Caution: At both rates, the measurement took less than 20 s, too short to detect"],
    );
}

#[test]
fn of_several_searches_the_highest_is_told_and_all_are_listed() {
    let lower = SearchEnd::Found {
        held_per_s: 700.0,
        failed_per_s: 840.0,
    };
    let text = text(&[("1000", lower), ("5000", FOUND)]);
    assert!(
        text.starts_with(
            "Of 2 searches, the highest rate was found at rows=5000. The highest rate that keeps \
             99 % of the response times below 20 ms is between 766.8 and 802.6"
        ),
        "{text}"
    );
    assert!(text.contains("rows=1000: The highest rate that keeps"));
    assert!(text.contains("rows=1000 700.0 840.0 700.0 1,000 7 found"));
    assert!(text.contains("Steps of rows=5000 in the order"));
}
