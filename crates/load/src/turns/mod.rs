//! Loads that take turns, so that variants are compared within seconds of each other.
//!
//! At any moment, one variant runs; the users of the others wait between transactions, with their
//! connections open. A variant that runs on several instances has a load for each of them: they
//! run together, and the next variant runs once all of them have drained. A load that ends for any
//! reason gives up its turns, so that it never keeps the others waiting.

mod schedule;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use measure::slice::Phase;

pub use schedule::rounds;

use crate::control::{Control, lock};
use schedule::Block;

/// How variants take turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnsSpec {
    /// Number of variants, each of which has one load or more.
    pub variants: u32,
    /// Mean length of a block, the time from one switch to the next. Blocks vary by 20 %.
    pub block: Duration,
    /// The part of each block that is left out after the switch; less than 80 % of a block.
    pub lead_in: Duration,
    /// Length of each variant's warm-up, without what is left out.
    pub warmup: Duration,
    /// Length of each variant's measurement, without what is left out. Both lengths are rounded up
    /// to whole rounds, in each of which every variant has two blocks.
    pub time: Duration,
    /// Seed of the order and of the lengths.
    pub seed: u64,
}

/// Receives notice of each turn, while no load runs.
pub trait Referee: Send + Sync + std::fmt::Debug {
    /// A variant's turn begins, or, with `None`, the loads are ending. The latter may be repeated.
    fn turn(&self, next: Option<(u32, Phase)>);
}

/// The schedule of the loads that share it.
#[derive(Debug)]
pub struct Turns {
    blocks: Vec<Block>,
    referee: Option<Arc<dyn Referee>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The index of the current block; the number of blocks once all are over.
    current: usize,
    /// When the current block's variant began to run; `None` until one of its loads notices.
    began_ns: Option<u64>,
    loads: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    variant: u32,
    control: Arc<Control>,
    /// Whether the load takes no part in the rest of the current block.
    is_done: bool,
    has_left: bool,
}

/// The place of a load among those that take turns.
#[derive(Debug, Clone)]
pub struct Turn {
    pub turns: Arc<Turns>,
    /// The variant of the load, counted from 0.
    pub variant: u32,
}

/// The counted part of a block, on the loads' clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) phase: Phase,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another variant runs, or other loads of this one.
    Wait,
    Run(Window),
    /// There are no further blocks.
    Over,
}

impl Turns {
    pub fn new(spec: &TurnsSpec, referee: Option<Arc<dyn Referee>>) -> Self {
        Self {
            blocks: schedule::blocks(spec),
            referee,
            state: Mutex::default(),
        }
    }

    fn tell(&self, next: Option<(u32, Phase)>) {
        self.referee.iter().for_each(|referee| referee.turn(next));
    }

    /// The length of all blocks of the warm-up, apart from the time in which transactions end.
    pub fn warmup(&self) -> Duration {
        let blocks = self.blocks.iter();
        let warmup = blocks.take_while(|block| block.phase == Phase::Warmup);
        Duration::from_nanos(warmup.map(|block| block.length_ns).sum())
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let notified: Vec<Arc<Control>> = {
            let mut state = lock(&self.state);
            change(&mut state);
            let loads = state.skip_done(&self.blocks).then_some(&state.loads);
            let loads = loads.into_iter().flatten();
            loads.map(|load| Arc::clone(&load.control)).collect()
        };
        // A main thread that is notified looks at the state, so it must not be locked.
        notified.iter().for_each(|control| control.notify_main());
    }
}

impl State {
    /// Whether a load has to wait until `block` is over.
    fn is_waiting(&self, load: usize, block: &Block) -> bool {
        let load = &self.loads[load];
        load.variant != block.variant || load.is_done
    }

    /// Hands the turn to the next variant if no load still takes part in the current block; returns
    /// whether it did.
    fn skip_done(&mut self, blocks: &[Block]) -> bool {
        let before = self.current;
        while let Some(block) = blocks.get(self.current) {
            let of_variant = |load: &&Member| load.variant == block.variant;
            let mut loads = self.loads.iter().filter(of_variant);
            if loads.any(|load| !load.is_done && !load.has_left) {
                break;
            }
            self.current += 1;
            self.began_ns = None;
            self.loads.iter_mut().for_each(|load| load.is_done = false);
        }
        self.current > before
    }
}

/// A load's seat at the table; gives up its turns when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    turns: Arc<Turns>,
    number: usize,
}

impl Seat {
    /// Joins the loads that take turns, which all loads must do before any of them runs.
    pub(crate) fn take(turn: &Turn, control: &Arc<Control>) -> Self {
        let mut state = lock(&turn.turns.state);
        state.loads.push(Member {
            variant: turn.variant,
            control: Arc::clone(control),
            is_done: false,
            has_left: false,
        });
        Self {
            turns: Arc::clone(&turn.turns),
            number: state.loads.len() - 1,
        }
    }

    /// What the load does now.
    pub(crate) fn next(&self, now_ns: impl Fn() -> u64) -> Next {
        let mut state = lock(&self.turns.state);
        let Some(block) = self.turns.blocks.get(state.current) else {
            self.turns.tell(None);
            return Next::Over;
        };
        if state.is_waiting(self.number, block) {
            return Next::Wait;
        }
        // Time spent in the referee is not part of the block.
        let began_ns = *state.began_ns.get_or_insert_with(|| {
            self.turns.tell(Some((block.variant, block.phase)));
            now_ns()
        });
        Next::Run(Window {
            phase: block.phase,
            start_ns: began_ns.saturating_add(block.lead_in_ns),
            end_ns: began_ns.saturating_add(block.length_ns),
        })
    }

    pub(crate) fn is_waiting(&self) -> bool {
        let state = lock(&self.turns.state);
        let block = self.turns.blocks.get(state.current);
        block.is_some_and(|block| state.is_waiting(self.number, block))
    }

    /// Ends the load's part of the current block, once none of its transactions is running.
    pub(crate) fn pass(&self) {
        let number = self.number;
        self.turns
            .update(|state| state.loads[number].is_done = true);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let number = self.number;
        self.turns.update(|state| {
            self.turns.tell(None);
            state.loads[number].has_left = true;
        });
    }
}
