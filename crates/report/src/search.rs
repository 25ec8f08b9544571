//! Searches for the highest rate within a limit: what they found, and by which steps.

use measure::column::{self, percentile};
use measure::find_max::{AtRate, FoundMax, LONG, SearchEnd, SearchStep, StepCaveat};
use measure::quantile::FEWEST_SLOWER;
use measure::result::RunResult;
use measure::steady::MIN_SECONDS;

use crate::grid::{Columns, Grid};
use crate::list::{around, clause, joined};
use crate::sheet::{self, Block, Figure, Section};
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
    let mut blocks: Vec<Block> = sheet::words(told).collect();
    blocks.push(Block::Figure(figure(first)));
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

/// The place of the trial that shows the highest rate that held, from 0.
pub(crate) fn best_trial(result: &RunResult) -> Option<usize> {
    let held = result.searches.iter().filter_map(FoundMax::held);
    let best = held.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?;
    let number = best.trials.last()?;
    let mut trials = result.trials.iter();
    trials.position(|trial| trial.setup.planned.number == *number)
}

/// What a search stands for: `rows=1000, repeat 2`; nothing where there is one.
pub(crate) fn name(search: &FoundMax, result: &RunResult) -> String {
    let name = keys::name_of(&search.point, &keys::axes(result));
    match result.searches.iter().any(|search| search.repeat > 1) {
        true => format!("{}repeat {}", around("", &name, ", "), search.repeat),
        false => name,
    }
}

fn found(result: &RunResult) -> Grid {
    let rate = |at: Option<AtRate>| at.map(|at| at.rate_per_s);
    let columns = Columns::<&FoundMax>::new()
        .key("search", |search| name(search, result))
        .with("within limit", |search| rate(search.held()))
        .with("above limit", |search| rate(search.failed()))
        .with("knee", |search| rate(search.knee()))
        .with("closed loop", |search| search.capacity_per_s)
        .with("steps", |search| search.steps.len())
        .words("ended", |search| ended(&search.end));
    columns.grid(
        "The result of each search, in transactions per second: the highest rate within \
         the limit, the lowest rate above it, the knee of the curve, and the throughput \
         of a closed loop.",
        &result.searches,
    )
}

fn ended(end: &SearchEnd) -> &'static str {
    match end {
        SearchEnd::Found { .. } => "found",
        SearchEnd::OutOfTrials { .. } => "out of trials",
        SearchEnd::NoRate { .. } => "no rate found",
        SearchEnd::Stopped { .. } => "stopped",
    }
}

/// The steps of one search, in the order in which they ran.
fn steps(search: &FoundMax, result: &RunResult) -> Grid {
    let of = match result.searches.len() {
        1 => String::new(),
        _ => format!(" of {}", name(search, result)),
    };
    let caption = format!(
        "Steps{of} in the order in which they ran: requested arrivals and completed \
         transactions per second; response times in milliseconds. Limit: {} ms.{}",
        search.limit_ms,
        caveats(search)
    );
    let columns = Columns::<&SearchStep>::new()
        .key("trial", |step| step.trial.to_string())
        .with("rate", |step| step.rate_per_s)
        .with("tps", |step| step.achieved_per_s)
        .with("mean", |step| step.mean_ms)
        .with(column::heading(&search.column), |step| step.value_ms)
        .words("verdict", |step| {
            let longer = clause(step.long, ", in a longer trial");
            let caveats = step.caveats.iter().map(|caveat| format!(", {caveat}"));
            format!("{}{longer}{}", step.verdict, caveats.collect::<String>())
        });
    columns.grid(caption, &search.steps)
}

/// What the words for caveats mean, where there are any.
fn caveats(search: &FoundMax) -> String {
    let of = |caveat, words: &str| {
        let mut steps = search.steps.iter();
        let told = steps.any(|step| step.caveats.contains(&caveat));
        told.then(|| format!(" {words}"))
    };
    let few =
        format!("Few slower: fewer than {FEWEST_SLOWER} transactions exceeded the percentile.");
    let short = format!("Short: less than {MIN_SECONDS} s, too short to detect steady state.");
    let all = [
        of(StepCaveat::FewSlower, &few),
        of(StepCaveat::Short, &short),
    ];
    all.into_iter().flatten().collect()
}

