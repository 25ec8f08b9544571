//! Makes another member the primary, as an administrator does before maintenance.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::Role;

use super::{Fault, Scene, nodes, succession, target};
use crate::cluster::{Cluster, Member};
use crate::failure::{Failure, canceled};
use crate::instance::Instance;

/// How long the new primary may take to receive what the old one wrote, and how often it is asked.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The scene's node takes over.
#[derive(Default)]
pub(super) struct Switchover {
    /// The index of the primary before, if it was shut down.
    shut_down: Option<usize>,
}

impl Fault for Switchover {
    fn check(&self, instance: &Instance) -> Result<(), Failure> {
        match nodes(instance)?.members().len() {
            1 => {
                let message = "a single server has no other member that could take over";
                Err(Failure::server(message))
            }
            _ => Ok(()),
        }
    }

    fn strike(&mut self, scene: &Scene<'_>) -> Result<Instant, Failure> {
        let (cluster, to) = (scene.cluster()?, scene.member()?);
        let from = cluster.primary_index();
        let (Some(index), Some(old)) = (scene.index, cluster.primary()) else {
            return Err(super::not_started());
        };
        if index == from {
            let message = format!("server {} is the primary already", to.number);
            return Err(Failure::server(message));
        }
        if cluster
            .replication()
            .is_some_and(|kind| kind.has_many_primaries())
        {
            cluster.set_primary(index);
            return Ok(Instant::now());
        }
        if cluster.replication().is_some_and(|kind| kind.elects()) {
            old.lock().switch_over(index)?;
            cluster.set_primary(index);
            return Ok(Instant::now());
        }
        // A member that does not replicate, such as one whose data has diverged, stays as it is.
        let does_not_replicate =
            |member: &&Member| target::state(cluster, member) == Some(Role::Detached);
        let left_behind = cluster.members().iter().filter(does_not_replicate);
        let left_behind: Vec<u32> = left_behind.map(|member| member.number).collect();
        if left_behind.contains(&to.number) {
            let message = format!("server {} does not replicate from the primary", to.number);
            return Err(Failure::server(message));
        }
        let refuses_at = self.demote(old, from, to, scene)?;
        let is_away = |number| {
            self.is_down(cluster, number)
                || left_behind.contains(&number)
                || scene.instance.disturbance.hits(number)
        };
        succession::promote(cluster, index)?;
        succession::follow(cluster, is_away)?;
        // The next switchover needs replicas.
        let others = cluster.members().iter().enumerate();
        let others = others.filter(|(other, one)| *other != index && !is_away(one.number));
        let replicate = others.map(|(index, _)| scene.of(index).wait_until_it_replicates());
        match replicate.collect::<Result<(), _>>() {
            Err(error) if !error.is_interrupted() => Err(error),
            _ => Ok(refuses_at),
        }
    }

    fn heal(&mut self, _: &Scene<'_>) -> Result<Instant, Failure> {
        Ok(Instant::now())
    }

    /// The old primary, if it was shut down, becomes a replica.
    fn rejoin(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        let Some(index) = self.shut_down else {
            return Ok(());
        };
        let old = Scene {
            was_primary: true,
            ..scene.of(index)
        };
        old.start()?;
        old.join()
    }
}

impl Switchover {
    /// Has the old primary refuse writes, and waits until the new one has all of them; returns when
    /// it refused.
    fn demote(
        &mut self,
        old: &Member,
        index: usize,
        new: &Member,
        scene: &Scene<'_>,
    ) -> Result<Instant, Failure> {
        let mut node = old.lock();
        if !node.demote()? {
            // It sends everything to its replicas before it ends.
            self.shut_down = Some(index);
            return node.shut_down(scene.over);
        }
        let refuses_at = Instant::now();
        let written = node.received()?;
        let deadline = refuses_at + CATCH_UP_LIMIT;
        while new.lock().received()? < written {
            if scene.over.load(Ordering::Relaxed) {
                return Err(canceled());
            }
            if Instant::now() > deadline {
                return Err(new.lock().does_not_replicate(CATCH_UP_LIMIT));
            }
            sleep(POLL_INTERVAL);
        }
        Ok(refuses_at)
    }

    fn is_down(&self, cluster: &Cluster, number: u32) -> bool {
        let old = self
            .shut_down
            .and_then(|index| cluster.members().get(index));
        old.is_some_and(|old| old.number == number)
    }
}
