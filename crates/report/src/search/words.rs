//! What searches found, in sentences.

use measure::column::percentile;
use measure::find_max::{AtRate, FoundMax, LONG, SearchEnd, StepCaveat};
use measure::quantile::FEWEST_SLOWER;
use measure::result::RunResult;
use measure::steady::MIN_SECONDS;

use super::name;
use crate::number;

/// The answer: of one search what it found, of several the highest rate.
pub(super) fn lead(result: &RunResult) -> Option<String> {
    let searches = result.searches.as_slice();
    let text = match searches {
        [] => return None,
        [one] => answer(one, result),
        several => of_several(several, result),
    };
    // A number stays on a line with its unit.
    Some(text.replace(" ms", "\u{a0}ms"))
}

/// What one search found, where its curve has its knee, and why it ended.
pub(super) fn of(search: &FoundMax, result: &RunResult) -> String {
    let mut text = match result.searches.len() {
        1 => String::new(),
        _ => format!("{}: {} ", name(search, result), answer(search, result)),
    };
    text.push_str(&knee(search));
    text.push_str(&why_ended(search));
    text.replace(" ms", "\u{a0}ms")
}

fn of_several(searches: &[FoundMax], result: &RunResult) -> String {
    let held = searches.iter().filter_map(|search| {
        let rate = search.held()?.rate_per_s;
        Some((search, rate))
    });
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
    match cautions.is_empty() {
        true => String::new(),
        false => format!(" Caution: {}", cautions.join(" ")),
    }
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

/// `it was 18.30 ms`, in the words of the limited number.
fn seen(at: &AtRate, search: &FoundMax) -> String {
    match at.value_ms {
        _ if at.is_overloaded => "arrivals exceeded throughput".to_owned(),
        Some(ms) => format!("{} was {} ms", limited(search), number::value(ms)),
        None => "nothing was measured".to_owned(),
    }
}

fn share(held: &AtRate, search: &FoundMax, result: &RunResult) -> String {
    let share = search
        .capacity_per_s
        .map(|capacity| (capacity, held.rate_per_s / capacity));
    let of = |step: &measure::find_max::SearchStep| {
        let mut trials = result.trials.iter();
        trials.find(|trial| trial.setup.planned.number == step.trial)
    };
    let users = search.steps.first().and_then(of);
    let users = users.map(|trial| trial.setup.planned.users());
    let users = match users {
        Some(1) => " with 1 user".to_owned(),
        Some(users) => format!(" with {} users", number::count(users)),
        None => String::new(),
    };
    share.map_or(String::new(), |(capacity, share)| {
        format!(
            " The lower one is {:.0} % of the {} in a closed loop{users}.",
            share * 100.0,
            number::value(capacity)
        )
    })
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
    let steps = match search.steps.len() {
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
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
