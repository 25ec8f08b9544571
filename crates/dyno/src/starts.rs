//! How many starts the budget of a comparison allows.

use std::time::Duration;

use lab::Trial;
use lab::needs::Needs;
use plan::key::COMPARE;
use plan::{Point, format_duration};

use crate::failure::Failure;
use crate::plan::shown_time;
use crate::study_file::PlannedStudy;

/// What a start of all variants of a point takes.
#[derive(Default)]
struct StartTime {
    /// Of the loads alone.
    load: Duration,
    all: Duration,
    /// In addition, for data that only the first start builds.
    build: Duration,
}

/// Lowers the number of starts to what the budget of the slowest point probably allows, before any
/// trial runs: the intervals of all looks depend on when the last one is. Fails if the loads of a
/// single start take longer.
pub(crate) fn limit(
    study: &PlannedStudy,
    trials: &mut Vec<Trial>,
    needs: &[Needs],
) -> Result<(), Failure> {
    let compare = trials.first().and_then(|trial| trial.planned.compare);
    let Some(compare) = compare.filter(|compare| compare.starts > 1) else {
        return Ok(());
    };
    let points = points(trials, needs);
    let mut loads = points.iter().map(|(_, start)| start.load);
    if let Some(load) = loads.find(|load| *load > compare.budget) {
        return Err(too_small(study, compare.budget, load));
    }
    let allowed = points.iter().map(|(_, start)| {
        let left = compare.budget.saturating_sub(start.build);
        left.div_duration_f64(start.all).ceil() as u32
    });
    let starts = allowed.fold(compare.starts, u32::min).max(2);
    trials.retain(|trial| trial.planned.repeat <= starts);
    let planned = trials.iter_mut().map(|trial| &mut trial.planned);
    for compare in planned.filter_map(|planned| planned.compare.as_mut()) {
        compare.starts = starts;
    }
    Ok(())
}

fn too_small(study: &PlannedStudy, budget: Duration, load: Duration) -> Failure {
    let message = format!(
        "a budget of {} is too small for one start: its variants run for {}",
        format_duration(budget),
        shown_time(load)
    );
    let remedy = "raise `budget`, or shorten `load.warmup` and `load.time`";
    let place = |key| study.source.place(key);
    let place = place("compare.budget").or_else(|| place(COMPARE));
    let failure = Failure::usage(message).remedy(remedy);
    study.located(failure.span(place.unwrap_or_default()))
}

fn points(trials: &[Trial], needs: &[Needs]) -> Vec<(Point, StartTime)> {
    let mut points: Vec<(Point, StartTime)> = Vec::new();
    let all = trials.iter().zip(needs);
    for (trial, needs) in all.filter(|(trial, _)| trial.planned.repeat == 1) {
        let point = trial.planned.common_point();
        let known = points.iter().position(|(known, _)| *known == point);
        let at = known.unwrap_or_else(|| {
            points.push((point, StartTime::default()));
            points.len() - 1
        });
        let (start, load) = (&mut points[at].1, &trial.planned.load);
        start.load += (load.warmup + load.time).mul_f64(trial.stretch());
        start.all += needs.time - needs.build_time;
        start.build += needs.build_time;
    }
    points
}

#[cfg(test)]
mod tests {
    use lab::Lab;
    use study::Study;

    use super::*;

    /// The starts of a study of which each takes 160 s, after 60 s for its data.
    fn limited(compare: &str) -> Result<u32, Failure> {
        let text = format!(
            "title = 't'\n[server]\nengine = 'mariadb'\n[data]\nrows = 10\n\
             [load]\nworkload = 'oltp_point_select'\nwarmup = '10s'\ntime = '60s'\n\
             [compare]\n{compare}\n[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\n"
        );
        let study = PlannedStudy::of(Study::parse("t", &text, engine::catalog()).unwrap());
        let mut trials = study.trials(&Lab::default()).unwrap();
        let needs = trials.iter().map(|trial| {
            let is_first = trial.planned.number == 1;
            let build_time = Duration::from_secs(if is_first { 60 } else { 0 });
            Needs {
                time: Duration::from_secs(80) + build_time,
                build_time,
                disk_bytes: 0,
                template_bytes: 0,
                log_bytes: 0,
                memory_bytes: 0,
            }
        });
        let needs: Vec<Needs> = needs.collect();
        limit(&study, &mut trials, &needs)?;
        let compares = trials.iter().filter_map(|trial| trial.planned.compare);
        let starts: Vec<u32> = compares.map(|compare| compare.starts).collect();
        assert_eq!(starts, vec![starts[0]; 2 * starts[0] as usize]);
        Ok(starts[0])
    }

    #[test]
    fn no_more_starts_are_planned_than_the_budget_allows() {
        for (compare, starts) in [
            ("starts = 20", 11),
            ("budget = '10m'", 4),
            ("budget = '3m'", 2),
            ("budget = '2h'", 20),
            ("starts = 3", 3),
        ] {
            assert_eq!(limited(compare), Ok(starts), "{compare}");
        }
    }

    /// Twice 70 s, which the beginnings of turns stretch to 156 s.
    #[test]
    fn a_budget_below_the_loads_of_a_start_is_refused() {
        assert_eq!(limited("budget = '156s'"), Ok(2));
        let refused = limited("budget = '2m'").unwrap_err();
        assert!(refused.message.contains("run for 2m36s"), "{refused:?}");
        assert!(refused.message.contains("t:11:"), "{refused:?}");
        assert!(limited("budget = '2m'\nalternate = 'never'").is_err());
        assert_eq!(limited("budget = '140s'\nalternate = 'never'"), Ok(2));
    }
}
