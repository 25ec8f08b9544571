//! Loads tables over the network: several connections share a queue of table parts.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use client::connection::LOGIN_LIMIT;
use client::reactor::{Reactor, sleep_until, timeout, unless};
use client::{Connection, Error, Protocol};
use plan::Failure;
use workload::rows::Checksum;
use workload::schema::{TableSpec, drop_table, table_name};

use super::loads::{Loads, Session};
use super::lock;
use super::parts::{PART_ROWS, Part, Queue};
use super::state::{
    self, CREATE_MARKER, READ_CHECKSUMS, State, Todo, checksum_in, mark, mark_ready,
};
use super::{Listener, Prepared, Progress, Wanted};
use crate::data::canceled;
use crate::remote::{on_connection, on_reactor, unless_hung};

/// How often progress is reported.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// How often a connection that has nothing left to load checks whether the others have, either.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long running statements may take to end once the load is over or interrupted.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) fn prepare<P: Loads>(
    target: &P::Target,
    wanted: &Wanted<'_>,
    listener: Listener<'_>,
) -> Result<Prepared, Failure> {
    let reactor = Reactor::new().map_err(no_resources)?;
    let guard = Guard::<P> {
        reactor: &reactor,
        target,
        interrupted: listener.interrupted,
        stall_limit: wanted.stall_limit,
    };
    let spec = wanted.workload.table_spec(wanted.options, wanted.seed);
    let mut first = guard.run(opened::<P>(target))?;
    guard.run(lock::take(&mut first, lock::WAIT_LIMIT, listener.tell))?;
    let ask = &mut |sql: &str| guard.run(first.rows(sql));
    let (dialect, columns) = (P::DIALECT, P::LIST_COLUMNS);
    let todo = state::plan(wanted, &spec, dialect, columns, ask, listener.tell)?;
    if todo.missing.is_empty() && todo.unsettled.is_empty() {
        reactor.block_on(first.close()).map_err(no_resources)?;
        return Ok(todo.prepared);
    }
    guard.run(first.run(CREATE_MARKER))?;
    let loading = Rc::new(Loading::new(spec, &todo));
    let connections = wanted.connections.clamp(1, loading.parts(&todo));
    for _ in 0..connections {
        let opened = guard.run(opened::<P>(target))?;
        let loading = Rc::clone(&loading);
        reactor.spawn(async move { loading.work(opened).await });
    }
    let watched = loading.watch(&todo.prepared, listener);
    let watched = unless_hung::<P, _>(target, wanted.stall_limit, || loading.steps(), watched);
    let watched = reactor.block_on(watched).map_err(no_resources)?;
    loading.stop.set(true);
    reactor
        .block_on(loading.end::<P>(&reactor, target))
        .map_err(no_resources)?;
    watched?;
    // It held the lock until now.
    reactor.block_on(first.close()).map_err(no_resources)?;
    if let Some(error) = loading.failure.take() {
        return Err(error);
    }
    if !loading.is_done() {
        return Err(canceled());
    }
    Ok(todo.prepared)
}

pub(crate) fn checksum<P: Protocol>(target: &P::Target) -> Result<Checksum, Failure> {
    let read = async |connection: &mut Connection<P>| connection.rows(READ_CHECKSUMS).await;
    let read = on_connection(target, LOGIN_LIMIT, read);
    Ok(checksum_in(on_reactor(read)??))
}

fn no_resources(error: std::io::Error) -> Failure {
    Failure::internal(format!("cannot load: {error}"))
}

async fn opened<P: Loads>(target: &P::Target) -> Result<Connection<P>, Error> {
    let mut connection = Connection::open(target).await?;
    P::begin(&mut connection).await?;
    Ok(connection)
}

struct Guard<'a, P: Protocol> {
    reactor: &'a Reactor,
    target: &'a P::Target,
    interrupted: &'a AtomicBool,
    stall_limit: Duration,
}

impl<P: Protocol> Guard<'_, P> {
    /// Runs `work`, unless the user interrupts it or the server hangs.
    fn run<T, E>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
    where
        E: Into<Failure>,
    {
        let stopped = || self.interrupted.load(Ordering::Relaxed);
        let work = unless_hung::<P, _>(self.target, self.stall_limit, || 0, work);
        let done = self
            .reactor
            .block_on(unless(stopped, work))
            .map_err(no_resources)?;
        done.ok_or_else(canceled)??.map_err(E::into)
    }
}

/// What the connections of a load share.
struct Loading {
    spec: TableSpec,
    queue: RefCell<Queue>,
    refuses_load_data: Cell<bool>,
    rows: Cell<u64>,
    /// Number of tables to load and index.
    missing: u32,
    indexed: Cell<u32>,
    /// Numbers of the tables that are indexed but not settled.
    unsettled: RefCell<Vec<u32>>,
    /// Number of tables to load or settle that are not ready yet.
    unready: Cell<u32>,
    failure: RefCell<Option<Failure>>,
    stop: Cell<bool>,
    sessions: RefCell<Vec<Session>>,
}

impl Loading {
    fn new(spec: TableSpec, todo: &Todo) -> Self {
        Self {
            queue: RefCell::new(Queue::new(todo.missing.clone(), spec.rows)),
            spec,
            refuses_load_data: Cell::new(false),
            rows: Cell::new(0),
            missing: todo.prepared.loaded,
            indexed: Cell::new(0),
            unready: Cell::new(todo.prepared.loaded + todo.unsettled.len() as u32),
            unsettled: RefCell::new(todo.unsettled.clone()),
            failure: RefCell::default(),
            stop: Cell::new(false),
            sessions: RefCell::default(),
        }
    }

