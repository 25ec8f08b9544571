//! Searches for the highest rate that holds a limit, through the whole program. What is
//! found depends on the machine; that it follows from what was measured does not.

use std::path::Path;

use crate::common::{Cache, Finished, Program, csv, cut_off, each, flat, kill_server};
use measure::find_max::{FoundMax, MAX_STEPS, SearchEnd, StepVerdict};
use measure::result::RunResult;
use measure::setup::Outcome;
use plan::{Point, Value};
use rustix::process::Signal;

/// A search that is over soon, for the highest rate of users who think.
const SHORT: &str = "title = \"how much may arrive?\"\ndata.rows = 300\n\
    [load]\nworkload = \"oltp_point_select\"\nthreads = 2\nthink = \"2ms\"\n\
    warmup = \"0s\"\ntime = \"400ms\"\n";

/// The answer must follow from the steps, whatever they showed.
#[track_caller]
fn assert_consistent(search: &FoundMax, result: &RunResult) {
    assert!(search.capacity_per_s.unwrap() > 0.0);
    for step in &search.steps {
        let mut trials = result.trials.iter();
        let trial = trials
            .find(|trial| trial.setup.planned.number == step.trial)
            .unwrap();
        let rate = Value::Number(step.rate_per_s);
        assert_eq!(trial.setup.planned.point.get("load.rate"), Some(&rate));
        assert!(trial.setup.planned.load.rate.is_some());
        assert_eq!(step.transactions, trial.transactions.count);
        let times = trial.response_ms.map(|times| times.p99);
        assert_eq!(step.value_ms, times);
        match (step.verdict, step.value_ms) {
            (StepVerdict::Held, Some(ms)) => assert!(ms < search.limit_ms),
            (StepVerdict::TooSlow, Some(ms)) => assert!(ms >= search.limit_ms),
            (StepVerdict::Overloaded, _) | (StepVerdict::Nothing, None) => {}
            (verdict, value) => panic!("{verdict} with {value:?}"),
        }
    }
    let half = search.rate.and_then(|rate| rate.relative());
    match &search.end {
        SearchEnd::Precise => assert!(half.is_some_and(|half| half <= 0.03), "{search:?}"),
        SearchEnd::NoRate => assert_eq!((search.held(), search.rate), (None, None)),
        SearchEnd::OutOfSteps => assert_eq!(search.steps.len(), MAX_STEPS),
        SearchEnd::Stopped { .. } => panic!("{search:?}"),
    }
}

/// Every file of the result tells of the same steps.
#[track_caller]
fn assert_reported(done: &Finished, out: &Path) -> RunResult {
    let result = store::read_result(out).unwrap();
    let numbers = result.trials.iter().map(|trial| trial.setup.planned.number);
    assert!(numbers.eq(1..=result.design.trials), "{done}");
    let steps = csv(&std::fs::read_to_string(out.join("searches.csv")).unwrap());
    let count: usize = result.searches.iter().map(|found| found.steps.len()).sum();
    assert_eq!(steps.len(), count);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("id=\"searches\""));
    result
}

#[test]
fn a_search_on_a_private_server_ends_and_follows_from_its_steps() {
    let study = format!("{SHORT}find_max = {{ p99 = \"50ms\" }}\n[server]\nengine = \"mariadb\"\n");
    let done = Program::study(&study).args("--json").succeeds();
    let result = assert_reported(&done, &done.out());
    let printed: RunResult = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(printed.searches, result.searches);
    let [search] = each(&result.searches);
    assert_eq!(search.column, "response_ms.p99");
    assert_eq!(search.limit_ms, 50.0);
    assert_consistent(search, &result);
    // The closed loop is the first trial, and no step.
    assert_eq!(result.trials[0].setup.planned.load.rate, None);
    assert_eq!(result.trials.len(), search.steps.len() + 1);
    let markdown = flat(&done.file("report.md"));
    assert!(markdown.contains("99 % of the response times below 50 ms"));
}

#[test]
fn a_limit_that_no_rate_holds_is_said_to_be_so() {
    let done = Program::bench("sqlite:")
        .args("--find-max --mean 1us --threads 2 --think 2ms --rows 300 --warmup 0s --time 300ms")
        .succeeds();
    let result = assert_reported(&done, &done.out());
    let search = &result.searches[0];
    assert!(search.end == SearchEnd::NoRate, "{done}");
    let said = "No rate keeps the mean response time below 0.001 ms: even at";
    assert!(flat(&done.stdout).starts_with(said), "{}", done.stdout);
    let study = done.file("study.toml");
    assert!(study.contains("find_max.mean = \"1us\""), "{study}");
}

