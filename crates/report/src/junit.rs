//! Thresholds as the JUnit XML that CI systems read: a test case for each threshold at
//! each point. One that is undecided is skipped.

use std::fmt::Write;

use measure::result::RunResult;
use measure::summary::TrialSummary;
use measure::threshold::ThresholdResult;

use crate::text::steers;
use crate::thresholds;

/// The whole file; `None` without thresholds.
pub fn xml(result: &RunResult) -> Option<String> {
    let all = result.thresholds.len();
    if all == 0 {
        return None;
    }
    let count =
        |is: fn(&ThresholdResult) -> bool| result.thresholds.iter().filter(|one| is(one)).count();
    let counts = format!(
        "tests=\"{all}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\"",
        count(ThresholdResult::is_missed),
        count(ThresholdResult::is_undecided),
        measured_s(&result.trials, |_| true)
    );
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (title, started) = (escaped(&result.title), &result.environment.started);
    let _ = writeln!(text, "<testsuites name=\"dyno\" {counts}>");
    let _ = write!(text, "  <testsuite name=\"{title}\" {counts}");
    if !started.is_empty() {
        let _ = write!(text, " timestamp=\"{}\"", escaped(started));
    }
    if let Some(hostname) = &result.environment.hostname {
        let _ = write!(text, " hostname=\"{}\"", escaped(hostname));
    }
    text.push_str(">\n");
    for threshold in &result.thresholds {
        case(&mut text, threshold, result);
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    Some(text)
}

fn case(text: &mut String, threshold: &ThresholdResult, result: &RunResult) {
    let _ = write!(
        text,
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(&thresholds::point(threshold, result)),
        escaped(&threshold.threshold()),
        measured_s(&result.trials, |trial| trial.setup.planned.point
            == threshold.point)
    );
    let Some(why) = thresholds::reason(threshold) else {
        text.push_str("/>\n");
        return;
    };
    let why = escaped(&why);
    let _ = match threshold.is_undecided() {
        true => writeln!(
            text,
            ">\n      <skipped message=\"{why}\"/>\n    </testcase>"
        ),
        false => writeln!(
            text,
            ">\n      <failure type=\"threshold\" message=\"{why}\">{why}</failure>\n    </testcase>"
        ),
    };
}

fn measured_s(trials: &[TrialSummary], of: impl Fn(&TrialSummary) -> bool) -> f64 {
    let trials = trials.iter().filter(|trial| of(trial));
    trials.map(|trial| trial.measured_s).sum::<f64>() + 0.0
}

/// Text as the value of an attribute or as content; what XML 1.0 cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            c if steers(c) => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_its_attribute_or_leaves_xml() {
        assert_eq!(
            escaped("a\"<b>&'c'\n\u{0}\u{1b}[2J\u{ffff}é\u{202e}\u{9b}"),
            "a&quot;&lt;b&gt;&amp;&apos;c&apos; [2Jé"
        );
    }
}
