//! What a load records, and how it is cut into seconds: phases, limits, pauses, time stamps.

use std::time::Duration;

use super::script::{Asked, Scripted, done};
use super::*;
use crate::Tally;

fn taking(service_ns: u64) -> Scripted {
    Scripted::answering(&simulation(), move |_| done(service_ns))
}

fn lengths_ms(seconds: &[&Second]) -> Vec<u64> {
    seconds
        .iter()
        .map(|second| second.length_ns() / MS)
        .collect()
}

#[test]
fn the_seconds_of_all_workers_are_merged() {
    let mut spec = spec();
    (spec.users, spec.workers, spec.time) = (8, 4, Some(Duration::from_millis(3500)));
    let driven = drive(&spec, &taking(10 * MS));
    let seconds = driven.phase(Phase::Measure);
    assert_eq!(lengths_ms(&seconds), [1000, 1000, 1000, 500]);
    assert!(
        seconds
            .windows(2)
            .all(|pair| pair[0].end_ns == pair[1].start_ns)
    );
    let counts: Vec<u64> = seconds.iter().map(|s| s.slice.response.count()).collect();
    assert_eq!(counts, [800, 800, 800, 400]);
    let total = driven.measured();
    assert_eq!(total.statement_count(), 2800);
    assert_eq!(total.response.sum_ns(), u128::from(2800 * 10 * MS));
    // A closed loop has neither lateness nor backlog, and only one time per transaction.
    assert_eq!((total.service.count(), total.lateness.count()), (0, 0));
    assert_eq!(seconds[0].backlog, None);
}

#[test]
fn a_main_thread_that_is_late_makes_one_long_second_and_none_that_is_empty() {
    let server = taking(10 * MS);
    let spec = lasting_s(6);
    let simulation = server.simulation();
    let mut told = 0;
    let driven = drive_until(&spec, &server, &Stop::default(), |event, _| {
        if let LoadEvent::Second(_) = event {
            told += 1;
            if told == 1 {
                simulation.run_until(simulation.now_ns() + 2700 * MS, || false);
            }
        }
    });
    let seconds = driven.phase(Phase::Measure);
    assert_eq!(lengths_ms(&seconds), [1000, 3000, 1000, 1000]);
    let total = driven.measured();
    assert_eq!(total.response.count(), 4 * 600);
}

#[test]
fn a_short_delay_of_the_main_thread_shifts_a_cut_but_not_the_next() {
    let server = taking(10 * MS);
    let spec = lasting_s(3);
    let simulation = server.simulation();
    let driven = drive_until(&spec, &server, &Stop::default(), |event, _| {
        if let LoadEvent::Second(second) = event
            && second.start_ns == START
        {
            simulation.run_until(simulation.now_ns() + 1050 * MS, || false);
        }
    });
    let seconds = driven.phase(Phase::Measure);
    assert_eq!(lengths_ms(&seconds), [1000, 1050, 950]);
}

#[test]
fn no_transaction_starts_while_the_caller_takes_the_last_second() {
    let server = taking(10 * MS);
    let simulation = server.simulation();
    let end_ns = START + 2 * SECOND;
    drive_until(&lasting_s(2), &server, &Stop::default(), |event, _| {
        if let LoadEvent::Second(second) = event
            && second.end_ns == end_ns
        {
            simulation.run_until(simulation.now_ns() + 500 * MS, || false);
        }
    });
    let starts = times(&server, Asked::Statement);
    assert!(starts.iter().all(|start_ns| *start_ns <= end_ns));
}

#[test]
fn the_warm_up_is_a_phase_of_its_own() {
    let mut spec = lasting_s(2);
    spec.warmup = Duration::from_millis(1500);
    let driven = drive(&spec, &taking(10 * MS));
    assert_eq!(lengths_ms(&driven.phase(Phase::Warmup)), [1000, 500]);
    assert_eq!(lengths_ms(&driven.phase(Phase::Measure)), [1000, 1000]);
    assert_eq!(driven.total(Phase::Warmup).response.count(), 600);
    assert_eq!(driven.measured().response.count(), 800);
}

#[test]
fn the_limit_of_events_is_exact_and_ends_the_measurement() {
    for (workers, warmup_ms) in [(1, 0), (3, 0), (1, 50), (3, 50)] {
        let mut spec = spec();
        spec.users = 7;
        spec.workers = workers;
        spec.connect_limit = 7;
        spec.warmup = Duration::from_millis(warmup_ms);
        spec.time = None;
        spec.events = Some(1000);
        let server = taking(10 * MS);
        let driven = drive(&spec, &server);
        assert_eq!(driven.outcome().end, End::Completed);
        let statements = server.requests(Asked::Statement);
        let counted = driven.measured().response.count();
        // A transaction of the warm-up may end in the measurement.
        assert!((1000..=1007).contains(&counted), "{counted}");
        let last = statements.iter().filter_map(|entry| entry.replied).max();
        // The load ends with its last transaction.
        assert_eq!(driven.ended_ns, last.unwrap().0);
        if warmup_ms == 0 {
            assert_eq!((statements.len(), counted), (1000, 1000));
        }
    }
}

