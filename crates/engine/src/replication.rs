//! How servers replicate: an optional capability of an engine.

use std::fmt;

use crate::error::{Cause, EngineError};
use crate::server::{Login, ServerFile};

/// A way in which servers of one engine form a cluster.
///
/// All members start from copies of the same prepared data. The laboratory starts the first one,
/// which becomes the primary, then the others, and has each of them join when it accepts
/// connections.
pub trait Replication: fmt::Debug + Send + Sync {
    /// Its name in a study: `asynchronous`.
    fn name(&self) -> &'static str;

    /// The settings that make a server the member `number`, from 1.
    fn settings(&self, cluster: &Formation, number: u32) -> Vec<(String, String)>;

    /// Files in the data directory that make prepared data this member's, by their names there.
    fn data_files(&self, cluster: &Formation, number: u32) -> Vec<ServerFile> {
        let _ = (cluster, number);
        Vec::new()
    }

    /// Has a member that accepts connections join.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    fn join(&self, cluster: &Formation, number: u32, login: &Login<'_>) -> Result<(), EngineError>;

    /// Has a member that was restarted join again.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses; it may succeed later.
    fn rejoin(
        &self,
        cluster: &Formation,
        number: u32,
        login: &Login<'_>,
    ) -> Result<(), EngineError> {
        let _ = (cluster, number, login);
        Ok(())
    }

    /// What is done on the primary once every member replicates.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    fn complete(&self, cluster: &Formation, login: &Login<'_>) -> Result<(), EngineError> {
        let _ = (cluster, login);
        Ok(())
    }

    /// A member's role, and whether it replicates.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    fn state(&self, login: &Login<'_>) -> Result<MemberState, EngineError>;
}

/// What a member says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberState {
    /// It accepts writes.
    Primary,
    /// It applies what the primary writes.
    Replica,
    /// It is connected to no primary, for now.
    Detached,
}

/// What the members of one cluster know of each other.
#[derive(Clone)]
pub struct Formation {
    /// 32 hexadecimal digits that no other cluster has.
    pub id: String,
    /// Their ports on 127.0.0.1, in their order.
    pub ports: Vec<u16>,
    /// The ports at which they talk to each other, where they do so apart from their clients.
    pub group_ports: Vec<u16>,
    /// The password of the account that replicates, for this run.
    pub password: String,
}

/// The password is hidden.
impl fmt::Debug for Formation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Formation")
            .field("id", &self.id)
            .field("ports", &self.ports)
            .field("group_ports", &self.group_ports)
            .finish_non_exhaustive()
    }
}

impl Formation {
    /// How many members it has, at least 1.
    pub fn members(&self) -> u32 {
        u32::try_from(self.ports.len()).unwrap_or(u32::MAX)
    }

    /// The port of the member that is the primary at first.
    pub fn first_port(&self) -> u16 {
        self.ports.first().copied().unwrap_or_default()
    }

    /// The members that follow the first one.
    pub fn followers(&self) -> impl Iterator<Item = u32> {
        2..=self.members()
    }
}

/// A member's refusal to do what makes it one, without the password that it was sent.
pub(crate) fn refused(
    cluster: &Formation,
    login: &Login<'_>,
    error: &client::Error,
) -> EngineError {
    let words = error.to_string().replace(&cluster.password, "***");
    EngineError::Failed {
        cause: Cause::Server,
        message: format!("{} cannot join its cluster: {words}", login.server),
        remedy: error.remedy().map(str::to_owned),
    }
}

/// The name by which the other members know this one.
pub(crate) fn member_name(number: u32) -> String {
    format!("dyno{number}")
}
