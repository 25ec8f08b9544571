//! The pulse of a load between its seconds.

use measure::recovery::{FirstWrite, TimedError};
use workload::session::FailureKind;

use super::script::away;
use super::*;

/// The load of four users on a server that is gone for a while, watched.
fn watched(gone: std::ops::Range<u64>, await_ns: &[u64]) -> (Driven, Arc<Pulse>) {
    let server = Scripted::new(&simulation(), away(gone, FailureKind::Away));
    let options = Options::default();
    let name = WorkloadName::OltpPointSelect;
    let workload = BuiltIn::new(name, &options, &Dialect::STANDARD, 1, 4).unwrap();
    let pulse = Arc::new(Pulse::default());
    await_ns.iter().for_each(|at_ns| pulse.await_first(*at_ns));
    let (stop, spec) = (Stop::default(), lasting_s(3));
    let driven = drive_watched(&workload, &spec, &server, &stop, &pulse, |_, _| {});
    (driven, pulse)
}

#[test]
fn it_counts_what_the_seconds_count() {
    let (driven, pulse) = watched(SECOND..2 * SECOND, &[]);
    let drained = driven.total(Phase::Drain).response.count();
    let all = driven.measured().response.count() + drained;
    assert!(all > 3000, "{all}");
    assert_eq!(pulse.completed(), all);
    assert_eq!(pulse.firsts(), []);
}

#[test]
fn a_transaction_counts_from_its_last_attempt() {
    // All users were in a transaction when the server disappeared.
    let back = 2 * SECOND;
    let (_, pulse) = watched(SECOND..back, &[SECOND]);
    let firsts = pulse.firsts();
    let [FirstWrite { since_ns, end_ns }] = firsts.as_slice() else {
        panic!("{firsts:?}");
    };
    assert_eq!(*since_ns, SECOND);
    // Users retry at least every 200 ms.
    let end_ns = end_ns.unwrap();
    assert!((back + SERVICE..back + 200 * MS + SERVICE).contains(&end_ns));
}

#[test]
fn a_transaction_that_was_running_is_not_the_first() {
    // Transactions of 2 ms start at 7 ms, 9 ms, …
    let since = START + 500 * SERVICE + 1;
    let (_, pulse) = watched(u64::MAX..u64::MAX, &[since]);
    let end_ns = pulse.firsts()[0].end_ns;
    assert_eq!(end_ns, Some(START + 502 * SERVICE));
}

#[test]
fn several_are_awaited_in_any_order() {
    let back = 2 * SECOND;
    for await_ns in [[SECOND, back], [SECOND + 1, SECOND], [SECOND, SECOND + 1]] {
        let (_, pulse) = watched(SECOND..back, &await_ns);
        let ends: Vec<_> = pulse.firsts().iter().map(|first| first.end_ns).collect();
        let is_back = |end_ns: &Option<u64>| *end_ns > Some(back);
        assert!(ends.iter().all(is_back), "{await_ns:?}: {ends:?}");
    }
    // Nothing is lost: each has its own.
    let (early, late) = (START + 500 * SERVICE + 1, START + 700 * SERVICE + 1);
    let (_, pulse) = watched(u64::MAX..u64::MAX, &[late, early]);
    let ends: Vec<_> = pulse.firsts().iter().map(|first| first.end_ns).collect();
    assert_eq!(ends, [702, 502].map(|at| Some(START + at * SERVICE)));
}

#[test]
fn the_last_gasp_of_a_server_is_not_the_first_transaction() {
    // The server continues for 50 ms after the fault.
    let (gone, back) = (SECOND + 50 * MS, 2 * SECOND);
    let (_, pulse) = watched(gone..back, &[SECOND]);
    assert!(pulse.firsts()[0].end_ns.unwrap() > back);
    // A loss a second later is another failure.
    let (_, pulse) = watched(3 * SECOND / 2..back, &[SECOND / 2]);
    assert!(pulse.firsts()[0].end_ns.unwrap() < SECOND);
}

#[test]
fn errors_have_their_times_and_are_taken_once() {
    let (driven, pulse) = watched(SECOND..2 * SECOND, &[]);
    let errors = pulse.take_errors();
    assert_eq!(errors.len() as u64, driven.measured().error_count());
    let TimedError {
        at_s, code, action, ..
    } = &errors[0];
    let at_ns = (at_s * 1e9).round() as u64;
    assert!((SECOND..SECOND + SERVICE).contains(&at_ns), "{at_ns}");
    assert_eq!((code.as_str(), &**action), ("network", "reconnected"));
    assert!(errors.is_sorted_by_key(|error| error.at_s));
    assert_eq!(pulse.take_errors(), []);
}

#[test]
fn errors_that_nobody_takes_are_bounded() {
    let pulse = Pulse::default();
    let error = script::error(FailureKind::Restart, 1213);
    (0..20_000).for_each(|at_ns| pulse.error(at_ns, &error, "restarted"));
    assert_eq!(pulse.take_errors().len(), 10_000);
}
