//! Comparisons whose variants take turns.

use std::path::Path;

use crate::common::{
    Cache, Program, Running, cut_off, has_second, kill_server, trial_dir, wait_until,
};
use measure::result::RunResult;
use measure::setup::Outcome;
use measure::slice::Phase;
use measure::summary::TrialSummary;
use plan::Alternate;
use rustix::process::Signal;

/// No test is about how fast the servers are.
const STUDY: &str = "title = 'in turns'\n[server]\nengine = 'postgres'\n[data]\nrows = 100\n\
    [load]\nworkload = 'oltp_point_select'\nthreads = 2\nthink = '5ms'\nwarmup = '1s'\ntime = '3s'\n\
    [compare]\nstarts = 3\nblock = '300ms'\nalternate = 'always'\n\
    [[variant]]\nname = 'small'\n\"server.config.work_mem\" = '1MB'\n\
    [[variant]]\nname = 'large'\n\"server.config.work_mem\" = '8MB'\n";

/// The measured blocks of a trial, in seconds since the loads' origin.
fn blocks(out: &Path, number: usize) -> Vec<(f64, f64)> {
    let series = store::read_series(&trial_dir(out, number).unwrap(), usize::MAX).unwrap();
    let measured = series
        .iter()
        .filter(|second| second.phase == Phase::Measure);
    measured
        .map(|second| (second.t_s, second.t_s + second.seconds))
        .collect()
}

fn assert_alternates(result: &RunResult) {
    for trial in &result.trials {
        let compare = trial.setup.planned.compare.unwrap();
        assert_eq!(compare.alternate, Alternate::Always);
    }
}

/// Servers are frozen while another variant has its turn: their background work would take CPU time.
#[test]
fn variants_of_each_start_take_turns() {
    let cache = Cache::kept();
    // A busy server differs from a frozen one.
    let text = STUDY
        .replace("oltp_point_select", "oltp_read_only")
        .replace("starts = 3", "starts = 2\npause = true");
    let done = Program::study(&text).cache(&cache).succeeds();
    cache.assert_nothing_left();
    let result = done.result();
    assert_eq!(result.trials.len(), 4);
    assert_alternates(&result);
    for start in result.trials.chunks(2) {
        let [one, two] = [0, 1].map(|at| &start[at].setup.planned);
        assert_eq!(one.repeat, two.repeat);
        assert_ne!(one.variant(), two.variant());
        let mut of_all = Vec::new();
        for trial in start {
            assert_eq!(trial.outcome, Outcome::Completed);
            assert!(trial.transactions.count > 0, "{trial:?}");
            assert!(trial.measured_s > 2.5, "{}", trial.measured_s);
            let of = |name: &str| trial.metrics[name].mean;
            // A busy machine leaves little of its CPUs to either.
            let (idle, busy) = (of("server.idle_cpu"), of("server.cpu"));
            assert!(busy > 0.0 && idle < busy / 3.0, "{idle} {busy}");
            assert!(of("server.idle_write_mb_per_s") >= 0.0, "{trial:?}");
            let blocks = blocks(&done.out(), trial.setup.planned.number as usize);
            assert!(blocks.len() >= 10, "{blocks:?}");
            let counted = trial
                .turns
                .iter()
                .map(|turn| turn.transactions)
                .sum::<u64>();
            assert_eq!(
                (trial.turns.len(), counted),
                (blocks.len(), trial.transactions.count)
            );
            of_all.extend(blocks);
        }
        of_all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let overlap = of_all.windows(2).find(|two| two[1].0 < two[0].1);
        assert_eq!(overlap, None, "{of_all:?}");
    }
    let compared = Program::new().arg("compare").arg(done.out()).succeeds();
    assert!(compared.stdout.contains("large"), "{compared}");
}