#[test]
fn a_study_searches_at_each_of_its_points() {
    let study = format!(
        "{SHORT}find_max = {{ p95 = \"1us\" }}\n[server]\nengine = \"sqlite\"\n\
         [sweep]\n\"load.threads\" = [1, 2]\n"
    );
    let plan = Program::plan(&study).succeeds();
    plan.prints(&["2 searches of at most 27 trials each"]);
    let done = Program::study(&study).succeeds();
    let result = assert_reported(&done, &done.out());
    let points: Vec<_> = result.searches.iter().map(|found| &found.point).collect();
    let wanted = |threads: u32| Point::from_iter([("load.threads", threads)]);
    assert_eq!(points, [&wanted(1), &wanted(2)]);
    done.prints(&["None of 2 searches found a rate that keeps its limit."]);
}

fn is_stopped(search: &FoundMax, why: &str) -> bool {
    matches!(&search.end, SearchEnd::Stopped { reason, .. } if reason.contains(why))
}

#[test]
fn ctrl_c_keeps_what_a_search_knew() {
    let mut running = Program::bench("sqlite:")
        .args("--find-max --p99 1us --threads 1 --think 2ms --rows 300 --warmup 0s --time 2s")
        .start();
    running.says("[2/27] rate=").signal(Signal::INT);
    let done = running.wait().fails(4, &["interrupted"]);
    let result = done.result();
    let search = &result.searches[0];
    assert!(is_stopped(search, "interrupted"), "{search:?}");
    assert!(
        search.held().is_none() && search.failed().is_some(),
        "{search:?}"
    );
    let said = "The search did not finish: interrupted";
    assert!(flat(&done.stdout).contains(said), "{done}");
}

#[test]
fn a_search_goes_on_after_its_server_died() {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let out = place.path().join("out");
    let text = format!("{SHORT}find_max = {{ mean = \"1us\" }}\n[server]\nengine = \"mariadb\"\n");
    let text = text.replace("400ms", "2s");
    let study = || Program::study_to(&text, &out).cache(&cache);
    let done = cut_off(&out, 3, || study().start(), |_| kill_server(&cache, 1));
    let done = done.fails(3, &["was killed by signal 9"]);
    let cut = store::read_result(&out).unwrap();
    assert!(
        is_stopped(&cut.searches[0], "was killed by signal 9"),
        "{done}"
    );
    assert_ne!(cut.trials[2].outcome, Outcome::Completed);

    let mut running = study().args("--resume").start();
    running.says("[3/27] rate=").signal(Signal::INT);
    let done = running.wait().fails(4, &["interrupted"]);
    let result = assert_reported(&done, &out);
    assert_eq!(result.trials[..2], cut.trials[..2], "they are as they were");
    assert_eq!(result.trials[2].outcome, Outcome::Completed);
    let [now, before] = [&result, &cut].map(|result| &result.trials[2].setup.planned.point);
    assert_eq!(now, before);
    let steps = result.searches[0].steps.iter().map(|step| step.trial);
    assert_eq!(steps.take(2).collect::<Vec<_>>(), [2, 3]);
    cache.assert_nothing_left();
}

#[test]
fn a_resumed_search_loads_tables_that_were_lost_meanwhile() {
    let place = tempfile::tempdir().unwrap();
    let [out, data] = ["out", "db.sqlite"].map(|name| place.path().join(name));
    let text = format!("{SHORT}find_max = {{ mean = \"1us\" }}\n[server]\n");
    let text = text.replace("400ms", "2s") + &format!("url = \"sqlite://{}\"\n", data.display());
    let study = || Program::study_to(&text, &out);
    let mut running = study().start();
    running.says("[2/27] rate=").signal(Signal::INT);
    running.wait().fails(4, &["interrupted"]);
    std::fs::remove_file(&data).unwrap();

    let mut running = study().args("--resume").start();
    running.says("[3/27] rate=").signal(Signal::INT);
    running.wait().fails(4, &["interrupted"]);
    let result = store::read_result(&out).unwrap();
    assert_eq!(result.trials[1].outcome, Outcome::Completed);
}
