//! How many starts the budget of a comparison allows.

use std::time::Duration;

use lab::Trial;
use lab::needs::Needs;
use plan::Point;

/// What a start of all variants of a point takes.
#[derive(Default)]
struct StartTime {
    all: Duration,
    /// In addition, for data that only the first start builds.
    build: Duration,
}

/// Lowers the number of starts to what the budget of the slowest point probably allows, before any
/// trial runs: the intervals of all looks depend on when the last one is.
pub(crate) fn limit(trials: &mut Vec<Trial>, needs: &[Needs]) {
    let compare = trials.first().and_then(|trial| trial.planned.compare);
    let Some(compare) = compare.filter(|compare| compare.starts > 1) else {
        return;
    };
    let points = points(trials, needs);
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
        let start = &mut points[at].1;
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
    use crate::study_file::PlannedStudy;

    /// The starts of a study of which each takes 160 s, after 60 s for its data.
    fn limited(compare: &str) -> u32 {
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
        limit(&mut trials, &needs);
        let compares = trials.iter().filter_map(|trial| trial.planned.compare);
        let starts: Vec<u32> = compares.map(|compare| compare.starts).collect();
        assert_eq!(starts, vec![starts[0]; 2 * starts[0] as usize]);
        starts[0]
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
            assert_eq!(limited(compare), starts, "{compare}");
        }
    }
}