#[test]
fn ctrl_c_ends_all_variants_of_a_start() {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let out = place.path().join("out");
    let study = || Program::study_to(STUDY, &out).cache(&cache);
    let cut = |dyno: &Running| {
        // Without one, there is nothing of it to keep.
        wait_until("a block of the other variant", || {
            has_second(&out, 3, "measure")
        });
        dyno.signal(Signal::INT);
    };
    let stopped = cut_off(&out, 4, || study().start(), cut);
    stopped.fails(4, &["are kept"]);
    cache.assert_nothing_left();
    let trials = store::read_result(&out).unwrap().trials;
    let outcomes: Vec<_> = trials.iter().map(|trial| &trial.outcome).collect();
    let (whole, cut) = (&Outcome::Completed, &Outcome::Interrupted);
    assert_eq!(outcomes, [whole, whole, cut, cut]);
    study()
        .args("--resume")
        .succeeds()
        .tells(&["4 of 6 trials remain"]);
    let result = store::read_result(&out).unwrap();
    let mut trials = result.trials.iter();
    assert!(trials.all(|trial| trial.outcome == Outcome::Completed));
    assert_eq!(result.trials.len(), 6);
    assert_alternates(&result);
    // Killed between the summaries of a start: the start runs again as a whole.
    std::fs::remove_file(trial_dir(&out, 6).unwrap().join("trial.json")).unwrap();
    let done = study().args("--resume").succeeds();
    done.tells(&["2 of 6 trials remain, 4 are complete"]);
    let result = store::read_result(&out).unwrap();
    let numbers = result.trials.iter().map(|trial| trial.setup.planned.number);
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
}

/// What remains of the start would compare nothing.
#[test]
fn a_server_that_dies_ends_its_start_only() {
    let cache = Cache::kept();
    let text = STUDY.replace("starts = 3", "starts = 2");
    let dyno = Program::study(&text).cache(&cache).start();
    wait_until("blocks of both variants", || {
        [1, 2]
            .iter()
            .all(|number| has_second(&dyno.out(), *number, "measure"))
    });
    kill_server(&cache, 1);
    let done = dyno
        .wait()
        .fails(3, &["only 1 start completed; the first look needs 2"]);
    cache.assert_nothing_left();
    let trials = done.result().trials;
    let reason = |trial: &TrialSummary| match &trial.outcome {
        Outcome::Failed { reason } => reason.clone(),
        other => panic!("{other}"),
    };
    let mut reasons: Vec<String> = trials[..2].iter().map(reason).collect();
    reasons.sort_by_key(|reason| reason.contains("of the same start failed: "));
    assert!(reasons[0].contains("signal 9"), "{reasons:?}");
    assert!(
        reasons[1].contains("same start failed") && reasons[1].contains("signal 9"),
        "{reasons:?}"
    );
    let mut next = trials[2..].iter();
    assert!(
        next.all(|trial| trial.outcome == Outcome::Completed),
        "{done}"
    );
    assert_eq!(trials.len(), 4);
}

/// By default, variants that only read take turns, and their noise is recorded and decides how long
/// the next study's starts are; variants that write run as whole trials.
#[test]
fn only_variants_that_read_take_turns_by_default() {
    let cache = Cache::kept();
    let default = STUDY
        .replace("alternate = 'always'\n", "")
        .replace("starts = 3", "starts = 2");
    let reads = default.replace("think = '5ms'", "think = '1ms'");
    let done = Program::study(&reads).cache(&cache).succeeds();
    let result = done.result();
    assert_alternates(&result);
    for trial in &result.trials {
        let of = |name: &str| trial.metrics[name].mean;
        assert!(!trial.turns.is_empty(), "{trial:?}");
        assert!(of("server.idle_cpu") < of("server.cpu"), "{trial:?}");
    }
    let plan = Program::plan(&reads.replace("time = '3s'\n", "")).cache(&cache);
    let plan = plan.succeeds();
    plan.prints(&["compare: in turns", "expected half width after 2 starts"]);
    assert!(!plan.stdout.contains("load.time 1m"), "{plan}");
    let writes = default.replace("oltp_point_select", "oltp_update_index");
    let plan = Program::plan(&writes).cache(&cache).succeeds();
    plan.prints(&["compare: whole trials: transactions write"]);
    let whole = Program::study(&writes).cache(&cache).succeeds().result();
    cache.assert_nothing_left();
    for trial in &whole.trials {
        let compare = trial.setup.planned.compare.unwrap();
        assert_eq!(compare.alternate, Alternate::Never);
        assert_eq!(
            (trial.turns.len(), &trial.outcome),
            (0, &Outcome::Completed)
        );
    }
}

