//! How a kind of cluster notices a failure and acknowledges a commit, which a ranking must tell.

use std::time::Duration;

use crate::Spanned;

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
