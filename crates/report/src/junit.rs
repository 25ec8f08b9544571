//! Thresholds as the JUnit XML that CI systems read: a test case for each threshold at
//! each point. One that is undecided is skipped.

use askama::Template;
use measure::result::RunResult;
use measure::summary::TrialSummary;
use measure::threshold::ThresholdResult;

use crate::characters::steers;
use crate::thresholds;

/// Its texts are escaped already.
#[derive(Template)]
#[template(path = "junit.xml", escape = "none")]
struct Suite {
    counts: String,
    title: String,
    started: String,
    hostname: String,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    /// Empty where the threshold was met.
    why: String,
    is_undecided: bool,
}

/// The whole file; `None` without thresholds.
pub fn xml(result: &RunResult) -> Option<String> {
    let all = result.thresholds.as_slice();
    let count = |is: fn(&ThresholdResult) -> bool| all.iter().filter(|one| is(one)).count();
    let attribute = |name, value: &str| match value {
        "" => String::new(),
        value => format!(" {name}=\"{}\"", escaped(value)),
    };
    let environment = &result.environment;
    let hostname = environment.hostname.as_deref().unwrap_or_default();
    let suite = Suite {
        counts: format!(
            "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3}\"",
            all.len(),
            count(ThresholdResult::is_missed),
            count(ThresholdResult::is_undecided),
            measured_s(&result.trials, |_| true)
        ),
        title: escaped(&result.title),
        started: attribute("timestamp", &environment.started),
        hostname: attribute("hostname", hostname),
        cases: all.iter().map(|one| case(one, result)).collect(),
    };
    suite.render().ok().filter(|_| !all.is_empty())
}

fn case(threshold: &ThresholdResult, result: &RunResult) -> Case {
    let is_there = |trial: &TrialSummary| trial.setup.planned.point == threshold.point;
    Case {
        name: format!(
            "classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(&thresholds::point(threshold, result)),
            escaped(&threshold.threshold()),
            measured_s(&result.trials, is_there)
        ),
        why: escaped(&thresholds::reason(threshold).unwrap_or_default()),
        is_undecided: threshold.is_undecided(),
    }
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
