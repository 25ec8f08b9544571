use std::time::Duration;

use plan::{ReplyTime, StatementClass};

use crate::change_point::LevelChange;
use crate::setup::{Outcome, Setup, StatementKind, Unfinished};
use crate::slice::{Busy, ErrorCount, Phase, Second, Slice};
use crate::steady::{Steady, UnsteadyReason};
use crate::summarize::summarize;
use crate::summary::TrialSummary;

use super::*;

/// An engine that a study can start.
const ANY: plan::EngineTraits = plan::EngineTraits {
    name: "any",
    schemes: &["any"],
    is_process: true,
    clusters: &[plan::ClusterTraits {
        name: "group",
        elects: true,
        has_manager: false,
        has_coordinator: false,
        quorum: plan::Quorum::Majority,
        conduct: plan::Conduct {
            detector: |_| {
                Some(plan::Detector {
                    text: "the members".to_owned(),
                    within: Duration::from_secs(25),
                })
            },
            acknowledged: |_| String::new(),
            durable: &[],
            tuned: &[],
        },
    }],
    reserved_setting: |_| None,
};

/// The only trial of a study with these keys.
fn planned(keys: &str) -> plan::Trial {
    let text = format!("title = 't'\nserver.engine = 'any'\n{keys}");
    let study = study::Study::parse("test", &text, &[ANY]).unwrap();
    study.plan().trials.remove(0)
}

fn input() -> TrialSummary {
    TrialSummary::new(Setup {
        engine: "Engine 10.11.14".into(),
        server: "engine://sbtest@localhost/sbtest".into(),
        workers: 1,
        ..Setup::new(&planned(
            "[data]\ntables = 4\nrows = 1000\n[load]\nthreads = 4\nreply_time = 'program'\n\
                 # 4 users that do 101 transactions/s of 1.05 ms.\nthink = '38600us'\n\
                 warmup = '5s'\ntime = '60s'",
        ))
    })
}

#[test]
fn a_trial_that_never_was_sure_enough_is_told() {
    let mut input = input();
    let max = Duration::from_secs(60);
    input.setup.planned.load.until = Some(plan::Until { ci: 0.01, max });
    let wild: Vec<Second> = (0..30).map(|n| second(n, 50 + 40 * (n % 3))).collect();
    let told = |summary: &TrialSummary| {
        let mut warnings = summary.warnings.iter();
        warnings.any(|warning| matches!(warning, Warning::Unsure { .. }))
    };
    let mut wild = summarize(input.clone(), &kinds(), &wild);
    assert!(told(&wild), "{:?}", wild.transactions);
    let calm: Vec<Second> = (0..30).map(|n| second(n, 100)).collect();
    assert!(!told(&summarize(input, &kinds(), &calm)));
    wild.outcome = Outcome::Interrupted;
    assert_eq!(unsure(&wild), None);
}

fn kinds() -> Vec<StatementKind> {
    vec![StatementKind {
        name: "point_select".into(),
        class: StatementClass::Read,
    }]
}

fn second(number: u64, transactions: u64) -> Second {
    let mut slice = Slice::new(1);
    for i in 0..transactions {
        slice.response.record(1_000_000 + i * 1000);
        slice.statements[0].record(500_000);
    }
    slice.lookups = transactions;
    Second {
        start_ns: number * 1_000_000_000,
        end_ns: (number + 1) * 1_000_000_000,
        phase: Phase::Measure,
        slice,
        backlog: None,
        workers: vec![Busy {
            running: 0.3,
            waiting: 0.05,
        }],
    }
}

fn steady() -> Vec<Second> {
    (0..30)
        .map(|number| second(number, 100 + number % 3))
        .collect()
}

/// The seconds of a trial without warnings after a change of each.
fn changed(change: impl Fn(&mut Second)) -> Vec<Second> {
    let mut seconds = steady();
    seconds.iter_mut().for_each(change);
    seconds
}

/// A trial without warnings.
pub(crate) fn trial() -> TrialSummary {
    summarize(input(), &kinds(), &steady())
}