fn figure(search: &FoundMax) -> Figure {
    let heading = column::heading(&search.column);
    Figure {
        id: "searches",
        label: format!(
            "Line chart of the response time ({heading}) against throughput; its values are in the \
             tables."
        ),
        caption: format!(
            "Response time ({heading}) by throughput, with a point for each rate: its longer \
             trial, or the mean of its trials. Dotted line: the limit. Crosses: steps at which \
             arrivals exceeded throughput. Ring: the knee, where response times begin to climb."
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
        .with("mean_ms", |(_, step)| step.mean_ms)
        .with("value_ms", |(_, step)| step.value_ms)
        .with("long", |(_, step)| step.long)
        .with("verdict", |(_, step)| step.verdict.to_string())
        .with("caveats", |(_, step)| {
            joined(step.caveats.iter().map(StepCaveat::to_string), "; ")
        });
    let searches = result.searches.iter();
    Some(columns.csv(searches.flat_map(|search| {
        let steps = search.steps.iter();
        steps.map(move |step| (search, step))
    })))
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
    let held = searches.iter();
    let held = held.filter_map(|search| Some((search, search.held()?.rate_per_s)));
    let best = held.max_by(|a, b| a.1.total_cmp(&b.1));
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
    let (held, failed) = (search.held(), search.failed());
    let text = match (&search.end, &held, &failed) {
        (SearchEnd::NoRate { .. }, _, Some(failed)) => format!(
            "No rate keeps {limit}: even at {} transactions per second, {}.",
            number::value(failed.rate_per_s),
            seen(failed, search)
        ),
        (_, Some(held), Some(failed)) => format!(
            "The highest rate that keeps {limit} is between {} and {} transactions per second: at \
             the lower one {}, at the higher one {}.{}",
            number::value(held.rate_per_s),
            number::value(failed.rate_per_s),
            seen(held, search),
            seen(failed, search),
            share(held, search, result)
        ),
        (_, Some(held), None) => format!(
            "The highest rate that keeps {limit} is above {} transactions per second, where {}; \
             no tested rate exceeded the limit.",
            number::value(held.rate_per_s),
            seen(held, search)
        ),
        (_, None, Some(failed)) => format!(
            "No tested rate keeps {limit}: at {} transactions per second, the lowest, {}.",
            number::value(failed.rate_per_s),
            seen(failed, search)
        ),
        (_, None, None) => format!("The highest rate that keeps {limit} is unknown."),
    };
    let text = match &search.end {
        SearchEnd::Stopped { reason, .. } => {
            format!("{text} The search did not finish: {reason}.")
        }
        _ => text,
    };
    let told: Vec<AtRate> = held.into_iter().chain(failed).collect();
    format!("{text}{}", caution(&told, search))
}

/// Why the reported rates may be chance; empty without a reason.
fn caution(told: &[AtRate], search: &FoundMax) -> String {
    let cautions = [few_slower(told, search), short(told)];
    let cautions: Vec<String> = cautions.into_iter().flatten().collect();
    around(" Caution: ", &cautions.join(" "), "")
}

/// That a percentile hangs on a few transactions, and how long a step has to be for more.
fn few_slower(told: &[AtRate], search: &FoundMax) -> Option<String> {
    let percentile = percentile(&search.column)?;
    let doubted = doubted(told, StepCaveat::FewSlower);
    let needed = FEWEST_SLOWER / (1.0 - percentile);
    // Arrivals come by chance, sometimes fewer.
    let likely = needed + 3.0 * needed.sqrt();
    let enough = |at: &AtRate| (likely / at.rate_per_s).max(MIN_SECONDS as f64);
    let lengths = doubted.iter().map(|at| step_s(at, enough(at)));
    let enough_s = lengths.reduce(f64::max)?;
    Some(format!(
        "{}, fewer than {FEWEST_SLOWER} transactions exceeded {}, so it may be chance: use steps of \
         {} or more (--time; in a study, load.time).",
        at(&doubted),
        limited(search),
        number::seconds(enough_s)
    ))
}

/// That nothing says whether the load was steady.
fn short(told: &[AtRate]) -> Option<String> {
    let doubted = doubted(told, StepCaveat::Short);
    let lengths = doubted.iter().map(|at| step_s(at, MIN_SECONDS as f64));
    let enough_s = lengths.reduce(f64::max)?;
    Some(format!(
        "{}, the measurement took less than {MIN_SECONDS} s, too short to detect steady state, so a \
         longer one may find another rate: use steps of {} or more (--time; in a study, load.time).",
        at(&doubted),
        number::seconds(enough_s)
    ))
}

/// How long `load.time` has to be for a trial like this to take so many seconds.
fn step_s(at: &AtRate, trial_s: f64) -> f64 {
    let times = if at.is_long { f64::from(LONG) } else { 1.0 };
    (trial_s / times).ceil()
}

fn doubted(told: &[AtRate], caveat: StepCaveat) -> Vec<&AtRate> {
    let told = told.iter();
    told.filter(|at| !at.is_overloaded && at.caveats.contains(&caveat))
        .collect()
}

/// `At 30.00 per second`.
fn at(doubted: &[&AtRate]) -> String {
    match doubted {
        [one] => format!("At {} per second", number::value(one.rate_per_s)),
        _ => "At both rates".to_owned(),
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

/// `it was 18.30 ms`, worded for the column that has the limit.
fn seen(at: &AtRate, search: &FoundMax) -> String {
    match at.value_ms {
        _ if at.is_overloaded => "arrivals exceeded throughput".to_owned(),
        Some(ms) => format!("{} was {} ms", limited(search), number::value(ms)),
        None => "nothing was measured".to_owned(),
    }
}

fn share(held: &AtRate, search: &FoundMax, result: &RunResult) -> String {
    let Some(capacity) = search.capacity_per_s else {
        return String::new();
    };
    let first = search.steps.first();
    let mut trials = result.trials.iter().map(|trial| &trial.setup.planned);
    let trial = first.and_then(|step| trials.find(|trial| trial.number == step.trial));
    let users = trial.map(|trial| number::counted(trial.users(), "user"));
    format!(
        " The lower one is {:.0} % of the {} in a closed loop{}.",
        held.rate_per_s / capacity * 100.0,
        number::value(capacity),
        around(" with ", &users.unwrap_or_default(), "")
    )
}

fn knee(search: &FoundMax) -> String {
    match search.knee() {
        Some(knee) => format!(
            "Response times begin to climb at {} transactions per second (the knee of the curve), \
             where {}. ",
            number::maybe(knee.achieved_per_s),
            seen(&knee, search)
        ),
        None => "The curve has too few rates, or no bend, to show a knee. ".to_owned(),
    }
}

fn why_ended(search: &FoundMax) -> String {
    let steps = number::counted(search.steps.len() as u64, "step");
    match &search.end {
        SearchEnd::Found {
            held_per_s,
            failed_per_s,
        } => format!(
            "The search ended after {steps}, because the two rates are {:.1} % apart and longer \
             trials confirmed both.",
            (failed_per_s / held_per_s - 1.0) * 100.0
        ),
        SearchEnd::OutOfTrials { .. } => format!(
            "The search ended after {steps}, at its maximum number of steps; longer steps \
             (--time; in a study, load.time) near the limit agree sooner."
        ),
        SearchEnd::NoRate { .. } => format!(
            "The search ended after {steps}, because the last rate is about a hundredth of the \
             closed loop's throughput."
        ),
        SearchEnd::Stopped { .. } => format!("The search was stopped after {steps}."),
    }
}
