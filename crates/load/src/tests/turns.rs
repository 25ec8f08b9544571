//! Loads that take turns, each simulated on a thread of its own with a common clock.

use std::ops::Range;
use std::time::Duration;

use workload::session::FailureKind;

use super::script::{Answer, Asked, Entry, Request, Scripted, away, done};
use super::simulation::{Simulation, Together};
use super::*;
use crate::{Turn, Turns, TurnsSpec};

/// When the loads start.
const BEGIN: u64 = START + 10 * MS;
/// How long a main thread may take to notice that its turn has come: in a simulation, no other
/// thread wakes it.
const POLL: u64 = 20 * MS;

const TURNS: TurnsSpec = TurnsSpec {
    variants: 2,
    block: Duration::from_secs(1),
    lead_in: Duration::from_millis(100),
    warmup: Duration::from_millis(1800),
    time: Duration::from_millis(7200),
    seed: 1,
};
/// Measured blocks of each variant: four rounds.
const BLOCKS: usize = 8;

type Script = Box<dyn Fn(Request) -> Answer + Send>;
type OnEvent = fn(&LoadEvent, &Stop);

struct Player {
    variant: u32,
    think: Duration,
    script: Script,
    on_event: OnEvent,
}

struct Played {
    driven: Driven,
    log: Vec<Entry>,
}

impl Played {
    fn statements(&self) -> impl Iterator<Item = &Entry> {
        let log = self.log.iter();
        log.filter(|entry| entry.request.asked == Asked::Statement)
    }

    /// From the first statement to the last reply of each block, in which users do not pause for
    /// half a second.
    fn busy(&self) -> Vec<Range<u64>> {
        let mut busy: Vec<Range<u64>> = Vec::new();
        for entry in self.statements() {
            let start_ns = entry.request.at_ns;
            let end_ns = entry.replied.map_or(start_ns, |(at_ns, _)| at_ns);
            match busy.last_mut() {
                Some(last) if start_ns < last.end + SECOND / 2 => last.end = last.end.max(end_ns),
                _ => busy.push(start_ns..end_ns),
            }
        }
        busy
    }

    fn windows(&self, phase: Phase) -> Vec<Range<u64>> {
        let seconds = self.driven.phase(phase).into_iter();
        seconds
            .map(|second| second.start_ns..second.end_ns)
            .collect()
    }
}

fn player(variant: u32, script: impl Fn(Request) -> Answer + Send + 'static) -> Player {
    Player {
        variant,
        think: Duration::ZERO,
        script: Box::new(script),
        on_event: |_, _| {},
    }
}

/// Statements take 2.0 to 2.6 ms.
fn steady(variant: u32) -> Player {
    player(variant, |request| match request.asked {
        Asked::Statement => done(SERVICE + u64::from(request.number % 7) * MS / 10),
        _ => done(0),
    })
}

/// Drives a load for each player; all of them have one stop.
fn play(turns: &TurnsSpec, players: Vec<Player>) -> Vec<Played> {
    let (turns, stop) = (Arc::new(Turns::new(turns, None)), Stop::default());
    let together = Together::new(players.len(), BEGIN);
    std::thread::scope(|scope| {
        let play = |(index, player): (usize, Player)| {
            let (turns, together, stop) = (Arc::clone(&turns), Arc::clone(&together), &stop);
            scope.spawn(move || {
                let _left = Leave(&together, index);
                let simulation = Simulation::one_of(&together, index);
                let server = Scripted::new(&simulation, player.script);
                let variant = player.variant;
                let spec = LoadSpec {
                    turn: Some(Turn { turns, variant }),
                    think: constant(player.think),
                    ..spec()
                };
                Played {
                    driven: drive_until(&spec, &server, stop, player.on_event),
                    log: server.log(),
                }
            })
        };
        let players: Vec<_> = players.into_iter().enumerate().map(play).collect();
        let played = players.into_iter().map(|player| player.join().unwrap());
        played.collect()
    })
}