    /// Number of parts and of tables to settle: more connections would be idle.
    fn parts(&self, todo: &Todo) -> u32 {
        let parts = self.spec.rows.div_ceil(PART_ROWS).max(1);
        let parts = parts.saturating_mul(todo.missing.len() as u64);
        u32::try_from(parts.max(todo.unsettled.len() as u64)).unwrap_or(u32::MAX)
    }

    /// Reports progress until loading is done or the user interrupts it.
    async fn watch(&self, all: &Prepared, listener: Listener<'_>) {
        while !self.stop.get() && !self.is_done() {
            sleep_until(Instant::now() + REPORT_INTERVAL).await;
            (listener.tell)(self.progress(all));
            if listener.interrupted.load(Ordering::Relaxed) {
                self.stop.set(true);
            }
        }
    }

    /// Waits briefly for running statements. Others may take as long as building an index: they are
    /// abandoned, and the server is asked to terminate them.
    async fn end<P: Loads>(&self, reactor: &Reactor, target: &P::Target) {
        let all_ended = poll_fn(|_| match reactor.task_count() {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        });
        if timeout(GRACE, all_ended).await.is_none() {
            reactor.cancel_tasks();
            // A server that hangs does not answer.
            let _ = timeout(GRACE, self.terminate::<P>(target)).await;
        }
    }

    async fn terminate<P: Loads>(&self, target: &P::Target) -> Result<(), Error> {
        let sessions = self.sessions.take();
        let terminate =
            async |connection: &mut Connection<P>| P::terminate(connection, &sessions).await;
        on_connection(target, LOGIN_LIMIT, terminate).await
    }

    fn is_done(&self) -> bool {
        self.unready.get() == 0
    }

    /// A number that changes with all progress.
    fn steps(&self) -> u64 {
        let settled = u32::MAX - self.unready.get();
        self.rows.get() + u64::from(self.indexed.get()) + u64::from(settled)
    }

    fn progress(&self, all: &Prepared) -> Progress {
        if self.rows.get() < all.rows {
            return Progress::Loading {
                rows: self.rows.get(),
                of: all.rows,
            };
        }
        Progress::Indexing {
            tables: self.indexed.get(),
            of: all.loaded,
        }
    }

    /// The work of one connection: create tables, load parts, index tables, and settle them.
    async fn work<P: Loads>(&self, mut connection: Connection<P>) {
        let done = match self.load(&mut connection).await {
            Ok(()) => self.settle(&mut connection).await,
            failed => failed,
        };
        if let Err(error) = done {
            self.failure.borrow_mut().get_or_insert(error);
            self.stop.set(true);
        }
        connection.close().await;
    }

    async fn load<P: Loads>(&self, connection: &mut Connection<P>) -> Result<(), Failure> {
        let session = P::session(connection).await;
        self.sessions.borrow_mut().push(session);
        let mut own = None;
        while !self.stop.get() {
            // Prefers parts of its own table, then a new table, then parts of other tables.
            let part = own.and_then(|table| self.queue.borrow_mut().take_of(table));
            if let Some(part) = part {
                self.load_part(connection, &part).await?;
                continue;
            }
            let fresh = self.queue.borrow_mut().claim_table();
            if let Some(table) = fresh {
                self.create(connection, table).await?;
                self.queue.borrow_mut().open(table);
                own = Some(table);
                continue;
            }
            let part = self.queue.borrow_mut().take_any();
            match part {
                Some(part) => self.load_part(connection, &part).await?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    async fn create<P: Loads>(
        &self,
        connection: &mut Connection<P>,
        table: u32,
    ) -> Result<(), Failure> {
        let none = Checksum::default();
        let mark = mark(P::DIALECT, &self.spec, table, State::Loading, none);
        for sql in [mark, drop_table(table), self.spec.create(P::DIALECT, table)] {
            connection.run(&sql).await?;
        }
        if self.spec.rows > 0 {
            return Ok(());
        }
        self.finish(connection, table, none).await
    }

    async fn load_part<P: Loads>(
        &self,
        connection: &mut Connection<P>,
        part: &Part,
    ) -> Result<(), Failure> {
        let rows = self.spec.table_rows(part.table)?;
        let loaded = P::load_part(connection, &self.refuses_load_data, part, &rows, &self.rows);
        let checksum = loaded.await?;
        let whole = self.queue.borrow_mut().done(part, checksum);
        if let Some(checksum) = whole {
            self.finish(connection, part.table, checksum).await?;
        }
        Ok(())
    }

    /// Indexes the table and marks it as loaded.
    async fn finish<P: Loads>(
        &self,
        connection: &mut Connection<P>,
        table: u32,
        checksum: Checksum,
    ) -> Result<(), Failure> {
        for sql in self.spec.finish(P::DIALECT, table) {
            connection.run(&sql).await?;
        }
        let sql = mark(P::DIALECT, &self.spec, table, State::Loaded, checksum);
        connection.run(&sql).await?;
        self.unsettled.borrow_mut().push(table);
        self.indexed.set(self.indexed.get() + 1);
        Ok(())
    }

    /// Settles tables and marks them as ready, once none is being loaded any more: a snapshot of
    /// another connection would keep the server from settling the rows that are loaded after it.
    async fn settle<P: Loads>(&self, connection: &mut Connection<P>) -> Result<(), Failure> {
        while !self.stop.get() && self.indexed.get() < self.missing {
            sleep_until(Instant::now() + POLL_INTERVAL).await;
        }
        while !self.stop.get() {
            let Some(table) = self.unsettled.borrow_mut().pop() else {
                break;
            };
            P::settle(connection, &table_name(table)).await?;
            connection.run(&mark_ready(table)).await?;
            self.unready.set(self.unready.get() - 1);
        }
        Ok(())
    }
}
