//! Comparisons that end once they are decided, through the whole program. No server is needed, and the
//! variants differ by so much that no machine is too slow to show it.

use crate::common::Program;
use measure::compare::looks;

const STUDY: &str = "title = \"t\"\nserver.engine = \"sqlite\"\ndata.rows = 100\n\
    [load]\nworkload = \"oltp_point_select\"\nthreads = 1\nwarmup = \"0s\"\ntime = \"400ms\"\n\
    [compare]\nstarts = 8\n\
    [[variant]]\nname = \"quick\"\n[[variant]]\nname = \"slow\"\nload.think = \"100ms\"\n";

#[test]
fn the_first_look_that_decides_is_the_last() {
    let first = looks(8)[0];
    let plan = Program::plan(STUDY).succeeds();
    plan.prints(&["at most 16 trials"]);
    let done = Program::study(STUDY).succeeds();
    done.tells(&[
        "compare: whole trials: their databases run inside dyno\n",
        "decided after 6 starts: slow: slower by",
    ]);
    let result = done.result();
    let repeats = result.trials.iter().map(|trial| trial.setup.planned.repeat);
    assert_eq!(repeats.max(), Some(first));
    assert_eq!((result.trials.len(), result.design.skipped.len()), (12, 4));
    done.prints(&["slow against quick. Throughput: slower by"]);
    assert!(!done.stdout.contains("missing"), "{done}");
}

#[test]
fn no_start_begins_beyond_the_budget() {
    let done = Program::study(STUDY)
        .args("--set compare.budget=2s --set load.time=1s")
        .succeeds();
    done.tells(&[
        "budget of 2s is used up",
        "after 1 start: slow: ",
        " more start",
    ]);
    assert_eq!(done.result().trials.len(), 2);
    let refused = Program::study(STUDY)
        .args("--set compare.budget=1s --set load.time=1s")
        .fails(2, &["run for 2s", "--set compare.budget=1s"]);
    assert!(!refused.out().exists());
}

/// The looks are spread over these starts, so no others are planned.
#[test]
fn a_plan_has_the_starts_that_the_budget_allows() {
    let plan = |sets: &str| {
        let text = "title = \"t\"\nserver.engine = \"sqlite\"\n\
             [load]\nworkload = \"oltp_point_select\"\n[compare]\nbudget = \"10m\"\n\
             [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
        Program::plan(text).args(sets).succeeds()
    };
    plan("").prints(&[
        "at most 10 trials, at most 11m40s in total",
        "compare: whole trials: their databases run inside dyno; \
         at most 5 starts in the budget of 10m (compare.budget); \
         so few starts detect only large changes: increase compare.budget or reduce load.time",
    ]);
    let enough = plan("--set compare.budget=1h");
    enough.prints(&["at most 40 trials", "compare: whole trials"]);
    assert!(!enough.stdout.contains("budget"), "{enough}");
}
