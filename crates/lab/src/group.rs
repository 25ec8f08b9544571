//! A group of servers with a primary, whether dyno started them or not.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use client::route::Route;
use engine::replication::Replication;
use plan::Follow;

use crate::Database;
use crate::instance::Endpoint;

/// A cluster that dyno did not start: the servers that a URL names.
#[derive(Debug)]
pub(crate) struct RunningCluster {
    /// In the URL's order; at least two.
    pub(crate) members: Vec<Endpoint>,
    primary: AtomicUsize,
    /// Whether several members were primaries when they were first asked.
    has_many_primaries: AtomicBool,
}

impl RunningCluster {
    /// `None` if the database has a single server.
    pub(crate) fn of(database: &Database) -> Option<Self> {
        let members = database.server()?.members().into_iter();
        let members: Vec<_> = members.map(Endpoint::of).collect();
        (!members.is_empty()).then(|| Self {
            members,
            primary: AtomicUsize::new(0),
            has_many_primaries: AtomicBool::new(false),
        })
    }

    pub(crate) fn primary(&self) -> Option<&Endpoint> {
        self.members.get(self.primary.load(Ordering::Relaxed))
    }

    pub(crate) fn as_group(&self) -> Group<'_> {
        let members = self.members.iter().map(|member| &member.database);
        Group {
            members: (1..).zip(members).collect(),
            primary: &self.primary,
            replication: None,
            has_many_primaries: Some(&self.has_many_primaries),
        }
    }
}

/// Servers, one of which is the primary.
#[derive(Debug, Clone)]
pub(crate) struct Group<'a> {
    /// The members' numbers among the servers of the trial, and their databases.
    pub(crate) members: Vec<(u32, &'a Database)>,
    /// The index of the primary, as far as dyno knows.
    pub(crate) primary: &'a AtomicUsize,
    /// `None` if dyno did not start the members.
    pub(crate) replication: Option<&'static dyn Replication>,
    /// `None` if dyno started the members.
    pub(crate) has_many_primaries: Option<&'a AtomicBool>,
}

impl Group<'_> {
    pub(crate) fn primary_index(&self) -> usize {
        self.primary.load(Ordering::Relaxed)
    }

    /// Number and database.
    pub(crate) fn primary(&self) -> Option<(u32, &Database)> {
        self.members.get(self.primary_index()).copied()
    }

    /// Whether the members elect a primary themselves. dyno never promotes servers that it did not
    /// start, so they count as electing.
    pub(crate) fn elects(&self) -> bool {
        self.replication.is_none_or(<dyn Replication>::elects)
    }

    /// Whether every member accepts writes.
    pub(crate) fn has_many_primaries(&self) -> bool {
        match (self.replication, self.has_many_primaries) {
            (Some(replication), _) => replication.has_many_primaries(),
            (None, many) => many.is_some_and(|many| many.load(Ordering::Relaxed)),
        }
    }

    /// The route of a load before anything has happened to the members.
    pub(crate) fn route(&self, follow: Follow) -> Route {
        let (count, primary) = (self.members.len(), self.primary_index());
        match follow {
            Follow::Primary => Route::new(count, |index| index == primary, true),
            Follow::Any => Route::new(count, |_| true, false),
            Follow::Hosts => Route::list(count, primary),
            Follow::Fixed => Route::new(count, |index| index == 0, false),
        }
    }
}
