//! How instances recovered from the same fault in all repeats of a point.

use measure::fault::FaultRecord;
use measure::recovery::{Distribution, Number, Observation, PHASES, numbers};
use measure::result::RunResult;
use measure::summary::TrialSummary;

use super::{EXPLAINED, Recovered, head, name, observation, recovered};
use crate::grid::{Columns, Grid};
use crate::list::{grouped, joined, joined_any, joined_known};
use crate::{keys, number, point};

/// Most faults whose recovery the lead tells one by one.
const MOST_TOLD: usize = 4;
const TOLD: [&str; 2] = ["recovery.first_write_s", "recovery.back_s"];

/// The faults of one kind at one point of a study, over its repeats.
struct Repeated<'a> {
    /// The point; `None` if there is only one.
    point: Option<String>,
    words: String,
    /// Each with how its instance recovered.
    faults: Vec<Recovered<'a>>,
}

impl Repeated<'_> {
    fn keys(&self) -> String {
        joined(self.point.iter().chain([&self.words]), ", ")
    }

    fn distribution(&self, number: &Number) -> Option<Distribution> {
        let faults = self.faults.iter();
        Distribution::of(faults.filter_map(|(_, found)| observation(number, found)))
    }

    /// `After kill of primary: first write after 1.588 (1.203–1.973) s, …`.
    fn sentence(&self) -> String {
        let phases = PHASES.iter().filter(|phase| TOLD.contains(&phase.name));
        let told = phases
            .map(|phase| self.told(phase))
            .chain(self.unavailable());
        let recovery = format!("Recovery ({}): {}.", self.keys(), joined(told, ", "));
        joined_known([Some(recovery), self.found_out()], " ")
    }

    /// What it showed of a volume, with its name.
    fn finding(&self) -> Option<String> {
        Some(format!("After {}: {}", self.keys(), self.found_out()?))
    }

    fn found_out(&self) -> Option<String> {
        joined_any([self.ended(), self.scrubbed()].into_iter().flatten(), " ")
    }

    /// `The server ended after 0.213 s, restarted after 3.281 s.`
    fn ended(&self) -> Option<String> {
        let after = |at_s: fn(&FaultRecord) -> Option<f64>| {
            let faults = self.faults.iter().map(|(fault, _)| fault);
            let faults = faults.filter(|fault| fault.crash.is_some());
            let times = faults.filter_map(|fault| Some(at_s(fault)? - fault.effect_s?));
            Distribution::of(times.map(Observation::Exactly))
        };
        let ended = self.shown(&after(|fault| Some(fault.crash.as_ref()?.at_s))?);
        let restarted = after(|fault| fault.healed_s);
        let restarted = restarted.map_or_else(
            || "not restarted".to_owned(),
            |all| format!("restarted after {}", self.shown(&all)),
        );
        Some(format!("The server ended after {ended}, {restarted}."))
    }

    /// `Scrub: 12 errors found, 12 corrected, 0 uncorrectable.` Of each repeat.
    fn scrubbed(&self) -> Option<String> {
        let faults = self.faults.iter();
        let scrubs = faults.filter_map(|(fault, _)| Some(fault.scrub?.to_string()));
        Some(format!("Scrub: {}.", joined_any(scrubs, "; ")?))
    }

    /// `no writes for 1.6 (1.2–2.0) s`.
    fn unavailable(&self) -> Option<String> {
        let number = numbers().find(|one| one.name == "recovery.unavailable_s")?;
        let all = self.distribution(number)?;
        Some(format!("no writes for {} in all", self.shown(&all)))
    }

    /// `first write after 1.588 (1.203–1.973) s in 2 of 3 repeats`.
    fn told(&self, phase: &Number) -> String {
        let Some(all) = self.distribution(phase) else {
            return format!("{} never", phase.heading);
        };
        format!("{} after {}", phase.heading, self.shown(&all))
    }

    /// `1.588 (1.203–1.973) s in 2 of 3 repeats`, or `> 40.00 s`.
    fn shown(&self, all: &Distribution) -> String {
        let (median, low, high) = (all.median(), all.min(), all.max());
        let shown = match all.values().len() {
            1 => number::observation(median),
            _ => number::observed_within(median, low, high),
        };
        let happened = match (self.faults.len(), all.happened()) {
            (repeats, happened) if repeats == happened => String::new(),
            (repeats, happened) => format!(" in {happened} of {repeats} repeats"),
        };
        format!("{shown} s{happened}")
    }
}

