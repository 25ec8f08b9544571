//! What a study must know of the engines that it can start.

use crate::{Conduct, Quorum, alternatives};

/// An engine that a study can start.
#[derive(Debug, Clone, Copy)]
pub struct EngineTraits {
    pub name: &'static str,
    /// The schemes of its databases' URLs.
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
    /// Names of the engines for which `is` holds.
    pub fn names(engines: &[Self], is: impl Fn(&Self) -> bool) -> Vec<&'static str> {
        let these = engines.iter().filter(|engine| is(engine));
        these.map(|engine| engine.name).collect()
    }

    pub fn cluster_names(&self) -> Vec<&'static str> {
        self.clusters.iter().map(|kind| kind.name).collect()
    }

    /// The same as TOML has them: `"a" or "b"`.
    pub fn quoted(engines: &[Self], is: impl Fn(&Self) -> bool) -> String {
        alternatives(&Self::names(engines, is)).replace('`', "")
    }
}
