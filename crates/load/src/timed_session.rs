//! A virtual user's connections, which record how long each statement takes.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use workload::catalog::Label;
use workload::program;
use workload::session::{Connect, Connections, Param, Reply, Rows, Session, SessionError};

use crate::clock::{Clock, ns};
use crate::worker::Worker;

#[derive(Debug)]
pub(crate) struct TimedSession<C: Connect, K> {
    /// The selected connection, if it is open.
    session: Option<C::Session>,
    worker: Rc<Worker<C, K>>,
    /// When the last reply was read, unless the user has waited for something else since. It is
    /// also the start of the next statement, which saves a reading of the clock.
    read_ns: Option<u64>,
    /// When the last reply of the current transaction arrived; `None` if the user has waited for
    /// something else since.
    arrived_ns: Option<u64>,
    /// `None` for a user with one connection that prepares nothing.
    script: Option<Box<ScriptState<C::Session>>>,
}

/// What only scripts need.
#[derive(Debug)]
struct ScriptState<S> {
    selected: usize,
    /// The connections by number, without the selected one.
    others: Vec<Option<S>>,
    /// In the order of their IDs, of which none is used twice: a statement of a connection that was
    /// closed is never taken for another.
    prepared: Vec<Prepared>,
    next_id: u32,
}

/// A statement that a script has prepared. It is prepared again on a new connection.
#[derive(Debug)]
struct Prepared {
    /// Its number for the script, behind those of the catalog.
    id: u32,
    connection: usize,
    sql: Arc<str>,
    /// Its number on the connection.
    number: u32,
}

impl<S> Default for ScriptState<S> {
    fn default() -> Self {
        Self {
            selected: 0,
            others: vec![None],
            prepared: Vec::new(),
            next_id: 0,
        }
    }
}

impl<S> ScriptState<S> {
    /// The place of a statement of the selected connection.
    #[inline]
    fn place(&self, id: u32) -> Option<usize> {
        let place = self.prepared.binary_search_by_key(&id, |one| one.id).ok()?;
        (self.prepared[place].connection == self.selected).then_some(place)
    }
}

/// Whether a kernel's timestamp lies between the sending of the statement and the reading of its
/// reply. Otherwise, a clock was set, and the reply counts from when it was read.
#[inline]
fn is_plausible(stamp_ns: u64, sent_ns: u64, read_ns: u64) -> bool {
    (sent_ns..=read_ns).contains(&stamp_ns)
}

impl<C: Connect, K: Clock> TimedSession<C, K> {
    /// Without an open connection.
    pub(crate) fn new(worker: &Rc<Worker<C, K>>) -> Self {
        Self {
            session: None,
            worker: Rc::clone(worker),
            read_ns: None,
            arrived_ns: None,
            script: None,
        }
    }

    /// Replaces the selected connection by a new one.
    pub(crate) async fn reopen(&mut self) -> Result<(), SessionError> {
        let mut session = self.worker.connect().await?;
        if let Some(script) = &mut self.script {
            let selected = script.selected;
            let prepared = script.prepared.iter_mut();
            for prepared in prepared.filter(|one| one.connection == selected) {
                prepared.number = session.prepare(&prepared.sql).await?;
            }
        }
        self.waited();
        self.session = Some(session);
        Ok(())
    }

    /// The current time; directly after a reply, the time at which the reply was read.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.read_ns.unwrap_or_else(|| self.worker.clock.now_ns())
    }

    /// The end of a transaction: the arrival of its last reply, or the current time without one.
    #[inline]
    pub(crate) fn end_ns(&mut self) -> u64 {
        self.arrived_ns.take().unwrap_or_else(|| {
            self.waited();
            self.now_ns()
        })
    }

    /// Must be called when the user has waited for something other than a reply.
    #[inline]
    pub(crate) fn waited(&mut self) {
        self.read_ns = None;
        self.arrived_ns = None;
    }

    /// The start of a statement that is sent now.
    #[inline]
    fn sent_ns(&mut self) -> u64 {
        let now_ns = self.now_ns();
        self.waited();
        now_ns
    }

    /// Records a statement: without a label, under that of its outcome.
    #[inline]
    fn replied(&mut self, label: Option<Label>, sent_ns: u64, reply: &Result<Reply, SessionError>) {
        let clock = &self.worker.clock;
        let read_ns = clock.now_ns();
        let session = self.session.as_ref();
        let monotonic_ns = session.and_then(Session::reply_arrived_ns);
        let stamp_ns = monotonic_ns.map(|at_ns| clock.convert_ns(at_ns));
        let accepted_ns = stamp_ns.filter(|stamp_ns| is_plausible(*stamp_ns, sent_ns, read_ns));
        let arrived_ns = accepted_ns.unwrap_or(read_ns);
        self.read_ns = Some(read_ns);
        self.arrived_ns = Some(arrived_ns);
        let recorder = &self.worker.recorder;
        if let Ok(reply) = reply {
            let label = label.unwrap_or_else(|| program::label(reply));
            let delay_ns = accepted_ns.map(|stamp_ns| read_ns - stamp_ns);
            recorder.statement(label, arrived_ns - sent_ns, delay_ns);
        }
        if stamp_ns != accepted_ns {
            recorder.refused_stamp();
        }
    }

    /// The number for a connection to open: that of a closed one, or else a new one.
    fn vacant(&mut self) -> u32 {
        if self.session.is_none() {
            return self.script.as_ref().map_or(0, |script| script.selected) as u32;
        }
        let script = self.script.get_or_insert_default();
        let (selected, next) = (script.selected, script.others.len());
        let mut others = script.others.iter().enumerate();
        let closed = others.position(|(number, other)| number != selected && other.is_none());
        if closed.is_none() {
            script.others.push(None);
        }
        closed.unwrap_or(next) as u32
    }

    /// The number of a statement on its connection, and its label, which one that the script has
    /// prepared lacks.
    #[inline]
    fn statement(&self, statement: u32) -> Option<(u32, Option<Label>)> {
        let catalog = &self.worker.catalog.statements;
        if let Some(known) = catalog.get(statement as usize) {
            return Some((statement, Some(known.label)));
        }
        let script = self.script.as_ref()?;
        let prepared = &script.prepared[script.place(statement)?];
        Some((prepared.number, None))
    }
}