fn warnings(input: TrialSummary, seconds: &[Second]) -> Vec<Warning> {
    summarize(input, &kinds(), seconds).warnings
}

/// Asserts that a trial has this warning and no other.
macro_rules! assert_only {
    ($input:expr, $seconds:expr, $kind:ident $({ $($field:tt)* })? $(if $guard:expr)?) => {
        let found = warnings($input, $seconds);
        let is_only = matches!(&found[..], [Warning::$kind $({ $($field)* })?] $(if $guard)?);
        assert!(is_only, "{found:?}");
    };
}

#[test]
fn a_good_run_has_none_and_its_numbers_are_those_recorded() {
    let mut seconds = steady();
    let mut warmup = second(99, 7);
    warmup.phase = Phase::Warmup;
    seconds.push(warmup);
    let summary = summarize(input(), &kinds(), &seconds);
    assert_eq!(summary.warnings, []);
    assert_eq!(summary.transactions.count, 3030);
    let per_s = summary.transactions.per_s.unwrap();
    assert!((per_s.value - 101.0).abs() < 1e-9 && per_s.half_width.is_some());
    assert_eq!(
        (summary.reads, summary.writes, summary.others),
        (3030, 0, 0)
    );
    assert!(summary.response_ms.unwrap().mean.half_width.is_some());
    assert_eq!(summary.service_ms, None);
    assert_eq!(summary.generator.backlog_peak, None);
    assert!((summary.generator.workers[0].running - 0.3).abs() < 1e-9);
    assert_eq!(summary.by_statement[0].name, "point_select");
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(
        serde_json::from_str::<TrialSummary>(&text).unwrap(),
        summary
    );
}

#[test]
fn nothing_measured_is_null_in_json() {
    let summary = summarize(input(), &kinds(), &[]);
    let json = serde_json::to_value(&summary).unwrap();
    assert!(json["response_ms"].is_null());
    assert!(json["transactions"]["per_s"].is_null());
    assert!(json["lookups"]["missed_share"].is_null());
}

#[test]
fn a_generator_that_is_busy_or_waits() {
    let busy = changed(|second| second.workers[0].running = 0.97);
    assert_only! { input(), &busy, GeneratorSaturated { worker: 0, .. } }
    let waiting = changed(|second| second.workers[0].waiting = 0.4);
    assert_only! { input(), &waiting, GeneratorWaited { worker: 0, .. } }
    // An engine inside the workers may keep them busy.
    let mut input = input();
    input.setup.in_process = true;
    assert_eq!(warnings(input, &busy), []);
}

#[test]
fn a_generator_that_reads_stamped_replies_late() {
    let late = |delay_ns| {
        let seconds = changed(|second| {
            // Where replies are time-stamped, waiting for a CPU alone distorts nothing.
            second.workers[0].waiting = 0.4;
            let replies = second.slice.statement_count();
            (0..replies).for_each(|_| second.slice.delay.record(delay_ns));
        });
        let mut input = input();
        input.setup.reply_time = ReplyTime::Kernel;
        summarize(input, &kinds(), &seconds)
    };
    let summary = late(20_000);
    assert_eq!(summary.warnings, []);
    assert_eq!(summary.setup.reply_time, ReplyTime::Kernel);
    let delay_ms = summary.generator.delay_ms.unwrap();
    assert!((delay_ms.mean.value - 0.02).abs() < 1e-9 && delay_ms.p99 < 0.021);
    let found = late(1_000_000).warnings;
    let [Warning::GeneratorDelayed { share, .. }] = &found[..] else {
        panic!("{found:?}");
    };
    assert!((0.1..=1.0).contains(share), "{share}");
}

#[test]
fn what_nobody_stamped_is_the_programs_time() {
    let mut asked = input();
    asked.setup.reply_time = ReplyTime::Kernel;
    let summary = summarize(asked, &kinds(), &steady());
    assert_eq!(summary.setup.reply_time, ReplyTime::Program);
    assert_eq!(summary.generator.delay_ms, None);
}