struct Leave<'a>(&'a Together, usize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

fn has_completed(played: &Played) {
    assert_eq!(played.driven.outcome().end, End::Completed);
    assert_eq!(played.driven.outcome().unfinished.count, 0);
    assert_eq!(played.driven.phase(Phase::Measure).len(), BLOCKS);
}

/// Asserts that no two of these overlap.
fn are_apart(mut busy: Vec<Range<u64>>) {
    busy.sort_by_key(|busy| busy.start);
    for pair in busy.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:?}");
    }
}

/// The variants of the windows of a phase, in the order of time.
fn order(played: &[Played], phase: Phase) -> Vec<usize> {
    let windows = played.iter().enumerate();
    let windows = windows.flat_map(|(variant, played)| {
        let windows = played.windows(phase).into_iter();
        windows.map(move |window| (window.start, variant))
    });
    let mut windows: Vec<_> = windows.collect();
    windows.sort_unstable();
    windows.into_iter().map(|(_, variant)| variant).collect()
}

#[test]
fn variants_run_one_at_a_time_in_balanced_order() {
    let played = play(&TURNS, vec![steady(0), steady(1)]);
    played.iter().for_each(has_completed);
    are_apart(played.iter().flat_map(Played::busy).collect());
    let measured = order(&played, Phase::Measure);
    let rounds: Vec<&[usize]> = measured.chunks(4).collect();
    assert!(rounds.iter().all(|round| {
        [[0, 1, 1, 0], [1, 0, 0, 1]].contains(&[round[0], round[1], round[2], round[3]])
    }));
    assert_eq!(rounds.iter().filter(|round| round[0] == 0).count(), 2);
    // Both warm up in turns, before either is measured.
    let mut warm = order(&played, Phase::Warmup);
    assert_eq!(warm.len(), 4);
    warm.sort_unstable();
    assert_eq!(warm, [0, 0, 1, 1]);
    let ends = played
        .iter()
        .flat_map(|played| played.windows(Phase::Warmup));
    let last_ns = ends.map(|window| window.end).max();
    let starts = played
        .iter()
        .flat_map(|played| played.windows(Phase::Measure));
    assert!(last_ns < starts.map(|window| window.start).min());
    // The connections stay open.
    for played in &played {
        let opened = played.log.iter();
        let opened = opened.filter(|entry| entry.request.asked == Asked::Connection);
        assert_eq!(opened.count(), 4);
    }
}

#[test]
fn exactly_the_transactions_that_end_in_a_counted_part_are_counted() {
    for played in play(&TURNS, vec![steady(0), steady(1)]) {
        for second in played.driven.phase(Phase::Measure) {
            let window = second.start_ns + 1..=second.end_ns;
            let replies = played.log.iter().filter_map(|entry| entry.replied);
            let counted = replies.filter(|(at_ns, _)| window.contains(at_ns)).count();
            let found = second.slice.response.count() as usize;
            // Those that end at the very edge are on either side.
            assert!(counted.abs_diff(found) <= 4, "{counted} {found}");
            let length_ns = second.length_ns();
            assert!((700 * MS..=1100 * MS).contains(&length_ns), "{length_ns}");
        }
        // Each block begins with what is left out.
        for window in played.windows(Phase::Measure) {
            let begin_ns = window.start - 100 * MS;
            assert!(
                played
                    .statements()
                    .any(|entry| entry.request.at_ns == begin_ns)
            );
        }
    }
}

#[test]
fn a_variant_hands_over_once_all_of_its_instances_have_drained() {
    // The second instance of variant 0 has transactions of 300 ms.
    let slow = player(0, |request| match request.asked {
        Asked::Statement => done(300 * MS),
        _ => done(0),
    });
    let played = play(&TURNS, vec![steady(0), slow, steady(1)]);
    played.iter().for_each(has_completed);
    let busy = |of: &[usize]| of.iter().flat_map(|of| played[*of].busy()).collect();
    are_apart(busy(&[0, 2]));
    are_apart(busy(&[1, 2]));
    let (one, other) = (&played[0], &played[1]);
    let windows = one.windows(Phase::Measure).into_iter();
    for (one, other) in windows.zip(other.windows(Phase::Measure)) {
        assert_eq!(one, other, "both are measured at the same time");
    }
}

