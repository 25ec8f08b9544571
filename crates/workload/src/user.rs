//! A virtual user: sends the statements of one transaction after the other.

mod bulk;
mod points;
mod shared;

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::digits::Digits;
use crate::distribution::DistributionError;
use crate::kind::Kind;
use crate::name::WorkloadName;
use crate::random;
use crate::session::{Param, Reply, Session, SessionError};
use crate::step::Action;

use bulk::Bulk;
use points::Points;
pub use shared::Shared;

/// What a transaction found.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Statements that look for one row by its id.
    pub lookups: u32,
    /// Those of them that found none.
    pub misses: u32,
}

impl Done {
    fn add(&mut self, found: u64) {
        self.lookups += 1;
        self.misses += u32::from(found == 0);
    }
}

/// One virtual user. Small, for there may be thousands: what they have in
/// common is in [`Shared`], what only some workloads need is in a box.
#[derive(Debug)]
pub struct User {
    shared: Arc<Shared>,
    rng: Xoshiro256PlusPlus,
    /// The id of the next row it inserts, where the server does not number them.
    next_id: u64,
    digits: Digits,
    points: Option<Box<Points>>,
    bulk: Option<Box<Bulk>>,
}

impl User {
    /// Virtual user number `index`, counted from 0. The same seed and number
    /// give the same statements.
    pub fn new(shared: &Arc<Shared>, index: u32) -> Result<User, DistributionError> {
        let points = match shared.workload {
            WorkloadName::SelectRandomPoints | WorkloadName::SelectRandomRanges => {
                Some(Box::new(Points::new(shared, index)?))
            }
            _ => None,
        };
        let bulk = match shared.workload {
            WorkloadName::BulkInsert => Some(Box::new(Bulk::new(index + 1))),
            _ => None,
        };
        Ok(User {
            shared: Arc::clone(shared),
            rng: random::user(shared.seed, index),
            next_id: shared.options.rows + 1 + u64::from(index),
            digits: Digits::new(),
            points,
            bulk,
        })
    }

    /// How many of the last transactions wait here to be sent with later ones, by
    /// [`User::transaction`] or [`User::finish`]: the rows of a bulk insert. After a failure
    /// those that are not counted any more were not kept, and will not be sent.
    #[must_use]
    #[inline]
    pub fn unsent(&self) -> usize {
        self.bulk.as_ref().map_or(0, |bulk| bulk.unsent())
    }