#[test]
fn overloaded_when_the_backlog_grows_and_not_when_it_stays() {
    let mut seconds = steady();
    for (number, second) in seconds.iter_mut().enumerate() {
        second.backlog = Some(1000 + 50 * number as u64);
    }
    assert_only! { input(), &seconds, Overloaded { backlog_end: 2450, growth: 1000 } }
    let even = changed(|second| second.backlog = Some(3));
    assert_eq!(warnings(input(), &even), []);
}

#[test]
fn a_short_overload_is_told_and_a_stall_is_not() {
    let run = |backlogs: &[u64]| {
        let mut seconds = steady();
        seconds.truncate(backlogs.len());
        for (second, backlog) in seconds.iter_mut().zip(backlogs) {
            second.backlog = Some(*backlog);
        }
        let found = warnings(input(), &seconds);
        let mut found = found.iter();
        found.any(|warning| matches!(warning, Warning::Overloaded { .. }))
    };
    for overloaded in [&[1000, 1900, 2950][..], &[200, 400, 300, 800, 1000]] {
        assert!(run(overloaded), "{overloaded:?}");
    }
    for stalled in [&[0, 0, 1000][..], &[3, 2, 1000, 4, 1], &[5, 3000]] {
        assert!(!run(stalled), "{stalled:?}");
    }
}

/// Warnings of a steady trial in which a metric has this mean.
fn warned(name: &str, mean: f64) -> Vec<Warning> {
    let mut input = input();
    let summary = crate::metric::MetricSummary {
        mean,
        min: 0.0,
        max: 100.0,
    };
    input.metrics.insert(name.to_owned(), summary);
    warnings(input, &steady())
}

#[test]
fn forced_checkpoints_are_counted_over_the_measurement() {
    let name = "server.log.checkpoints_requested_per_min";
    let measured_s = trial().measured_s;
    assert_eq!(warned(name, 0.4 * 60.0 / measured_s), []);
    let twice = warned(name, 2.0 * 60.0 / measured_s);
    assert_eq!(twice, [Warning::ForcedCheckpoints { count: 2 }]);
}

#[test]
fn steal_of_more_than_five_per_cent_is_a_warning() {
    assert_eq!(warned("cpu.steal", 5.0), []);
    let stolen = warned("cpu.steal", 6.0);
    assert_eq!(stolen, [Warning::Stolen { share: 0.06 }]);
}

#[test]
fn a_trial_that_is_short_or_emulated_or_not_warmed_up() {
    assert_only! { input(), &steady()[..5], Short { .. } }
    let mut emulated = input();
    emulated.setup.emulated = true;
    assert_only! { emulated, &steady(), Emulated }
    let mut cold = input();
    cold.setup.planned.load.warmup = Duration::ZERO;
    assert_only! { cold, &steady(), NoWarmup }
}

#[test]
fn a_fault_of_the_primary_that_is_healed_before_anybody_notices_it() {
    let with = |fault: &str| {
        let mut input = input();
        let keys =
            format!("load.time = '60s'\ntopology.cluster = 'group'\n[[fault]]\nat = '5s'\n{fault}");
        input.setup.planned.topology = planned(&keys).topology;
        warnings(input, &steady())
    };
    for soon in ["kill = 'primary'\nheal = '24s'", "pause = 'any'"] {
        let found = with(soon);
        let [Warning::HealedEarly { noticed_s, .. }] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(noticed_s, 25.0);
    }
    for late in [
        "kill = 'primary'\nheal = '25s'",
        "kill = 'primary'\nheal = 'never'",
        "kill = 'replica'",
        "switchover = 'replica'",
    ] {
        assert_eq!(with(late), [], "{late}");
    }
}

#[test]
fn transactions_that_are_long_for_turns_are_warned_of() {
    let mut trial = trial();
    let finds = |trial: &TrialSummary| {
        let found = find(trial, &[]);
        let mut found = found.iter();
        found.any(|warning| matches!(warning, Warning::LongForTurns { .. }))
    };
    let p95_ms = trial.response_ms.unwrap().p95;
    let mut compare = plan::Compare {
        starts: 6,
        budget: std::time::Duration::from_secs(600),
        alternate: plan::Alternate::Always,
        block: std::time::Duration::from_secs_f64(p95_ms * 9.0 / 1e3),
        pause: false,
    };
    assert!(!finds(&trial));
    trial.setup.planned.compare = Some(compare);
    assert!(finds(&trial));
    compare.block *= 2;
    trial.setup.planned.compare = Some(compare);
    assert!(!finds(&trial));
}

