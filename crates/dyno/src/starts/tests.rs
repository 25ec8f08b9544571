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
    let study = Study::parse("t", &text, engine::catalog()).unwrap();
    let study = PlannedStudy::of(study, "".as_ref()).unwrap();
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
