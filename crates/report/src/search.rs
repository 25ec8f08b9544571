//! Searches for the highest rate within a limit: what they found, and by which steps.

use measure::column;
use measure::find_max::{FoundMax, SearchEnd, SearchStep, StepVerdict};
use measure::interval::Estimate;
use measure::result::RunResult;

use crate::grid::{Columns, Grid};
use crate::list::{around, with_parts};
use crate::sheet::{Block, Section};
use crate::{keys, number};

/// The answer in a few sentences: of one search what it found, of several the highest rate; `None`
/// without a search.
pub(crate) fn lead(result: &RunResult) -> Option<String> {
    let text = match result.searches.as_slice() {
        [] => return None,
        [one] => answer(one, result),
        several => of_several(several, result),
    };
    Some(with_units(&text))
}

/// A number stays on a line with its unit.
fn with_units(text: &str) -> String {
    text.replace(" ms", "\u{a0}ms")
}

/// What was found, by which steps, and the curve; `None` without a search.
pub(crate) fn section(result: &RunResult) -> Option<Section> {
    let searches = result.searches.as_slice();
    let first = searches.first()?;
    let told = searches.iter().map(|search| words(search, result));
    let mut blocks: Vec<Block> = told.map(Block::Words).collect();
    blocks.push(figure(first));
    blocks.extend((searches.len() > 1).then(|| Block::Table(found(result))));
    let steps = searches.iter().map(|search| steps(search, result));
    blocks.extend(steps.map(Block::Table));
    Some(Section::new("Highest rate within a limit", blocks))
}

/// Of one search its steps; of several what each found; `None` without a search.
pub(crate) fn table(result: &RunResult) -> Option<Grid> {
    match result.searches.as_slice() {
        [] => None,
        [one] => Some(steps(one, result)),
        _ => Some(found(result)),
    }
}

/// The place of the trial with the highest rate that kept the limit, from 0.
pub(crate) fn best_trial(result: &RunResult) -> Option<usize> {
    let held = result.searches.iter().filter_map(FoundMax::held);
    let best = held.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?;
    let mut trials = result.trials.iter();
    trials.position(|trial| trial.setup.planned.number == best.trial)
}

/// What a search stands for: `rows=1000, repeat 2`; nothing where there is one.
pub(crate) fn name(search: &FoundMax, result: &RunResult) -> String {
    let name = keys::name_of(&search.point, &keys::axes(result));
    match result.searches.as_slice() {
        [_] => String::new(),
        all if all.iter().any(|search| search.repeat > 1) => {
            format!("{}repeat {}", around("", &name, ", "), search.repeat)
        }
        _ => name,
    }
}

fn found(result: &RunResult) -> Grid {
    let columns = Columns::<&FoundMax>::new()
        .key("search", |search| name(search, result))
        .with("highest rate", |search| search.rate)
        .with("knee", |search| search.knee().map(|at| at.achieved_per_s))
        .with("closed loop", |search| search.capacity_per_s)
        .with("steps", |search| search.steps.len())
        .words("ended", |search| ended(&search.end));
    columns.grid(
        "The result of each search, in transactions per second: the highest rate within \
         the limit, the knee of the curve, and the throughput of a closed loop.",
        &result.searches,
    )
}

fn ended(end: &SearchEnd) -> &'static str {
    match end {
        SearchEnd::Precise => "precise",
        SearchEnd::OutOfSteps => "out of steps",
        SearchEnd::NoRate => "no rate found",
        SearchEnd::Stopped { .. } => "stopped",
    }
}

/// The steps of one search, in the order in which they ran.
fn steps(search: &FoundMax, result: &RunResult) -> Grid {
    let of = around(" of ", &name(search, result), "");
    let caption = format!(
        "Steps{of} in the order in which they ran: requested arrivals and completed \
         transactions per second; response times in milliseconds. Limit: {} ms.",
        search.limit_ms
    );
    let columns = Columns::<&SearchStep>::new()
        .key("trial", |step| step.trial.to_string())
        .with("rate", |step| step.rate_per_s)
        .with("tps", |step| step.achieved_per_s)
        .with("mean", |step| step.mean_ms)
        .with(column::heading(&search.column), |step| step.value_ms)
        .with("slower, %", |step| 100.0 * step.slower)
        .words("verdict", |step| step.verdict.to_string());
    columns.grid(caption, &search.steps)
}

fn figure(search: &FoundMax) -> Block {
    let heading = column::heading(&search.column);
    Block::Figure {
        id: "searches",
        label: format!(
            "Line chart of the response time ({heading}) against throughput; its values are in the \
             tables."
        ),
        caption: format!(
            "Response time ({heading}) by throughput: the mean of the steps at about the same rate, \
             with its 95 % confidence interval. Dotted line: the limit. Diamond: the highest rate, \
             with its interval. Crosses: steps at which arrivals exceeded throughput. Ring: the \
             knee, where response times begin to climb."
        ),
    }
}

/// A line for each step of each search; nothing is rounded. `None` without a search.
pub fn csv(result: &RunResult) -> Option<String> {
    let first = result.searches.first()?;
    let axes = keys::axes(result).into_iter();
    let axes = axes.filter(|key| first.point.contains_key(*key));
    let columns = Columns::<(&FoundMax, &SearchStep)>::new()
        .each(axes, |columns, key| {
            columns.with(key, move |(search, _)| search.point.get(key))
        })
        .with("repeat", |(search, _)| search.repeat)
        .with("column", |(search, _)| &search.column)
        .with("limit_ms", |(search, _)| search.limit_ms)
        .with("capacity_per_s", |(search, _)| search.capacity_per_s)
        .with("trial", |(_, step)| step.trial)
        .with("rate_per_s", |(_, step)| step.rate_per_s)
        .with("achieved_per_s", |(_, step)| step.achieved_per_s)
        .with("transactions", |(_, step)| step.transactions)
        .with("slower", |(_, step)| step.slower)
        .with("mean_ms", |(_, step)| step.mean_ms)
        .with("value_ms", |(_, step)| step.value_ms)
        .with("verdict", |(_, step)| step.verdict.to_string());
    Some(columns.csv(with_parts(&result.searches, |search| &search.steps)))
}