#[test]
fn misses_name_their_reason() {
    let seconds = changed(|second| second.slice.misses = 50);
    assert_only! { input(), &seconds, Misses { key_range, rows, .. } if key_range == rows }
    let mut beyond = input();
    beyond.setup.planned.load.key_range = Some(2000);
    assert_only! { beyond, &seconds, Misses { key_range: 2000, rows: 1000, .. } }
}

#[test]
fn unsteady() {
    let seconds: Vec<Second> = (0..30)
        .map(|number| second(number, 100 + 2 * number))
        .collect();
    let mut input = input();
    input.setup.planned.load.think = Duration::from_micros(29900);
    let drift = 0.525..0.535;
    assert_only! { input, &seconds, NeverSteady { reason: UnsteadyReason::Drift { share } } if drift.contains(share) }
}

#[test]
fn throughput_that_moves_before_the_first_fault() {
    let with_fault = || {
        let mut input = input();
        let keys = "load.time = '60s'\n[[fault]]\nat = '12s'\nkill = 'primary'";
        input.setup.planned.topology.faults = planned(keys).topology.faults;
        input
    };
    let moved = |count: &dyn Fn(u64) -> u64| {
        let seconds = (0..30).map(|number| second(number, count(number)));
        let found = warnings(with_fault(), &seconds.collect::<Vec<_>>());
        found.into_iter().find_map(|warning| match warning {
            Warning::BaselineUnsteady { share } => Some((share * 100.0).round()),
            _ => None,
        })
    };
    // 100 to 130 in the first third, 180 to 210 in the last.
    assert_eq!(moved(&|number| 100 + 10 * number.min(11)), Some(70.0));
    assert_eq!(moved(&|number| 100 + 40 * (number * 7 % 5)), None, "noise");
    // The effect of the fault on throughput is a result.
    let falls = |number| if number < 12 { 100 + number % 3 } else { 10 };
    assert_eq!(moved(&falls), None);
}

#[test]
fn a_warm_up_that_was_too_short() {
    let warmup = |number| Second {
        phase: Phase::Warmup,
        ..second(number, 50 + 8 * number)
    };
    let measured = |number| second(number, (50 + 8 * number).min(125 - number % 3));
    let mut input = input();
    input.setup.planned.load.think = Duration::from_micros(32000);
    let seconds: Vec<Second> = (0..5).map(warmup).chain((5..60).map(measured)).collect();
    let summary = summarize(input.clone(), &kinds(), &seconds);
    assert_eq!(summary.steady, Some(Steady::From { s: 10.0 }));
    // All measured seconds count.
    assert_eq!(summary.measured_s, 55.0);
    assert_only! { input.clone(), &seconds, WarmupTooShort { steady_from_s: 10.0, warmup_s: 5.0 } }
    input.setup.planned.load.warmup = Duration::from_secs(10);
    let seconds: Vec<Second> = (0..5)
        .chain(5..10)
        .map(warmup)
        .chain((10..60).map(measured))
        .collect();
    assert_eq!(warnings(input, &seconds), []);
}

#[test]
fn a_change_of_level_is_dated() {
    let level = |number: u64| match number {
        45.. => 78 + number % 3,
        _ => 99 + number % 3,
    };
    let seconds: Vec<Second> = (10..80).map(|n| second(n, level(n))).collect();
    let mut input = input();
    input.setup.planned.load.warmup = Duration::from_secs(10);
    let found = summarize(input, &kinds(), &seconds).warnings;
    let changes = found.iter().find_map(|warning| match warning {
        Warning::LevelChanged { changes } => Some(changes.as_slice()),
        _ => None,
    });
    let Some([change]) = changes else {
        panic!("{found:?}");
    };
    let levels = (change.before_per_s.round(), change.after_per_s.round());
    assert_eq!((change.at_s, levels), (45.0, (100.0, 79.0)));
}

