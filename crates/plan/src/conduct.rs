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
    /// What makes commits as durable as in the other kinds.
    pub durable: StaticSettings,
    /// What its documentation recommends for production, as far as it does not depend on the host.
    pub tuned: StaticSettings,
}

/// Who notices that the primary is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detector {
    /// Who it is, with the timeouts.
    pub text: String,
    /// After how long at the latest.
    pub within: Duration,
}

/// How the servers of a cluster are configured.
#[derive(Debug, Clone, Copy)]
pub struct Configured<'a> {
    /// Settings that differ from the servers' defaults.
    pub settings: &'a [(String, Spanned<String>)],
    /// How many members there are.
    pub members: u32,
    /// How long a cluster manager waits for a primary that does not answer.
    pub ttl: Duration,
}

impl Configured<'_> {
    /// The value of a setting, in lowercase, whose default is `default`.
    pub fn value(&self, name: &str, default: &str) -> String {
        let mut settings = self.settings.iter();
        let found = settings.find(|(known, _)| is_same_setting(known, name));
        found.map_or(default.to_owned(), |(_, value)| value.to_ascii_lowercase())
    }
}

/// Whether two names are of one setting, as servers read them.
pub fn is_same_setting(one: &str, other: &str) -> bool {
    let plain = |name: &str| {
        let name = name.to_ascii_lowercase().replace('-', "_");
        name.strip_prefix("loose_")
            .map_or(name.clone(), str::to_owned)
    };
    plain(one) == plain(other)
}