impl<C: Connect, K: Clock> Session for TimedSession<C, K> {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        let (number, label) = self.statement(statement).ok_or_else(not_prepared)?;
        let sent_ns = self.sent_ns();
        let session = self.session.as_mut().ok_or_else(not_connected)?;
        let reply = session.execute(number, params).await;
        self.replied(label, sent_ns, &reply);
        reply
    }

    async fn query(&mut self, label: Label, sql: &str) -> Result<Reply, SessionError> {
        let sent_ns = self.sent_ns();
        let session = self.session.as_mut().ok_or_else(not_connected)?;
        let reply = session.query(label, sql).await;
        self.replied(Some(label), sent_ns, &reply);
        reply
    }

    async fn prepare(&mut self, sql: &Arc<str>) -> Result<u32, SessionError> {
        self.waited();
        let session = self.session.as_mut().ok_or_else(not_connected)?;
        let sql = self.worker.texts.borrow_mut().share(sql);
        let number = session.prepare(&sql).await?;
        let script = self.script.get_or_insert_default();
        let id = self.worker.catalog.statements.len() as u32 + script.next_id;
        script.next_id += 1;
        script.prepared.push(Prepared {
            id,
            connection: script.selected,
            sql,
            number,
        });
        Ok(id)
    }

    async fn free(&mut self, statement: u32) {
        self.waited();
        if let (Some(script), Some(session)) = (&mut self.script, &mut self.session)
            && let Some(place) = script.place(statement)
        {
            let freed = script.prepared.remove(place);
            session.free(freed.number).await;
        }
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        self.waited();
        match &mut self.session {
            Some(session) => session.rollback().await,
            None => Ok(()),
        }
    }

    async fn close(self) {
        let others = self.script.map_or_else(Vec::new, |script| script.others);
        for session in self.session.into_iter().chain(others.into_iter().flatten()) {
            session.close().await;
        }
    }
}

impl<C: Connect, K: Clock> Connections for TimedSession<C, K> {
    async fn open(&mut self) -> Result<u32, SessionError> {
        self.waited();
        self.worker.wait_for_route().await;
        let _permit = self.worker.connecting.acquire().await;
        let session = self.worker.connect().await?;
        let number = self.vacant();
        self.select(number);
        self.session = Some(session);
        Ok(number)
    }

    fn select(&mut self, connection: u32) {
        let Some(script) = &mut self.script else {
            return;
        };
        let (from, to) = (script.selected, connection as usize);
        if from == to || to >= script.others.len() {
            return;
        }
        script.others[from] = self.session.take();
        self.session = script.others[to].take();
        script.selected = to;
    }

    async fn shut(&mut self) {
        self.waited();
        if let Some(script) = &mut self.script {
            let closed = script.selected;
            script.prepared.retain(|one| one.connection != closed);
        }
        if let Some(session) = self.session.take() {
            session.close().await;
        }
    }

    async fn run(&mut self, sql: &str, rows: Option<&mut Rows>) -> Result<Reply, SessionError> {
        let sent_ns = self.sent_ns();
        let session = self.session.as_mut().ok_or_else(not_connected)?;
        let reply = match rows {
            Some(rows) => session.fetch(sql, rows).await,
            None => session.query(Label::default(), sql).await,
        };
        self.replied(None, sent_ns, &reply);
        reply
    }

    async fn pause(&mut self, length: Duration) {
        self.waited();
        self.worker.sleep(ns(length)).await;
    }

    fn caught(&mut self, error: &SessionError) {
        self.worker.error(error, "caught by the script");
    }
}

fn not_connected() -> SessionError {
    SessionError::of_script("the connection is not open".to_owned())
}

fn not_prepared() -> SessionError {
    SessionError::of_script("the statement is not prepared".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_counts_only_between_sending_and_reading() {
        let (sent_ns, read_ns) = (1_000, 2_000);
        for stamp_ns in [1_000, 1_500, 2_000] {
            assert!(is_plausible(stamp_ns, sent_ns, read_ns), "{stamp_ns}");
        }
        for stamp_ns in [0, 999, 2_001, u64::MAX] {
            assert!(!is_plausible(stamp_ns, sent_ns, read_ns), "{stamp_ns}");
        }
    }
}
