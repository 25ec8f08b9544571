//! Decides which member of a cluster is the primary, from what probes find.

use std::time::{Duration, Instant};

use engine::replication::Role;
use workload::session::{FailureKind, SessionError};

/// In a cluster whose members are all primaries: how long a member may leave probes unanswered
/// before it counts as hanging. Users must not leave one that is only busy.
const HANG_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// They elect one. Otherwise, a member that was just started may seem to be a primary before it
    /// knows its own role.
    pub(super) elects: bool,
    pub(super) has_many: bool,
}

/// What is known about the members of a cluster.
#[derive(Debug)]
pub(super) struct Decision {
    rules: Rules,
    /// The index of the primary that virtual users follow.
    pub(super) primary: Option<usize>,
    /// The latest primary, even while there is none.
    announced: usize,
    members: Vec<Seen>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    state: Option<Role>,
    /// Since when it has credibly claimed to be a primary.
    primary_since: Option<Instant>,
    /// Whether the last probe was refused because no server listens there.
    is_away: bool,
    /// When the first of the latest unanswered probes was sent.
    silent_since: Option<Instant>,
}

impl Decision {
    /// It is unknown how long `primary` has been the primary.
    pub(super) fn new(members: usize, primary: usize, rules: Rules, now: Instant) -> Self {
        let mut seen = vec![Seen::default(); members];
        seen[primary].state = Some(Role::Primary);
        seen[primary].primary_since = Some(now);
        Self {
            rules,
            primary: Some(primary),
            announced: primary,
            members: seen,
        }
    }

    /// Records the answer to a probe that was sent at `asked_at`. Returns whether the member
    /// becomes the primary if it accepts a write. `named` is the member that an operator made the
    /// primary.
    pub(super) fn observe(
        &mut self,
        index: usize,
        asked_at: Instant,
        answer: Result<Role, &SessionError>,
        named: usize,
    ) -> bool {
        let is_credible = self.rules.elects || named == index;
        let seen = &mut self.members[index];
        seen.update(asked_at, answer, is_credible);
        if self.primary == Some(index) && (seen.is_away || !seen.is_primary()) {
            self.primary = None;
        }
        self.is_next(index, named)
    }

    /// Makes a member that has accepted a write the primary, unless the state has changed
    /// meanwhile. Returns the latest primary before it, which may be the same.
    pub(super) fn take(&mut self, index: usize, named: usize) -> Option<usize> {
        self.is_next(index, named).then(|| {
            self.primary = Some(index);
            std::mem::replace(&mut self.announced, index)
        })
    }

    /// Whether the primary is known and answers.
    pub(super) fn is_settled(&self) -> bool {
        self.primary
            .is_some_and(|index| !self.members[index].is_silent())
    }

    /// Whether virtual users that use any member may connect to this one.
    pub(super) fn is_usable(&self, index: usize, now: Instant) -> bool {
        let seen = &self.members[index];
        let is_alone = self.rules.has_many && seen.state == Some(Role::Detached);
        !seen.is_away && !seen.hangs(now) && !is_alone
    }

    fn is_next(&self, index: usize, named: usize) -> bool {
        let seen = &self.members[index];
        let Some(since) = seen.primary_since.filter(|_| seen.answers_as_primary()) else {
            return false;
        };
        match self.primary.map(|primary| &self.members[primary]) {
            _ if self.primary == Some(index) => false,
            Some(_) if named == index => true,
            Some(current) if self.rules.has_many => current.hangs(Instant::now()),
            Some(current) => current.primary_since.is_none_or(|earlier| earlier < since),
            None => {
                let mut rivals = self.members.iter().filter(|one| one.answers_as_primary());
                let is_last = |rival: &Seen| rival.primary_since.is_none_or(|at| at <= since);
                self.rules.has_many || named == index || rivals.all(is_last)
            }
        }
    }
}

impl Seen {
    fn update(
        &mut self,
        asked_at: Instant,
        answer: Result<Role, &SessionError>,
        is_credible: bool,
    ) {
        let answered_before = !self.is_silent() && self.state.is_some();
        self.is_away = matches!(answer, Err(error) if error.kind == FailureKind::Away);
        let answer = match answer {
            // It executes no statements, for example a Galera member without a majority.
            Err(error) if error.is_from_server() && error.kind == FailureKind::Refused => {
                Ok(Role::Detached)
            }
            answer => answer,
        };
        match answer {
            Ok(state) => {
                let has_become = answered_before && !self.is_primary();
                match state {
                    Role::Primary if has_become => self.primary_since = Some(asked_at),
                    Role::Primary if is_credible => {
                        self.primary_since.get_or_insert(asked_at);
                    }
                    Role::Primary => {}
                    Role::Replica | Role::Detached => self.primary_since = None,
                }
                self.state = Some(state);
                self.silent_since = None;
            }
            Err(error) if error.is_from_server() && !self.is_away => self.silent_since = None,
            Err(_) => {
                self.silent_since.get_or_insert(asked_at);
            }
        }
    }

    fn is_primary(&self) -> bool {
        self.state == Some(Role::Primary)
    }

    fn is_silent(&self) -> bool {
        self.silent_since.is_some()
    }

    fn answers_as_primary(&self) -> bool {
        self.is_primary() && !self.is_silent()
    }