    /// Runs one transaction. After a failure the caller rolls back; the next
    /// call draws new values.
    pub async fn transaction<S: Session>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        let mut done = Done::default();
        let mut next = 0;
        while let Some(&step) = self.shared.steps.get(next) {
            let table = self.table(step.action);
            for _ in 0..step.times {
                self.act(step.action, table, session, &mut done).await?;
            }
            next += 1;
        }
        Ok(done)
    }

    /// Sends what is still pending after the last transaction (bulk inserts).
    pub async fn finish<S: Session>(&mut self, session: &mut S) -> Result<(), SessionError> {
        match &mut self.bulk {
            Some(bulk) => bulk.flush(session).await,
            None => Ok(()),
        }
    }

    /// The table that a step works on.
    fn table(&mut self, action: Action) -> u32 {
        match action {
            Action::Begin
            | Action::Commit
            | Action::RandomPoints
            | Action::RandomRanges
            | Action::BulkRow => 1,
            _ => 1 + random::below(&mut self.rng, u64::from(self.shared.options.tables)) as u32,
        }
    }

    /// Does one repeat of a step.
    async fn act<S: Session>(
        &mut self,
        action: Action,
        table: u32,
        session: &mut S,
        done: &mut Done,
    ) -> Result<(), SessionError> {
        match action {
            Action::Begin => self.plain(Kind::Begin, session).await,
            Action::Commit => self.plain(Kind::Commit, session).await,
            Action::PointSelect => {
                let reply = self.by_id(Kind::PointSelect, table, session).await?;
                done.add(reply.rows);
                Ok(())
            }
            Action::SimpleRange => self.range(Kind::SimpleRange, table, session).await,
            Action::SumRange => self.range(Kind::SumRange, table, session).await,
            Action::OrderRange => self.range(Kind::OrderRange, table, session).await,
            Action::DistinctRange => self.range(Kind::DistinctRange, table, session).await,
            Action::IndexUpdate => {
                let reply = self.by_id(Kind::IndexUpdate, table, session).await?;
                done.add(reply.affected);
                Ok(())
            }
            Action::NonIndexUpdate => self.non_index_update(table, session, done).await,
            Action::DeleteInsert => self.delete_insert(table, session, done).await,
            Action::Delete => {
                let reply = self.by_id(Kind::Delete, table, session).await?;
                done.add(reply.affected);
                Ok(())
            }
            Action::Insert => {
                let id = self.new_id();
                let k = self.key();
                self.insert(table, id, k, session).await
            }
            Action::RandomPoints | Action::RandomRanges => self.random_points(session).await,
            Action::BulkRow => match &mut self.bulk {
                Some(bulk) => bulk.add(session).await,
                None => Ok(()),
            },
        }
    }

    async fn plain<S: Session>(&self, kind: Kind, session: &mut S) -> Result<(), SessionError> {
        session.execute(self.number(kind, 1), &[]).await?;
        Ok(())
    }

    async fn by_id<S: Session>(
        &mut self,
        kind: Kind,
        table: u32,
        session: &mut S,
    ) -> Result<Reply, SessionError> {
        let id = self.key();
        session
            .execute(self.number(kind, table), &[Param::Int(id)])
            .await
    }

    async fn range<S: Session>(
        &mut self,
        kind: Kind,
        table: u32,
        session: &mut S,
    ) -> Result<(), SessionError> {
        let first = self.key();
        let last = first + self.shared.options.range_size as i64 - 1;
        let params = [Param::Int(first), Param::Int(last)];
        session.execute(self.number(kind, table), &params).await?;
        Ok(())
    }

    async fn non_index_update<S: Session>(
        &mut self,
        table: u32,
        session: &mut S,
        done: &mut Done,
    ) -> Result<(), SessionError> {
        self.digits.fill_c(&mut self.rng);
        let id = self.key();
        let params = [Param::Text(self.digits.c()), Param::Int(id)];
        let number = self.number(Kind::NonIndexUpdate, table);
        let reply = session.execute(number, &params).await?;
        done.add(reply.affected);
        Ok(())
    }

    async fn delete_insert<S: Session>(
        &mut self,
        table: u32,
        session: &mut S,
        done: &mut Done,
    ) -> Result<(), SessionError> {
        let id = self.key();
        let k = self.key();
        let number = self.number(Kind::Delete, table);
        let reply = session.execute(number, &[Param::Int(id)]).await?;
        done.add(reply.affected);
        self.insert(table, id, k, session).await
    }

    async fn insert<S: Session>(
        &mut self,
        table: u32,
        id: i64,
        k: i64,
        session: &mut S,
    ) -> Result<(), SessionError> {
        self.digits.fill_both(&mut self.rng);
        let params = [
            Param::Int(id),
            Param::Int(k),
            Param::Text(self.digits.c()),
            Param::Text(self.digits.pad()),
        ];
        session
            .execute(self.number(Kind::Insert, table), &params)
            .await?;
        Ok(())
    }

    async fn random_points<S: Session>(&mut self, session: &mut S) -> Result<(), SessionError> {
        if let Some(points) = &mut self.points {
            let params = points.draw(&mut self.rng);
            // The only statement of its catalog.
            session.execute(0, params).await?;
        }
        Ok(())
    }

    /// The id of a new row: 0 asks the server for one. The users take turns, so
    /// that no two give the same.
    fn new_id(&mut self) -> i64 {
        if self.shared.options.auto_inc {
            return 0;
        }
        let id = self.next_id;
        self.next_id += u64::from(self.shared.users);
        id as i64
    }

    fn key(&mut self) -> i64 {
        self.shared.keys.sample(&mut self.rng) as i64
    }

    fn number(&self, kind: Kind, table: u32) -> u32 {
        self.shared.layout.number(kind, table)
    }
}