/// What one search found, where its curve has its knee, and why it ended.
fn words(search: &FoundMax, result: &RunResult) -> String {
    let answer = match result.searches.len() {
        1 => String::new(),
        _ => format!("{}: {} ", name(search, result), answer(search, result)),
    };
    with_units(&(answer + &knee(search) + &why_ended(search)))
}

fn of_several(searches: &[FoundMax], result: &RunResult) -> String {
    let found = searches.iter();
    let found = found.filter_map(|search| Some((search, search.rate?.value)));
    let best = found.max_by(|a, b| a.1.total_cmp(&b.1));
    let count = searches.len();
    match best {
        Some((best, _)) => format!(
            "Of {count} searches, the highest rate was found at {}. {}",
            name(best, result),
            answer(best, result)
        ),
        None => format!("None of {count} searches found a rate that keeps its limit."),
    }
}

fn answer(search: &FoundMax, result: &RunResult) -> String {
    let limit = limit(search);
    let text = match (search.rate, search.held(), search.failed()) {
        (Some(rate), ..) => format!(
            "The highest rate that keeps {limit} is {} transactions per second{}",
            interval(rate),
            share(rate, search, result)
        ),
        (None, Some(held), None) => format!(
            "The highest rate that keeps {limit} is above {} transactions per second, where {}; \
             no tested rate exceeded the limit.",
            number::value(held.rate_per_s),
            seen(held, search)
        ),
        (None, None, Some(failed)) if search.end == SearchEnd::NoRate => format!(
            "No rate keeps {limit}: even at {} transactions per second, {}.",
            number::value(failed.rate_per_s),
            seen(failed, search)
        ),
        (None, None, Some(failed)) => format!(
            "No tested rate keeps {limit}: at {} transactions per second, the lowest, {}.",
            number::value(failed.rate_per_s),
            seen(failed, search)
        ),
        (None, ..) => format!("The highest rate that keeps {limit} is unknown."),
    };
    match &search.end {
        SearchEnd::Stopped { reason } => format!("{text} The search did not finish: {reason}."),
        _ => text,
    }
}

/// `812.0 (95 % confidence interval 795.0 to 829.0)`.
fn interval(rate: Estimate) -> String {
    let value = number::value(rate.value);
    match rate.half_width {
        Some(half) => format!(
            "{value} (95 % confidence interval {} to {})",
            number::value(rate.value - half),
            number::value(rate.value + half)
        ),
        None => format!("about {value} (too few steps near it for a confidence interval)"),
    }
}

/// The limited number in a word: `p99`.
fn limited(search: &FoundMax) -> &str {
    match search.column.rsplit('.').next() {
        Some("mean") | None => "the mean",
        Some(percentile) => percentile,
    }
}

/// `99 % of the response times below 20 ms`.
fn limit(search: &FoundMax) -> String {
    let what = match search.column.as_str() {
        "response_ms.mean" => "the mean response time",
        "response_ms.p95" => "95 % of the response times",
        "response_ms.p99" => "99 % of the response times",
        other => other,
    };
    format!("{what} below {} ms", search.limit_ms)
}

/// `p99 was 18.30 ms`, worded for the column that has the limit.
fn seen(step: &SearchStep, search: &FoundMax) -> String {
    match step.value_ms {
        _ if step.verdict == StepVerdict::Overloaded => "arrivals exceeded throughput".to_owned(),
        Some(ms) => format!("{} was {} ms", limited(search), number::value(ms)),
        None => "nothing was measured".to_owned(),
    }
}

/// The rate as a share of the capacity, which ends the sentence.
fn share(rate: Estimate, search: &FoundMax, result: &RunResult) -> String {
    let Some(capacity) = search.capacity_per_s else {
        return ".".to_owned();
    };
    let first = search.steps.first();
    let mut trials = result.trials.iter().map(|trial| &trial.setup.planned);
    let trial = first.and_then(|step| trials.find(|trial| trial.number == step.trial));
    let users = trial.map(|trial| number::counted(trial.users(), "user"));
    format!(
        ", {:.0} % of the {} in a closed loop{}.",
        rate.value / capacity * 100.0,
        number::value(capacity),
        around(" with ", &users.unwrap_or_default(), "")
    )
}

fn knee(search: &FoundMax) -> String {
    match search.knee() {
        Some(knee) => format!(
            "Response times begin to climb at {} transactions per second (the knee of the curve), \
             where {} was {} ms. ",
            number::value(knee.achieved_per_s),
            limited(search),
            number::value(knee.value_ms.value)
        ),
        None => "The curve has too few rates, or no bend, to show a knee. ".to_owned(),
    }
}

fn why_ended(search: &FoundMax) -> String {
    let steps = number::counted(search.steps.len() as u64, "step");
    match &search.end {
        SearchEnd::Precise => {
            format!("The search ended after {steps}, because the interval is narrow enough.")
        }
        SearchEnd::OutOfSteps => format!(
            "The search ended after {steps}, at its maximum number of steps; longer steps \
             (--time; in a study, load.time) give a narrower interval."
        ),
        SearchEnd::NoRate => format!(
            "The search ended after {steps}, because the last rate is less than a hundredth of the \
             closed loop's throughput."
        ),
        SearchEnd::Stopped { .. } => format!("The search was stopped after {steps}."),
    }
}
