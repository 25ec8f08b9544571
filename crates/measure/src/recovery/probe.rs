//! What probes of the members show about a recovery.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Observation, Window};
use crate::values::both;

/// How long a returned member may leave probes unanswered or writes rejected and still count as in
/// service: its host or its disk may be busy.
const BUSY_S: f64 = 10.0;

#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// Number of the server, counted from 1.
    pub server: u32,
    pub asked_s: f64,
    /// When the member answered or the limit passed.
    pub answered_s: f64,
    pub view: Option<ProbedView>,
    /// The write, sent only if the member claims to accept writes.
    pub write: Option<ProbedWrite>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbedView {
    pub role: Role,
    /// A number that changes with what the member sees of the other members.
    pub others: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Accepts writes.
    Primary,
    /// Applies the primary's writes.
    Replica,
    /// Is connected to no primary.
    Detached,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbedWrite {
    pub sent_s: f64,
    /// When the write was answered or the limit passed.
    pub answered_s: f64,
    pub is_accepted: bool,
}

impl Probe {
    /// Whether the member takes part in its cluster: as a replica, or as a primary that accepts
    /// writes.
    pub(super) fn is_in_service(&self) -> bool {
        match self.view.map(|view| view.role) {
            Some(Role::Primary) => self.write.is_some_and(|write| write.is_accepted),
            Some(Role::Replica) => true,
            Some(Role::Detached) | None => false,
        }
    }

    pub(super) fn end_s(&self) -> f64 {
        self.write.map_or(self.answered_s, |write| write.answered_s)
    }
}

/// When a member other than the affected one first saw a change of the others.
pub(super) fn detected_s(probes: &[Probe], hit: Option<u32>, window: Window) -> Option<f64> {
    let mut before = BTreeMap::new();
    let mut first_s = None;
    for probe in probes.iter().filter(|probe| Some(probe.server) != hit) {
        let Some(view) = probe.view else { continue };
        let at_s = probe.answered_s;
        if at_s <= window.asked_s {
            before.insert(probe.server, view);
        } else if window.contains(at_s) && before.get(&probe.server).is_some_and(|old| *old != view)
        {
            first_s = both(first_s, Some(at_s), f64::min);
        }
    }
    first_s
}

/// When all members were in service again that were in service at the request; `None` if none of
/// them ever was out of service.
pub(super) fn redundant(probes: &[Probe], window: Window) -> Option<Observation> {
    let earlier = probes
        .iter()
        .filter(|probe| probe.end_s() <= window.asked_s);
    let before: BTreeMap<u32, &Probe> = earlier.map(|probe| (probe.server, probe)).collect();
    let serving = before.values().filter(|probe| probe.is_in_service());
    let returns = serving.filter_map(|probe| returned(probes, probe.server, window));
    returns.max_by(Observation::order)
}

/// When a member was in service again and stayed so until the end of the window. `None` if it never
/// was out of service.
pub(super) fn returned(probes: &[Probe], server: u32, window: Window) -> Option<Observation> {
    let of_server = probes.iter().filter(|probe| probe.server == server);
    let inside = of_server
        .filter(|probe| probe.asked_s >= window.origin_s && probe.answered_s < window.end_s);
    let inside: Vec<&Probe> = inside.collect();
    let spells = inside.chunk_by(|one, next| one.is_in_service() == next.is_in_service());
    let spells: Vec<&[&Probe]> = spells.collect();
    let is_first_out = |index: usize| spells.iter().take(index).all(|one| is_in_service(one));
    let has_left = |index: &usize| {
        let next = spells.get(index + 1).and_then(|next| next.first());
        !is_in_service(spells[*index]) && (is_first_out(*index) || has_left(spells[*index], next))
    };
    let last_out = (0..spells.len()).rfind(has_left)?;
    let back = spells.get(last_out + 1).and_then(|back| back.first());
    Some(back.map_or(Observation::Longer(window.end_s), |probe| {
        Observation::Exactly(probe.end_s())
    }))
}

fn is_in_service(spell: &[&Probe]) -> bool {
    spell.iter().all(|probe| probe.is_in_service())
}

/// Whether a member that was out of service until the next probe was more than just busy.
fn has_left(spell: &[&Probe], next: Option<&&Probe>) -> bool {
    let is_detached = |probe: &&Probe| probe.view.is_some_and(|view| view.role == Role::Detached);
    let (begin_s, end_s) = match spell {
        [first, .., last] => (first.asked_s, last.end_s()),
        [only] => (only.asked_s, only.end_s()),
        [] => return false,
    };
    let end_s = next.map_or(end_s, |next| next.asked_s);
    spell.iter().any(is_detached) || end_s - begin_s >= BUSY_S
}
