//! A virtual user that runs the steps of its transaction.

use std::sync::Arc;

use rand_distr::Distribution;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::points::Points;
use super::statement::{Params, RowId};
use super::{NumberedStatement, Shared};
use crate::digits::Digits;
use crate::distribution::DistributionError;
use crate::random;
use crate::session::{Connections, Param, Reply, Session, SessionError};
use crate::virtual_user::{Done, VirtualUser};

/// A virtual user of an OLTP workload. What users have in common is shared, and what
/// few of them need is in a box.
#[derive(Debug)]
pub struct OltpUser {
    shared: Arc<Shared>,
    state: State,
}

#[derive(Debug)]
struct State {
    rng: Xoshiro256PlusPlus,
    key: i64,
    /// The id of the next row that it inserts, where the server gives none.
    next_id: u64,
    digits: Digits,
    points: Option<Box<Points>>,
    /// The kind of a transaction that has not succeeded yet, if there are several.
    drawn: Option<u32>,
}

impl OltpUser {
    pub(crate) fn new(shared: &Arc<Shared>, index: u32) -> Result<OltpUser, DistributionError> {
        let state = State {
            rng: random::user(shared.seed, index),
            key: 0,
            next_id: shared.options.data.rows + 1 + u64::from(index),
            digits: Digits::new(),
            points: Points::of(shared, index)?,
            drawn: None,
        };
        Ok(OltpUser {
            shared: Arc::clone(shared),
            state,
        })
    }
}

impl VirtualUser for OltpUser {
    async fn transaction<S: Connections>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        let OltpUser { shared, state } = self;
        let kind = state.kind(shared);
        let mut done = Done {
            kind,
            ..Done::default()
        };
        for step in &shared.kinds[kind as usize] {
            // Counted from 0.
            let table = match step.draws_table {
                true => random::below(&mut state.rng, shared.options.data.tables.into()) as u32,
                false => 0,
            };
            for _ in 0..step.times {
                for statement in &step.statements {
                    let reply = state.send(shared, statement, table, session).await?;
                    if statement.is_lookup {
                        done.lookups += 1;
                        done.misses += u32::from(reply.rows == 0 && reply.affected == 0);
                    }
                }
            }
        }
        state.drawn = None;
        Ok(done)
    }
}

impl State {
    /// The kind of the next transaction: of one that failed, the same.
    #[inline]
    fn kind(&mut self, shared: &Shared) -> u32 {
        match &shared.weights {
            None => 0,
            Some(weights) => *self
                .drawn
                .get_or_insert_with(|| weights.sample(&mut self.rng) as u32),
        }
    }

    #[inline]
    async fn send<S: Session>(
        &mut self,
        shared: &Shared,
        statement: &NumberedStatement,
        table: u32,
        session: &mut S,
    ) -> Result<Reply, SessionError> {
        let (one, two, row);
        let params: &[Param<'_>] = match statement.params {
            Params::None => &[],
            Params::Key => {
                one = [Param::Int(self.draw_key(shared))];
                &one
            }
            Params::Range => {
                let first = self.draw_key(shared);
                let last = first + shared.options.transaction.range_size as i64 - 1;
                two = [Param::Int(first), Param::Int(last)];
                &two
            }
            Params::ValueAndKey => {
                self.digits.fill_c(&mut self.rng);
                let key = self.draw_key(shared);
                two = [Param::Text(self.digits.c_bytes()), Param::Int(key)];
                &two
            }
            Params::Row(id) => {
                let first = usize::from(id == RowId::Server);
                row = self.draw_row(shared, id);
                &row[first..]
            }
            Params::Points | Params::Ranges => match &mut self.points {
                Some(points) => {
                    points.draw(&mut self.rng, statement.params.points(&shared.options))
                }
                None => &[],
            },
        };
        session.execute(statement.first + table, params).await
    }

    #[inline]
    fn draw_key(&mut self, shared: &Shared) -> i64 {
        self.key = shared.keys.sample(&mut self.rng) as i64;
        self.key
    }

    #[inline]
    fn draw_row(&mut self, shared: &Shared, id: RowId) -> [Param<'_>; 4] {
        let id = match id {
            RowId::LastKey => self.key,
            RowId::Own => self.new_id(shared.users),
            RowId::Server => 0,
        };
        let k = self.draw_key(shared);
        self.digits.fill_both(&mut self.rng);
        [
            Param::Int(id),
            Param::Int(k),
            Param::Text(self.digits.c_bytes()),
            Param::Text(self.digits.pad_bytes()),
        ]
    }

    /// The users take turns, so that no two give the same id.
    fn new_id(&mut self, users: u32) -> i64 {
        let id = self.next_id;
        self.next_id += u64::from(users);
        id as i64
    }
}
