//! A server's own counters, before and after.

use std::collections::BTreeMap;

use testkit::Server;

/// The counters of `SHOW GLOBAL STATUS` at one moment.
#[derive(Debug, Clone)]
pub struct Status(BTreeMap<String, i64>);

/// What two moments differ in.
#[derive(Debug, Clone)]
pub struct Delta(BTreeMap<String, i64>);

impl Status {
    /// Now.
    pub fn of(server: &Server) -> Self {
        let rows = server.sql("SHOW GLOBAL STATUS");
        let number = |row: &Vec<String>| Some((row[0].to_lowercase(), row.get(1)?.parse().ok()?));
        Self(rows.iter().filter_map(number).collect())
    }

    /// What has happened since, without what the look itself costs.
    pub fn until_now(&self, server: &Server) -> Delta {
        let after = Self::of(server);
        let again = Self::of(server);
        let value = |status: &Self, name: &str| status.0.get(name).copied().unwrap_or(0);
        let delta = after.0.iter().map(|(name, now)| {
            let look = value(&again, name) - now;
            (name.clone(), now - value(self, name) - look)
        });
        Delta(delta.collect())
    }
}

impl Delta {
    /// One counter.
    #[track_caller]
    pub fn get(&self, name: &str) -> i64 {
        let value = self.0.get(&name.to_lowercase());
        *value.unwrap_or_else(|| panic!("the server has no counter {name}"))
    }

    /// All counters that begin with one of `prefixes`, if they are not 0.
    pub fn starting(&self, prefixes: &[&str]) -> BTreeMap<String, i64> {
        let wanted = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let kept = self
            .0
            .iter()
            .filter(|(name, count)| **count != 0 && wanted(name));
        kept.map(|(name, count)| (name.clone(), *count)).collect()
    }
}