fn repeated(result: &RunResult) -> Vec<Repeated<'_>> {
    let is_swept = !keys::axes(result).is_empty();
    let points = point::of_result(result).into_iter();
    let all = points.flat_map(|point| {
        let trials = point.trials.iter().copied();
        let faults = trials.flat_map(|trial| recovered(trial).map(move |one| (trial, one)));
        let mut faults = grouped(faults.map(|(trial, one)| (one.0.place(), (trial, one))));
        faults.sort_by_key(|(place, _)| *place);
        faults.into_iter().map(move |(_, repeats)| Repeated {
            point: is_swept.then(|| point.name.clone()),
            words: repeats.first().map_or_else(String::new, words_of_all),
            faults: repeats.into_iter().map(|(_, one)| one).collect(),
        })
    });
    all.collect()
}

/// What was done in all repeats: a random target is another server in each.
pub(crate) fn words_of_all((trial, (fault, _)): &(&TrialSummary, Recovered<'_>)) -> String {
    let any = FaultRecord {
        node: None,
        ..(*fault).clone()
    };
    name(&any, trial)
}

/// How the instances recovered, in a few sentences; `None` without faults.
pub(crate) fn sentences(result: &RunResult) -> Option<String> {
    let all = repeated(result);
    let told = all.iter().take(MOST_TOLD).map(Repeated::sentence);
    let findings = all.iter().skip(MOST_TOLD).filter_map(Repeated::finding);
    let told: Vec<String> = told.chain(findings.take(MOST_TOLD)).collect();
    let more = match all.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(" {more} more faults are listed under Recovery."),
    };
    let split = two_primaries(result);
    (!all.is_empty()).then(|| split.unwrap_or_default() + &told.join(" ") + &more)
}

/// That members accepted writes at the same time of which only one should, and how long at most.
fn two_primaries(result: &RunResult) -> Option<String> {
    let faults = result.trials.iter().flat_map(recovered);
    let times = faults.filter_map(|(fault, found)| Some((found.two_primaries_s?, fault)));
    let splits: Vec<_> = times.filter(|(time_s, _)| *time_s > 0.0).collect();
    let (longest_s, fault) = splits
        .iter()
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    let (time, words) = (number::value(*longest_s), fault.words());
    let others = match splits.len() - 1 {
        0 => String::new(),
        1 => ", and after 1 other fault".to_owned(),
        more => format!(", and after {more} other faults"),
    };
    Some(format!(
        "TWO PRIMARIES accepted writes at once for {time} s after {words}{others}. "
    ))
}

/// Recovery over the repeats of each point: a row for each phase and cost.
pub(crate) fn distributions(result: &RunResult) -> Grid {
    let all = repeated(result);
    let numbers = all.iter().flat_map(|repeated| {
        numbers().map(move |number| (repeated, number, repeated.distribution(number)))
    });
    let rows: Vec<_> = numbers.collect();
    type Row<'a> = &'a (&'a Repeated<'a>, &'a Number, Option<Distribution>);
    let statistic =
        |of: fn(&Distribution) -> Observation| move |(.., all): Row<'_>| Some(of(all.as_ref()?));
    let columns = Columns::<Row<'_>>::new()
        .when(!keys::axes(result).is_empty(), |columns| {
            columns.key("point", |(repeated, ..)| repeated.point.as_ref())
        })
        .key("fault", |(repeated, ..)| &repeated.words)
        .key("", |(_, number, _)| head(number).text())
        .with("repeats", |(repeated, _, all)| {
            let happened = all.as_ref().map_or(0, Distribution::happened);
            format!("{happened} of {}", repeated.faults.len())
        })
        .with("median", statistic(Distribution::median))
        .with("min", statistic(Distribution::min))
        .with("max", statistic(Distribution::max))
        .words("values", |(.., all)| {
            let values = all.as_ref().map_or(&[][..], Distribution::values);
            joined(values.iter().copied().map(number::observation), ", ")
        });
    let caption = format!(
        "Recovery over repeats, failed trials included: in how many it happened, and its \
         distribution; the worst case is the maximum. {EXPLAINED} Lowest share: the lowest \
         second as a share of the throughput before."
    );
    columns.grid(caption, &rows)
}
