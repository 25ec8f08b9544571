//! What a study must know of the engines that it can start, and of their clusters: how each notices a failure
//! and acknowledges a commit, which a ranking must tell.

use std::time::Duration;

use crate::{Quorum, Spanned};

/// An engine that a study can start.
#[derive(Debug, Clone, Copy)]
pub struct EngineTraits {
    pub name: &'static str,
    pub schemes: &'static [&'static str],
    /// Whether it runs as a process of its own, which a study can configure.
    pub is_process: bool,
    /// The ways in which its servers replicate.
    pub clusters: &'static [ClusterTraits],
    /// Why a study cannot change the setting of this name; `None` if it can.
    pub reserved_setting: fn(&str) -> Option<&'static str>,
}

/// A kind of replication of an engine.
#[derive(Debug, Clone, Copy)]
pub struct ClusterTraits {
    pub name: &'static str,
    /// Whether the members elect a new primary by themselves.
    pub elects: bool,
    /// Whether a cluster manager runs beside each server.
    pub has_manager: bool,
    /// Whether they choose it through a service that they share.
    pub has_coordinator: bool,
    /// How many members must be connected for a commit to be accepted.
    pub quorum: Quorum,
    /// How it detects failures and acknowledges commits, and the settings of its durability and profile.
    pub conduct: Conduct,
}

impl ClusterTraits {
    /// A kind whose servers dyno starts and promotes.
    pub const fn new(name: &'static str, quorum: Quorum, conduct: Conduct) -> Self {
        Self {
            name,
            elects: false,
            has_manager: false,
            has_coordinator: false,
            quorum,
            conduct,
        }
    }
}

impl EngineTraits {
    pub fn names(engines: &[Self]) -> Vec<&'static str> {
        engines.iter().map(|engine| engine.name).collect()
    }

    pub fn cluster_names(&self) -> Vec<&'static str> {
        self.clusters.iter().map(|kind| kind.name).collect()
    }
}

/// Settings and their values.
pub type StaticSettings = &'static [(&'static str, &'static str)];

/// How a kind of cluster notices a failure and acknowledges a commit.
#[derive(Debug, Clone, Copy)]
pub struct Conduct {
    /// Which members notice that the primary is lost; `None` if none do.
    pub detector: fn(&Configured<'_>) -> Option<Detector>,
    /// Where a commit is when it is acknowledged.
    pub acknowledged: fn(&Configured<'_>) -> String,
    /// Settings that make commits as durable as those of the other kinds.
    pub durable: StaticSettings,
    /// Settings that its documentation recommends for production, except those that depend on the host.
    pub tuned: StaticSettings,
}

/// The detector of the loss of the primary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detector {
    pub text: String,
    pub within: Duration,
}

/// How the servers of a cluster are configured.
#[derive(Debug, Clone, Copy)]
pub struct Configured<'a> {
    /// Settings that differ from the servers' defaults.
    pub settings: &'a [(String, Spanned<String>)],
    pub members: u32,
    /// How long a cluster manager waits for a primary that does not answer.
    pub ttl: Duration,
}

impl Configured<'_> {
    /// The value of a setting in lowercase, or `default` if it is not set.
    pub fn value(&self, name: &str, default: &str) -> String {
        let mut settings = self.settings.iter();
        let found = settings.find(|(known, _)| is_same_setting(known, name));
        found.map_or(default.to_owned(), |(_, value)| value.to_ascii_lowercase())
    }
}

/// Whether servers read two names as the same setting.
pub fn is_same_setting(one: &str, other: &str) -> bool {
    let plain = |name: &str| {
        let name = name.to_ascii_lowercase().replace('-', "_");
        name.strip_prefix("loose_")
            .map_or(name.clone(), str::to_owned)
    };
    plain(one) == plain(other)
}