#[test]
fn the_doctor_measures_the_noise_of_this_host() {
    let cache = Cache::kept();
    let doctor = |time| {
        let args = format!("doctor --noise {time}");
        Program::new().args(&args).cache(&cache)
    };
    doctor("2s").fails(2, &["--noise is too short"]);
    let plan = || Program::plan(&STUDY.replace("starts = 3", "starts = 6")).cache(&cache);
    plan().succeeds().prints(&["run dyno doctor --noise 60s"]);
    doctor("8s")
        .succeeds()
        .prints(&["between pairs of turns", "after 20 starts"]);
    cache.assert_nothing_left();
    plan()
        .succeeds()
        .prints(&["expected half width after 6 starts"]);
    let kept = cache.path().join("noise.json");
    let text = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, text.replace("\"host\":\"", "\"host\":\"another ")).unwrap();
    plan()
        .succeeds()
        .prints(&["run dyno doctor --noise 60s", "is from another host"]);
}

#[test]
fn a_killed_dyno_leaves_no_frozen_server() {
    let cache = Cache::kept();
    let text = STUDY.replace("starts = 3", "starts = 2\npause = true");
    let dyno = Program::study(&text).cache(&cache).start();
    wait_until("a block of both variants", || {
        [1, 2]
            .iter()
            .all(|number| has_second(&dyno.out(), *number, "measure"))
    });
    dyno.signal(Signal::KILL);
    dyno.wait();
    cache.clean().prints(&["freed"]);
    cache.assert_nothing_left();
}

#[test]
fn three_variants_take_turns_on_two_instances_each() {
    let cache = Cache::kept();
    let text = STUDY
        .replace("postgres", "mariadb")
        .replace("work_mem", "sort_buffer_size")
        .replace("'1MB'", "262144")
        .replace("'8MB'", "1048576")
        .replace("starts = 3", "starts = 2")
        + "[[variant]]\nname = 'larger'\n\"server.config.sort_buffer_size\" = 2097152\n\
           [topology]\ninstances = 2\n";
    let done = Program::study(&text).cache(&cache).succeeds();
    cache.assert_nothing_left();
    let trials = done.result().trials;
    assert_eq!(trials.len(), 6);
    for trial in &trials {
        assert_eq!(trial.outcome, Outcome::Completed);
        let instances = trial.instances.iter();
        let of_instances = instances.map(|instance| instance.transactions.count);
        assert_eq!(of_instances.sum::<u64>(), trial.transactions.count);
        let blocks = blocks(&done.out(), trial.setup.planned.number as usize);
        assert_eq!(blocks.len(), trial.turns.len());
        // A busy machine may prolong some of them.
        assert!(blocks.iter().any(|(start_s, end_s)| end_s - start_s < 0.5));
    }
}

/// Two results of different settings become the variants of one study, which take turns.
#[test]
fn two_results_are_measured_again_in_turns() {
    let (cache, place) = (Cache::kept(), tempfile::tempdir().unwrap());
    let [base, new] = ["1MB", "8MB"].map(|memory| {
        let (load, _) = STUDY.split_once("[compare]").unwrap();
        let study = load.replace("'3s'", "'1s'");
        let out = place.path().join(memory);
        let set = format!("server.config.work_mem={memory}");
        let program = Program::study_to(&study, &out).args("--set").arg(set);
        program.cache(&cache).succeeds();
        out
    });
    let program = Program::new().arg("compare").arg(&base).arg(&new);
    let done = program
        .args("--rerun --starts 2 --out out")
        .cache(&cache)
        .succeeds();
    cache.assert_nothing_left();
    done.prints(&["new against base"]);
    assert!(!done.stderr.contains("was measured with"), "{done}");
    assert_eq!(done.all_completed().len(), 4);
    assert_alternates(&done.result());
}