#[test]
fn users_that_think_do_not_delay_the_switch_nor_start_in_the_turn_of_another() {
    let mut thinking = steady(0);
    thinking.think = Duration::from_millis(450);
    let played = play(&TURNS, vec![thinking, steady(1)]);
    played.iter().for_each(has_completed);
    let others = played[1].busy();
    for entry in played[0].statements() {
        let at_ns = entry.request.at_ns;
        assert!(!others.iter().any(|busy| busy.contains(&at_ns)));
    }
    let spans = others.windows(2).map(|pair| pair[1].start - pair[0].end);
    // Two blocks in succession of the other variant take 2.4 s at most.
    assert!(spans.into_iter().all(|span| span <= 2400 * MS + 5 * POLL));
}

#[test]
fn a_load_whose_server_hangs_ends_after_the_limit_and_the_other_goes_on() {
    let hanging = player(0, |request| match request.asked {
        Asked::Statement if request.at_ns > 4 * SECOND => Answer::Never,
        _ => done(SERVICE),
    });
    let played = play(&TURNS, vec![hanging, steady(1)]);
    let (at_ns, error) = played[0].driven.server_lost();
    assert_eq!(error.message, "no reply for 60 s");
    assert_eq!(played[0].driven.outcome().unfinished.cancelled, 4);
    let limit_ns = at_ns + 60 * SECOND + 5 * SECOND;
    assert!(played[0].driven.ended_ns < limit_ns + 3 * SECOND);
    has_completed(&played[1]);
    are_apart(played[1].busy());
}

#[test]
fn a_load_that_loses_its_server_gives_up_its_turns() {
    let dying = player(0, away(4 * SECOND..u64::MAX, FailureKind::Lost));
    let played = play(&TURNS, vec![dying, steady(1)]);
    let (at_ns, _) = played[0].driven.server_lost();
    assert!(
        (3 * SECOND..4 * SECOND + SERVICE).contains(&at_ns),
        "{at_ns}"
    );
    assert!(played[0].driven.ended_ns < 8 * SECOND);
    has_completed(&played[1]);
    // Neither waits for the turns of the other.
    let last = played[1].windows(Phase::Measure).pop().unwrap();
    assert!(last.end < 18 * SECOND, "{last:?}");
}

#[test]
fn a_load_that_a_statement_stops_gives_up_its_turns() {
    let stopped = player(1, |request| match request.number {
        1000.. => Answer::After(0, Err(script::error(FailureKind::Refused, 1064))),
        _ => done(SERVICE),
    });
    let played = play(&TURNS, vec![steady(0), stopped]);
    assert!(matches!(played[1].driven.outcome().end, End::Failed(_)));
    has_completed(&played[0]);
}

#[test]
fn an_interrupt_ends_all_loads_at_once_whichever_runs() {
    for interrupting in [0, 1] {
        let mut players = vec![steady(0), steady(1)];
        players[interrupting].on_event = |event, stop| {
            if let LoadEvent::Second(second) = event
                && second.start_ns > 5 * SECOND
            {
                stop.interrupt();
            }
        };
        let played = play(&TURNS, players);
        let windows = |played: &Played| played.windows(Phase::Measure).pop();
        let last_ns = played.iter().filter_map(windows).map(|last| last.end).max();
        for played in &played {
            assert_eq!(played.driven.outcome().end, End::Interrupted);
            let limit_ns = last_ns.unwrap() + POLL + 2 * SERVICE;
            assert!(played.driven.ended_ns <= limit_ns);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || play(&TURNS, vec![steady(0), steady(1)]);
    for (one, other) in run().into_iter().zip(run()) {
        assert_eq!(one.driven.seconds, other.driven.seconds);
    }
}