/// A line looks like steps that all go in the same direction.
#[test]
fn a_drift_is_no_staircase() {
    let seconds: Vec<Second> = (0..120).map(|n| second(n, 100 + 2 * n)).collect();
    let found = warnings(input(), &seconds);
    let level = |warning: &Warning| matches!(warning, Warning::LevelChanged { .. });
    assert!(!found.iter().any(level), "{found:?}");
    let drift = |warning: &Warning| matches!(warning, Warning::NeverSteady { reason: UnsteadyReason::Drift { share } } if *share > 0.0);
    assert!(found.iter().any(drift), "{found:?}");
}

#[test]
fn time_that_no_transaction_shows() {
    let mut input = input();
    input.setup.planned.load.think = Duration::from_micros(0);
    let loss = input.clone();
    assert_only! { loss, &steady(), LittlesLaw { users: 4.0, accounted: ..0.2 } }
    // At a limit of transactions, users stop one by one.
    input.setup.planned.load.events = Some(3030);
    assert_eq!(warnings(input, &steady()), []);
}

#[test]
fn warnings_are_read_back() {
    let reason = UnsteadyReason::Drift { share: -0.25 };
    for warning in [
        Warning::NeverSteady { reason },
        Warning::LevelChanged {
            changes: vec![LevelChange {
                at_s: 43.0,
                before_per_s: 812.0,
                after_per_s: 640.0,
            }],
        },
        Warning::WarmupTooShort {
            steady_from_s: 10.0,
            warmup_s: 5.0,
        },
    ] {
        let text = serde_json::to_string(&warning).unwrap();
        assert_eq!(serde_json::from_str::<Warning>(&text).unwrap(), warning);
    }
}

#[test]
fn stalled_but_not_for_a_last_second_cut_short() {
    let mut seconds = steady();
    seconds[15] = second(15, 0);
    assert_only! { input(), &seconds, Stalled { seconds: 1 } }
    let mut seconds = steady();
    let mut last = second(30, 0);
    last.end_ns = last.start_ns + 1_000_000;
    seconds.push(last);
    assert_eq!(warnings(input(), &seconds), []);
}

#[test]
fn unfinished_and_cancelled() {
    let with = |count, oldest_ms, cancelled| TrialSummary {
        unfinished: Unfinished {
            count,
            oldest_ms,
            cancelled,
        },
        ..input()
    };
    assert_only! { with(2, Some(900.0), 0), &steady(), Unfinished { count: 2, .. } }
    assert_eq!(warnings(with(4, Some(0.5), 0), &steady()), []);
    assert_only! { with(0, None, 3), &steady(), Cancelled { count: 3 } }
}

#[test]
fn restarts_and_reconnects() {
    let mut seconds = steady();
    let error = ErrorCount {
        count: 100,
        example: "Deadlock found".into(),
        action: "restarted".into(),
    };
    seconds[0].slice.errors.insert("1213".to_owned(), error);
    assert_only! { input(), &seconds, Restarts { share: 0.031..0.033 } }
    let mut seconds = steady();
    seconds[3].slice.reconnects = 2;
    assert_only! { input(), &seconds, Reconnects { count: 2 } }
}

#[test]
fn what_faults_do_is_not_warned_of() {
    let mut seconds = steady();
    seconds[15] = second(15, 0);
    seconds[15].slice.reconnects = 2;
    let mut input = input();
    assert_eq!(warnings(input.clone(), &seconds).len(), 2);
    let kill = r#"{"at": "15s", "kind": "kill", "target": "primary"}"#;
    input.setup.planned.topology.faults = vec![serde_json::from_str(kill).unwrap()];
    assert_eq!(warnings(input, &seconds), []);
}

