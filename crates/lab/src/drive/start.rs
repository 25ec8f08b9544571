//! What the loads of a start share: those of one trial, or of all variants that take turns.

use std::sync::Arc;
use std::time::Duration;

use load::{Barrier, Stop, Turn, Turns, TurnsSpec};

use crate::drive::referee::ServersInTurns;
use crate::{Member, Rig, Trial};

/// The part of a block that is left out after a switch: the CPU caches still hold the other variant's data.
const LEAD_IN: f64 = 0.1;
const SHORTEST_LEAD_IN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) barrier: Arc<Barrier>,
    /// Ends the loads of all its trials.
    pub(crate) stop: Arc<Stop>,
    /// The place of the trial among those that take turns; `None` if it runs alone.
    pub(crate) turn: Option<Turn>,
    /// Measures and freezes the servers of all trials that take turns.
    pub(crate) referee: Option<Arc<ServersInTurns>>,
}

impl Start {
    /// The start of a trial that runs alone.
    pub(crate) fn of(trial: &Trial) -> Self {
        Self {
            barrier: Arc::new(Barrier::new(trial.planned.topology.instances)),
            stop: Arc::default(),
            turn: None,
            referee: None,
        }
    }

    /// The start of each of these trials, which take turns on these rigs.
    pub(crate) fn in_turns(trials: &[&Trial], rigs: &[Rig]) -> Vec<Self> {
        let instances = trials.iter().map(|trial| trial.planned.topology.instances);
        let barrier = Arc::new(Barrier::new(instances.sum()));
        let stop: Arc<Stop> = Arc::default();
        let servers = |rig: &Rig| rig.members().map(Member::monitored).collect();
        let servers = rigs.iter().map(servers).collect();
        let compare = trials.first().and_then(|trial| trial.planned.compare);
        let pauses = compare.is_some_and(|compare| compare.pause);
        let referee = Arc::new(ServersInTurns::new(servers, pauses, Arc::clone(&stop)));
        let turns = turns(trials, Arc::clone(&referee)).map(Arc::new);
        let starts = (0..).zip(trials).map(|(variant, _)| Self {
            barrier: Arc::clone(&barrier),
            stop: Arc::clone(&stop),
            turn: turns.clone().map(|turns| Turn { turns, variant }),
            referee: Some(Arc::clone(&referee)),
        });
        starts.collect()
    }

    /// The warm-up of all trials of the start.
    pub(crate) fn warmup(&self, trial: &Trial) -> Duration {
        let turn = self.turn.as_ref();
        turn.map_or(trial.planned.load.warmup, |turn| turn.turns.warmup())
    }
}

fn turns(trials: &[&Trial], referee: Arc<ServersInTurns>) -> Option<Turns> {
    let first = trials.first()?;
    let planned = &first.planned;
    let block = planned.compare?.block;
    let spec = TurnsSpec {
        variants: trials.len() as u32,
        block,
        lead_in: lead_in(block),
        warmup: planned.load.warmup,
        time: planned.load.time,
        // Each start has an order of its own.
        seed: first.load_seed.wrapping_add(planned.number.into()),
    };
    Some(Turns::new(&spec, Some(referee)))
}

/// The measured part of a block: all but the lead-in.
pub fn counted(block: Duration) -> Duration {
    block - lead_in(block)
}

/// The same for all variants, and less than the shortest blocks, which have 80 % of the mean length.
fn lead_in(block: Duration) -> Duration {
    let share = block.mul_f64(LEAD_IN);
    share.max(SHORTEST_LEAD_IN).min(block / 2)
}