    fn hangs(&self, now: Instant) -> bool {
        let silent = self.silent_since;
        silent.is_some_and(|since| now.saturating_duration_since(since) >= HANG_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Role::{Detached, Primary, Replica};

    const ELECTING: Rules = Rules {
        elects: true,
        has_many: false,
    };
    const OPERATED: Rules = Rules {
        elects: false,
        has_many: false,
    };
    const MANY: Rules = Rules {
        elects: true,
        has_many: true,
    };

    /// A cluster of three whose clock advances by 10 ms with each probe.
    struct Scene {
        decision: Decision,
        now: Instant,
        named: usize,
    }

    fn fails(kind: FailureKind, number: Option<u32>) -> Result<Role, SessionError> {
        Err(SessionError {
            kind,
            number,
            sqlstate: None,
            message: String::new(),
            statement: None,
        })
    }

    impl Scene {
        /// The first member is the primary, and all have reported their roles.
        fn new(rules: Rules) -> Self {
            let now = Instant::now();
            let mut scene = Self {
                decision: Decision::new(3, 0, rules, now),
                now,
                named: 0,
            };
            let other = match rules.has_many {
                true => Primary,
                false => Replica,
            };
            for (index, state) in [Primary, other, other].into_iter().enumerate() {
                scene.says(index, state);
            }
            assert_eq!(scene.decision.primary, Some(0));
            scene
        }

        /// Probes a member, which accepts writes while it reports that it is a primary.
        fn answers(&mut self, index: usize, answer: Result<Role, SessionError>) {
            self.now += Duration::from_millis(10);
            let now = self.now;
            if self
                .decision
                .observe(index, now, answer.as_ref().copied(), self.named)
                && self.decision.take(index, self.named).is_some()
            {
                self.named = index;
            }
        }

        fn says(&mut self, index: usize, state: Role) {
            self.answers(index, Ok(state));
        }

        fn is_silent(&mut self, index: usize) {
            self.answers(index, fails(FailureKind::Lost, None));
        }

        fn is_away(&mut self, index: usize) {
            self.answers(index, fails(FailureKind::Away, None));
        }

        #[track_caller]
        fn assert_primary(&self, index: Option<usize>) {
            assert_eq!(self.decision.primary, index, "{:?}", self.decision);
        }
    }

    #[test]
    fn a_primary_that_is_gone_is_left_and_its_successor_taken() {
        for rules in [ELECTING, OPERATED] {
            let mut scene = Scene::new(rules);
            scene.is_away(0);
            scene.assert_primary(None);
            assert!(!scene.decision.is_settled());
            scene.says(1, Replica);
            scene.says(2, Primary);
            scene.assert_primary(Some(2));
            assert!(scene.decision.is_settled());
        }
    }

    #[test]
    fn a_primary_that_hangs_is_kept_until_another_one_is_there() {
        let mut scene = Scene::new(ELECTING);
        for _ in 0..500 {
            scene.is_silent(0);
        }
        scene.assert_primary(Some(0));
        assert!(!scene.decision.is_settled());
        scene.says(1, Primary);
        scene.assert_primary(Some(1));
        // It returns without having noticed the failover.
        scene.says(0, Primary);
        scene.assert_primary(Some(1));
        // Its manager promotes it again.
        scene.says(1, Detached);
        scene.assert_primary(None);
        scene.says(0, Primary);
        scene.assert_primary(Some(0));
    }

    #[test]
    fn a_server_that_refuses_only_the_probe_is_still_the_primary() {
        let mut scene = Scene::new(ELECTING);
        scene.answers(0, fails(FailureKind::Lost, Some(1040)));
        scene.assert_primary(Some(0));
        assert!(scene.decision.is_settled());
    }

    #[test]
    fn a_server_that_refuses_statements_is_no_primary() {
        let mut scene = Scene::new(MANY);
        scene.answers(0, fails(FailureKind::Refused, Some(1047)));
        scene.assert_primary(None);
        scene.says(1, Primary);
        scene.assert_primary(Some(1));
    }

    #[test]
    fn a_restarted_server_is_no_primary_only_because_it_has_none() {
        let mut scene = Scene::new(OPERATED);
        scene.is_away(2);
        scene.says(2, Primary);
        scene.says(2, Primary);
        scene.assert_primary(Some(0));
        scene.is_away(0);
        scene.says(2, Primary);
        scene.assert_primary(None);
        // The old primary returns.
        scene.says(0, Primary);
        scene.assert_primary(Some(0));
        // The operator names another one.
        scene.named = 2;
        scene.says(2, Primary);
        scene.assert_primary(Some(2));
    }

    #[test]
    fn where_members_elect_a_restarted_one_may_be_the_primary() {
        let mut scene = Scene::new(ELECTING);
        scene.is_away(2);
        scene.is_away(0);
        scene.says(2, Primary);
        scene.assert_primary(Some(2));
    }

    #[test]
    fn of_many_primaries_one_is_used_until_it_fails() {
        let mut scene = Scene::new(MANY);
        scene.says(1, Primary);
        scene.assert_primary(Some(0));
        scene.says(0, Detached);
        scene.assert_primary(None);
        scene.says(2, Primary);
        scene.assert_primary(Some(2));
        scene.says(0, Primary);
        scene.assert_primary(Some(2));
    }

    #[test]
    fn any_member_is_used_unless_it_is_gone_or_hangs() {
        let mut scene = Scene::new(OPERATED);
        let usable = |scene: &Scene| [0, 1, 2].map(|i| scene.decision.is_usable(i, scene.now));
        assert_eq!(usable(&scene), [true; 3]);
        scene.is_away(0);
        scene.says(1, Detached);
        scene.is_silent(2);
        assert_eq!(usable(&scene), [false, true, true]);
        scene.now += HANG_LIMIT;
        assert_eq!(usable(&scene), [false, true, false]);
        let mut scene = Scene::new(MANY);
        scene.says(1, Detached);
        assert_eq!(usable(&scene), [true, false, true]);
    }
}
