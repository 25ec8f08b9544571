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
    done.tells(&["decided after 6 starts: slow: slower by"]);
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
        .args("--set compare.budget=1s --set load.time=1s")
        .succeeds();
    done.tells(&["budget of 1s is used up"]);
    assert_eq!(done.result().trials.len(), 2);
}