#[test]
fn a_trial_that_never_began_is_not_warned_of() {
    let failed = TrialSummary {
        outcome: Outcome::Failed {
            reason: "the server did not start".into(),
        },
        ..input()
    };
    let summary = summarize(failed, &[], &[]);
    assert_eq!(summary.warnings, []);
    assert!(summary.measured_s.is_sign_positive());
}

/// A planned trial whose variant takes turns.
fn in_turns(keys: &str) -> TrialSummary {
    let variants =
        "[[variant]]\nname = 'a'\ndata.rows = 1000\n[[variant]]\nname = 'b'\ndata.rows = 2000\n";
    let turns = "[compare]\nalternate = 'always'\n";
    let text = format!("title = 't'\nserver.engine = 'any'\n{keys}{turns}{variants}");
    let study = study::Study::parse("test", &text, &[ANY]).unwrap();
    TrialSummary::new(Setup::new(&study.plan().trials[0]))
}

/// Blocks of 0.9 s, of which every other one is another variant's. Each has fewer transactions than
/// the one before it.
fn blocks() -> Vec<Second> {
    let block = |number: u64| {
        let mut block = second(number, 300 - 5 * number);
        block.start_ns = number * 2_000_000_000;
        block.end_ns = block.start_ns + 900_000_000;
        block
    };
    (0..40).map(block).collect()
}

#[test]
fn blocks_with_gaps_between_them_are_no_series() {
    let keys = "[load]\nthreads = 1\nreply_time = 'program'\nwarmup = '5s'\ntime = '60s'\n";
    let blocks = blocks();
    let found = summarize(in_turns(keys), &kinds(), &blocks);
    let per_s = found.transactions.per_s.unwrap();
    let count: u64 = blocks
        .iter()
        .map(|block| block.slice.response.count())
        .sum();
    assert_eq!(found.transactions.count, count);
    assert!((found.measured_s - 36.0).abs() < 1e-9);
    assert!((per_s.value - count as f64 / 36.0).abs() < 1e-9);
    let times = found.response_ms.unwrap();
    assert_eq!((per_s.half_width, times.mean.half_width), (None, None));
    assert_eq!((times.p95_range, times.p99_range), (None, None));
    assert_eq!(found.statements.per_s.unwrap().half_width, None);
    assert_eq!(found.steady, None);
    let is_of_series = |warning: &Warning| {
        matches!(
            warning,
            Warning::Short { .. }
                | Warning::NeverSteady { .. }
                | Warning::WarmupTooShort { .. }
                | Warning::Unsteady { .. }
                | Warning::LevelChanged { .. }
        )
    };
    assert!(!found.warnings.iter().any(is_of_series), "{found:?}");
    let short = summarize(in_turns(keys), &kinds(), &blocks[..3]).warnings;
    assert!(!short.iter().any(is_of_series), "{short:?}");
    let mut stalled = blocks;
    stalled[7].slice = Slice::new(1);
    let found = summarize(in_turns(keys), &kinds(), &stalled).warnings;
    assert!(
        found.contains(&Warning::Stalled { seconds: 1 }),
        "{found:?}"
    );
}

/// A user with transactions of 400 ms completes two in each block of 1 s, of which the first tenth
/// is left out: 0.8 s of 0.9 s are accounted for.
#[test]
fn gaps_are_no_lost_time() {
    let keys = "[load]\nthreads = 1\nreply_time = 'program'\nwarmup = '5s'\ntime = '10m'\n";
    let block = |number: u64| {
        let mut block = second(number, 0);
        (0..2).for_each(|_| block.slice.response.record(400_000_000));
        block.start_ns = number * 2_000_000_000;
        block.end_ns = block.start_ns + 900_000_000;
        block
    };
    let blocks: Vec<Second> = (0..300).map(block).collect();
    let little = |trial| summarize(trial, &kinds(), &blocks).little;
    let found = little(in_turns(keys)).unwrap();
    assert!(
        (found.accounted - 8.0 / 9.0).abs() < 0.01 && found.holds(),
        "{found:?}"
    );
    // Pauses go on in the gaps.
    let mut pausing = in_turns(keys);
    pausing.setup.planned.load.think = Duration::from_millis(500);
    assert_eq!(little(pausing), None);
}