#[test]
fn a_tally_counts_the_transactions_of_each_user() {
    let mut spec = lasting_s(1);
    (spec.users, spec.workers) = (5, 2);
    let tally = Arc::new(Tally::new(spec.users));
    spec.tally = Some(Arc::clone(&tally));
    // The second one takes twice as long.
    let server = Scripted::answering(&simulation(), |request| {
        done(if request.connection == 1 {
            20 * MS
        } else {
            10 * MS
        })
    });
    let driven = drive(&spec, &server);
    let phases = [Phase::Measure, Phase::Drain];
    let [measured, drained] = phases.map(|phase| driven.total(phase).response);
    let totals = tally.totals();
    let count: u64 = totals.iter().map(|(count, _)| count).sum();
    let sum_ns: u64 = totals.iter().map(|(_, sum_ns)| sum_ns).sum();
    assert_eq!(count, measured.count() + drained.count());
    assert_eq!(u128::from(sum_ns), measured.sum_ns() + drained.sum_ns());
    assert!((50..=51).contains(&totals[1].0), "{totals:?}");
    for user in [0, 2, 3, 4] {
        assert!((100..=101).contains(&totals[user].0), "{totals:?}");
    }
}

#[test]
fn fewer_events_than_users_leave_the_others_idle() {
    let mut spec = spec();
    (spec.time, spec.events) = (None, Some(3));
    let driven = drive(&spec, &taking(10 * MS));
    assert_eq!(driven.measured().response.count(), 3);
    assert_eq!(driven.outcome().end, End::Completed);
    assert_eq!(driven.ended_ns, START + 10 * MS);
}

#[test]
fn users_think_after_each_transaction_and_their_response_time_does_not_include_it() {
    let mut spec = spec();
    spec.users = 1;
    spec.think = constant(Duration::from_millis(90));
    spec.time = Some(Duration::from_millis(1950));
    let server = taking(10 * MS);
    let driven = drive(&spec, &server);
    let starts = times(&server, Asked::Statement);
    assert_eq!(starts.len(), 20);
    assert!(gaps(&starts).iter().all(|gap| *gap == 100 * MS));
    let expected = u128::from(20 * 10 * MS);
    assert_eq!(driven.measured().response.sum_ns(), expected);
    // The end of the load ends the pause.
    assert_eq!(driven.ended_ns, START + 1950 * MS);
}

#[test]
fn think_times_have_the_mean_of_their_distribution() {
    for distribution in [ThinkDistribution::Uniform, ThinkDistribution::Exponential] {
        let mean = Duration::from_millis(9);
        let mut spec = spec();
        spec.users = 1;
        spec.think = Think { mean, distribution };
        spec.time = Some(Duration::from_secs(360));
        let server = taking(MS);
        drive(&spec, &server);
        let starts = times(&server, Asked::Statement);
        // 36,000 pauses: the standard error of the mean is at most 0.5 %.
        assert!(
            (35_000..37_000).contains(&starts.len()),
            "{distribution}: {}",
            starts.len()
        );
        let gaps = gaps(&starts);
        let (shortest, longest) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
        assert!(*shortest * 10 < 11 * MS, "{distribution}: {shortest}");
        match distribution {
            ThinkDistribution::Uniform => assert!((189 * MS..=190 * MS).contains(&(longest * 10))),
            _ => assert!(*longest > 50 * MS, "{longest}"),
        }
    }
}

#[test]
fn connections_are_opened_a_few_at_a_time_and_transactions_start_together() {
    let mut spec = lasting_s(1);
    (spec.users, spec.workers, spec.connect_limit) = (20, 2, 4);
    let server = Scripted::new(&simulation(), |request| match request.asked {
        Asked::Connection => done(100 * MS),
        Asked::Statement => done(10 * MS),
        Asked::Rollback | Asked::Close => done(0),
    });
    let mut open = Vec::new();
    let driven = drive_until(&spec, &server, &Stop::default(), |event, _| {
        if let LoadEvent::Connecting { open: so_far } = event {
            open.push(*so_far);
        }
    });
    open.dedup();
    assert_eq!(open, [0, 4, 8, 12, 16, 20]);
    let opened = times(&server, Asked::Connection);
    let waves = opened.chunks(4).map(|wave| (wave[0], wave[3]));
    for (wave, number) in waves.zip(0..) {
        assert_eq!(wave, (START + number * 100 * MS, START + number * 100 * MS));
    }
    let first = times(&server, Asked::Statement);
    assert!(first[..20].iter().all(|at_ns| *at_ns == START + 500 * MS));
    assert_eq!(driven.phase(Phase::Measure)[0].start_ns, START + 500 * MS);
}

#[test]
fn a_reply_ends_when_it_arrived_and_the_rest_is_the_generators_delay() {
    let server = taking(10 * MS);
    server.stamp_replies(-(MS as i64));
    let mut spec = lasting_s(1);
    spec.users = 1;
    let driven = drive(&spec, &server);
    let total = driven.measured();
    assert_eq!(total.response.count(), 100);
    assert_eq!(total.response.sum_ns(), u128::from(100 * 9 * MS));
    assert_eq!(total.delay.sum_ns(), u128::from(100 * MS));
    assert_eq!(total.refused_stamps, 0);
}

#[test]
fn a_time_stamp_that_cannot_be_right_is_refused() {
    // Before the statement was sent, or after the reply was read.
    for offset_ns in [-(11 * MS as i64), 1] {
        let server = taking(10 * MS);
        server.stamp_replies(offset_ns);
        let mut spec = lasting_s(1);
        spec.users = 1;
        let driven = drive(&spec, &server);
        let total = driven.measured();
        assert_eq!(total.response.sum_ns(), u128::from(100 * 10 * MS));
        assert_eq!((total.refused_stamps, total.delay.count()), (100, 0));
    }
}
