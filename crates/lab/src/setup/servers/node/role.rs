//! The role of a node in its cluster, and changes of it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::Login;
use engine::replication::{Bootstrap, Copying, Member, Replication, Role};

use super::Node;
use crate::failure::{Failure, unless_canceled};
use crate::process;
use crate::setup::servers::files::{append, write_for_server};
use crate::setup::servers::log;

/// How long copying the data of another member may take.
const COPY_LIMIT: Duration = Duration::from_secs(600);
/// How long a member may take to become the primary.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

impl Node {
    /// `None` if the node is not a member of a cluster.
    pub(crate) fn replication(&self) -> Option<&'static dyn Replication> {
        let membership = self.spec.membership.as_ref();
        membership.map(|member| member.replication)
    }

    /// Joins its cluster, if it is a member of one.
    pub(crate) fn join(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let membership = self.spec.membership.as_ref();
        // The cluster manager makes the first member the primary.
        if self.is_managed() && membership.is_some_and(|member| member.number == 1) {
            self.wait_until_it_is(Role::Primary, JOIN_LIMIT, interrupted)?;
        }
        self.as_member(Replication::join)
    }

    /// Makes the member with index `to` the primary in place of this one.
    pub(crate) fn switch_over(&self, to: usize) -> Result<(), Failure> {
        let number = u32::try_from(to + 1).unwrap_or(u32::MAX);
        self.as_member(|kind, member| match kind.traits().switchover {
            Some(kind) => kind.switch_over(member, number),
            None => Ok(()),
        })
    }

    /// The index of the only member that could become the primary in place of this one.
    pub(crate) fn successor(&self) -> Result<Option<usize>, Failure> {
        let number = self.as_member(|kind, member| match kind.traits().switchover {
            Some(kind) => kind.successor(member),
            None => Ok(None),
        })?;
        Ok(number.and_then(|number| usize::try_from(number.saturating_sub(1)).ok()))
    }

    /// Performs what remains to be done on this node, the primary, once the other members
    /// replicate.
    pub(crate) fn complete_cluster(&self) -> Result<(), Failure> {
        self.as_member(Replication::complete)
    }

    /// Waits until the node applies what its primary writes.
    pub(crate) fn wait_until_it_replicates(
        &mut self,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let is_writable = <dyn Replication>::has_many_primaries;
        let wanted = match self.replication().is_some_and(is_writable) {
            true => Role::Primary,
            false => Role::Replica,
        };
        self.wait_until_it_is(wanted, limit, interrupted)
    }

    /// Waits until the node has this role; returns at once if it is not a member of a cluster.
    fn wait_until_it_is(
        &mut self,
        wanted: Role,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + limit;
        loop {
            let role = self.role();
            // That the server has ended explains more than a missing answer.
            if let Some(how) = self.died(role.is_err()) {
                return Err(Failure::server(how));
            }
            if role?.is_none_or(|role| role == wanted) {
                return Ok(());
            }
            unless_canceled(interrupted)?;
            if Instant::now() > deadline {
                return Err(match wanted {
                    Role::Primary => self.too_slow("become the primary", limit),
                    _ => self.does_not_replicate(limit),
                });
            }
            sleep(process::POLL_INTERVAL);
        }
    }

    /// Calls `work` with the administrator's account if the node is a member of a cluster; returns
    /// the default if it is not.
    pub(super) fn as_member<T: Default>(
        &self,
        work: impl FnOnce(&'static dyn Replication, &Member<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(membership) = &self.spec.membership else {
            return Ok(T::default());
        };
        let member = Member {
            cluster: &membership.layout,
            number: membership.number,
            login: Login {
                server: &self.name(),
                socket: &self.socket(),
                password: self.password(),
            },
        };
        work(membership.replication, &member)
    }

    /// `None` if the node is not a member of a cluster.
    pub(crate) fn role(&self) -> Result<Option<Role>, Failure> {
        self.as_member(|kind, member| (kind.traits().questions.state)(member).map(Some))
    }

    /// Whether its processes run, and a member of a cluster takes part in it.
    pub(crate) fn is_whole(&mut self) -> bool {
        let takes_part = |role| role != Some(Role::Detached);
        self.exited().is_none()
            && (!self.is_managed() || self.id.manager().is_some())
            && self.role().is_ok_and(takes_part)
    }

    pub(crate) fn promote(&self) -> Result<(), Failure> {
        self.as_member(|kind, member| kind.failover()?.promote(member))
    }

    /// Makes the node refuse writes; false if only a shutdown can.
    pub(crate) fn demote(&self) -> Result<bool, Failure> {
        self.as_member(|kind, member| kind.failover()?.demote(member))
    }

    /// Reverses [`Node::demote`]: the node accepts writes again.
    pub(crate) fn reinstate(&self) -> Result<(), Failure> {
        self.as_member(|kind, member| kind.failover()?.reinstate(member))
    }

    /// How much of what the primary wrote the node has received.
    pub(crate) fn received(&self) -> Result<u64, Failure> {
        self.as_member(|kind, member| kind.failover()?.received(member))
    }

    /// Tries once to rejoin the cluster; a later attempt may succeed.
    pub(crate) fn try_rejoin(&self) -> Result<(), Failure> {
        self.as_member(Replication::rejoin)
    }

    /// Size of the node's group if that accepts commits; `None` if it does not, or if the node is
    /// down.
    pub(crate) fn group_size(&self) -> Result<Option<u32>, Failure> {
        let Some(bootstrap) = self.bootstrap().filter(|_| self.is_running()) else {
            return Ok(None);
        };
        self.as_member(|_, member| bootstrap.group_size(member))
    }

    /// How much of what its group agreed on the node has; `None` if it is down and can only be
    /// asked while it runs.
    pub(crate) fn position(&mut self, interrupted: &AtomicBool) -> Result<Option<u64>, Failure> {
        let Some(bootstrap) = self.bootstrap() else {
            return Ok(None);
        };
        if self.is_running() {
            return self.as_member(|_, member| bootstrap.received(member).map(Some));
        }
        if self.recovered.is_none() {
            let printed = self.recover(interrupted)?;
            self.recovered = printed.map(|printed| bootstrap.recovered(&printed));
        }
        Ok(self.recovered)
    }

    /// Bootstraps the group on the running node and waits until other members can join. A member that
    /// joins earlier finds no donor, leaves the group, and does not retry.
    pub(crate) fn begin_group(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let Some(bootstrap) = self.bootstrap() else {
            return Ok(());
        };
        self.as_member(|_, member| bootstrap.begin(member))?;
        self.wait_until_it_is(Role::Primary, JOIN_LIMIT, interrupted)
    }

    /// Whether the node can start only if its group has a quorum.
    pub(crate) fn starts_in_group(&self) -> bool {
        let traits = self.replication().map(|kind| kind.traits());
        traits.is_some_and(|kind| kind.bootstrap.is_some() && kind.recovery.is_some())
    }

    /// Whether a cluster manager starts the server.
    pub(super) fn is_managed(&self) -> bool {
        self.replication()
            .is_some_and(|kind| kind.traits().cluster.has_manager)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.process.is_some()
    }

    fn bootstrap(&self) -> Option<&'static dyn Bootstrap> {
        self.replication()?.traits().bootstrap
    }

    /// Makes the node replicate from the member with number `primary` in its cluster.
    pub(crate) fn follow(&self, primary: u32) -> Result<(), Failure> {
        self.as_member(|kind, member| kind.failover()?.follow(member, primary))
    }

    /// While the node is down, replaces its data with a copy of the data of the member with number
    /// `primary`, unless it can replicate without that.
    pub(crate) fn copy_from(
        &mut self,
        primary: u32,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let Some(copying) = self.copying(primary) else {
            return Ok(());
        };
        self.data.empty()?;
        let home = self.data.home();
        let mut command = home.command(&copying.program.program);
        command.args(&copying.program.arguments);
        let (name, password) = copying.password;
        command.env(name, password);
        let (name, file) = copying.authority;
        let path = self.data.dir().join(file.name);
        write_for_server(&path, &file.text, home.account())?;
        command.env(name, path);
        let log = self.log_path();
        command.stdout(append(&log)?).stderr(append(&log)?);
        match process::run(command, COPY_LIMIT, interrupted)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let how = format!("copying its data {}", process::how_it_ended(status));
                Err(Failure::server(self.describe_end(&how)))
            }
            None => Err(self.too_slow("copy its data", COPY_LIMIT)),
        }
    }

    /// Servers and clients other than dyno's that take part in the node's cluster or are logged in
    /// to it, and the lines of its log about those that it refused, each once.
    pub(crate) fn strangers(&self) -> BTreeSet<String> {
        // A node that is down or paused still has its log.
        let answers = self.process.as_ref().is_some_and(|one| !one.is_paused);
        let ask = || self.as_member(|kind, member| (kind.traits().questions.strangers)(member));
        let seen = answers.then(ask).and_then(Result::ok).unwrap_or_default();
        let refusals = self
            .replication()
            .map_or(&[][..], |kind| kind.traits().refusals);
        let mut all = log::said(&self.log_path(), refusals);
        all.extend(seen);
        all
    }

    pub(crate) fn does_not_replicate(&self, limit: Duration) -> Failure {
        self.too_slow("replicate", limit)
    }

    /// Whether [`Node::copy_from`] would copy anything.
    pub(crate) fn must_copy(&self, primary: u32) -> bool {
        self.copying(primary).is_some()
    }

    /// What [`Node::copy_from`] would do; `None` if it would copy nothing.
    fn copying(&self, primary: u32) -> Option<Copying> {
        let member = self.spec.membership.as_ref()?;
        let failover = member.replication.traits().failover?;
        let program = &self.installed.program;
        let data = self.data.data();
        failover.copy(&member.layout, member.number, primary, program, &data)
    }
}
