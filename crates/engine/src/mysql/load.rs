//! Loading over the network: `LOAD DATA LOCAL` from memory where the server takes
//! it, else INSERTs of many rows.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use client::mysql::{Connection, Error, Target};
use client::reactor::{Reactor, sleep_until, timeout, unless};
use workload::rows::{Checksum, TableRows};
use workload::schema::{Dialect, TableSpec, drop_table, table_name};

use super::lock;
use super::sessions::{self, Session};
use crate::data::marker::{
    CREATE_MARKER, MARKER_TABLE, Mark, READ_CHECKSUMS, mark_loading, mark_ready,
};
use crate::data::parts::{PART_ROWS, Part, Queue};
use crate::data::state::{self, Found};
use crate::data::{Listener, PrepareError, Prepared, Progress, Wanted};
use crate::remote::unless_hung;

/// Bytes of a LOAD DATA packet, and of an INSERT: sysbench's size of a bulk insert.
const CHUNK_BYTES: usize = 512 * 1024;
/// How often progress is told.
const LOOK: Duration = Duration::from_millis(100);
/// How long what runs may take to end once the load is over or is to stop.
const GRACE: Duration = Duration::from_secs(2);

/// Has the tables of a load in the database.
///
/// # Errors
/// When the server cannot be reached, what is there does not fit, or loading fails;
/// a table that was being loaded is built anew next time.
pub fn prepare_mysql(
    target: &Target,
    wanted: &Wanted<'_>,
    listener: Listener<'_>,
) -> Result<Prepared, PrepareError> {
    let reactor = Reactor::new()?;
    let heed = Heed {
        reactor: &reactor,
        target,
        interrupted: listener.interrupted,
        stall_limit: wanted.stall_limit,
    };
    let spec = wanted.workload.table_spec(wanted.options, wanted.seed);
    let tables = wanted.workload.tables(wanted.options, wanted.users);
    let mut first = heed.run(Connection::open(target))?;
    heed.run(lock::take(&mut first, lock::WAIT_LIMIT, listener.tell))?;
    let found = heed.run(inspect(&mut first, tables, &spec))?;
    let todo = state::plan(&found, wanted, &spec, listener.tell)?;
    if todo.missing.is_empty() {
        reactor.block_on(first.close())?;
        return Ok(todo.prepared);
    }
    heed.run(first.run(CREATE_MARKER))?;
    let loading = Rc::new(Loading::new(spec, &todo.missing));
    let connections = wanted
        .connections
        .clamp(1, loading.parts(todo.missing.len()));
    for _ in 0..connections {
        let opened = heed.run(Connection::open(target))?;
        loading.spawn(&reactor, opened);
    }
    let watched = loading.watch(&todo.prepared, listener);
    let watched =
        unless_hung::<Connection, _>(target, wanted.stall_limit, || loading.steps(), watched);
    let watched = reactor.block_on(watched)?;
    loading.stop.set(true);
    reactor.block_on(loading.end(&reactor, target))?;
    watched?;
    // Until here it held the lock.
    reactor.block_on(first.close())?;
    if let Some(error) = loading.failure.take() {
        return Err(error);
    }
    if loading.indexed.get() < todo.prepared.loaded {
        return Err(PrepareError::Interrupted);
    }
    Ok(todo.prepared)
}

/// The count and checksum of all rows, as they were loaded and marked.
pub(super) async fn checksum(target: &Target) -> Result<Checksum, Error> {
    let mut connection = Connection::open(target).await?;
    let marks = connection.rows(READ_CHECKSUMS).await?;
    connection.close().await;
    let mut all = Checksum::default();
    for mark in marks {
        if let [Some(count), Some(xor)] = mark.as_slice() {
            all.merge(Checksum {
                count: count.parse().unwrap_or_default(),
                xor: xor.parse().unwrap_or_default(),
            });
        }
    }
    Ok(all)
}

/// What ends work before it is done.
struct Heed<'a> {
    reactor: &'a Reactor,
    target: &'a Target,
    interrupted: &'a AtomicBool,
    stall_limit: Duration,
}

impl Heed<'_> {
    /// Does some work, unless the user stops or the server hangs before it is done.
    fn run<T, E>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, PrepareError>
    where
        E: Into<PrepareError>,
    {
        let stopped = || self.interrupted.load(Ordering::Relaxed);
        let work = unless_hung::<Connection, _>(self.target, self.stall_limit, || 0, work);
        let done = self.reactor.block_on(unless(stopped, work))?;
        done.ok_or(PrepareError::Interrupted)??.map_err(E::into)
    }
}

/// Looks under the name of each table.
async fn inspect(
    connection: &mut Connection,
    tables: u32,
    spec: &TableSpec,
) -> Result<Vec<Found>, PrepareError> {
    let mut columns: HashMap<String, Vec<String>> = HashMap::new();
    let listing = "SELECT table_name, column_name FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND (table_name LIKE 'sbtest%' OR table_name = 'dyno_tables') \
         ORDER BY table_name, ordinal_position";
    for row in connection.rows(listing).await? {
        if let [Some(table), Some(column)] = row.as_slice() {
            columns
                .entry(table.clone())
                .or_default()
                .push(column.clone());
        }
    }
    let mut marks = HashMap::new();
    if columns.contains_key(MARKER_TABLE) {
        let sql = format!("SELECT name, state, spec FROM {MARKER_TABLE}");
        for row in connection.rows(&sql).await? {
            if let [Some(name), Some(state), Some(text)] = row.as_slice() {
                marks.insert(name.clone(), Mark::parse(state, text, spec));
            }
        }
    }
    let mut found = Vec::new();
    for table in 1..=tables {
        let name = table_name(table);
        let Some(columns) = columns.remove(&name) else {
            found.push(Found::Nothing);
            continue;
        };
        let highest_id = if columns.iter().any(|column| column == "id") {
            highest_id(connection, &name).await?
        } else {
            None
        };
        found.push(Found::Table {
            columns,
            highest_id,
            mark: marks.remove(&name),
        });
    }
    Ok(found)
}

async fn highest_id(connection: &mut Connection, name: &str) -> Result<Option<u64>, PrepareError> {
    let rows = connection
        .rows(&format!("SELECT MAX(id) FROM {name}"))
        .await?;
    let cell = rows.into_iter().flatten().next().flatten();
    Ok(cell.and_then(|text| text.parse().ok()))
}

/// What the connections of a load share.
struct Loading {
    spec: TableSpec,
    queue: RefCell<Queue>,
    uses_load_data: Cell<bool>,
    rows: Cell<u64>,
    indexed: Cell<u32>,
    failure: RefCell<Option<PrepareError>>,
    stop: Cell<bool>,
    /// Those that load.
    sessions: RefCell<Vec<Session>>,
}

impl Loading {
    fn new(spec: TableSpec, missing: &[u32]) -> Self {
        Self {
            queue: RefCell::new(Queue::new(missing, spec.rows)),
            spec,
            uses_load_data: Cell::new(true),
            rows: Cell::new(0),
            indexed: Cell::new(0),
            failure: RefCell::default(),
            stop: Cell::new(false),
            sessions: RefCell::default(),
        }
    }

    /// Connections beyond this number would have nothing to do.
    fn parts(&self, tables: usize) -> u32 {
        let parts = self.spec.rows.div_ceil(PART_ROWS).max(1);
        u32::try_from(parts.saturating_mul(tables as u64)).unwrap_or(u32::MAX)
    }

    fn spawn(self: &Rc<Self>, reactor: &Reactor, connection: Connection) {
        let loading = Rc::clone(self);
        reactor.spawn(async move { loading.work(connection).await });
    }

    /// Tells of progress until all is done or the user stops it.
    async fn watch(&self, all: &Prepared, listener: Listener<'_>) {
        while !self.stop.get() && self.indexed.get() < all.loaded {
            sleep_until(Instant::now() + LOOK).await;
            if listener.interrupted.load(Ordering::Relaxed) {
                self.stop.set(true);
            }
            (listener.tell)(self.progress(all));
        }
    }

    /// Waits a moment for what still runs. What is not done then may take for ever, or
    /// as long as an index does: it is left, and the server is told to leave it, too.
    async fn end(&self, reactor: &Reactor, target: &Target) {
        let all_ended = poll_fn(|_| match reactor.task_count() {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        });
        if timeout(GRACE, all_ended).await.is_err() {
            reactor.cancel_tasks();
            // A server that hangs does not hear of it.
            let _ = timeout(GRACE, self.kill(target)).await;
        }
    }

    async fn kill(&self, target: &Target) -> Result<(), Error> {
        let mut connection = Connection::open(target).await?;
        sessions::kill(&mut connection, &self.sessions.take()).await?;
        connection.close().await;
        Ok(())
    }

    /// Grows with everything that comes to pass.
    fn steps(&self) -> u64 {
        self.rows.get() + u64::from(self.indexed.get())
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

    /// One connection's work: begin tables, load parts, finish tables.
    async fn work(&self, mut connection: Connection) {
        if let Err(error) = self.load(&mut connection).await {
            self.failure.borrow_mut().get_or_insert(error);
            self.stop.set(true);
        }
        connection.close().await;
    }

    async fn load(&self, connection: &mut Connection) -> Result<(), PrepareError> {
        let session = Session::of(connection).await;
        self.sessions.borrow_mut().push(session);
        // The rows are known to be unique and to refer to nothing.
        connection.run("SET SESSION foreign_key_checks = 0").await?;
        let mut own = None;
        while !self.stop.get() {
            // First its own table, then a new one, then help with the others'.
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

    async fn create(&self, connection: &mut Connection, table: u32) -> Result<(), PrepareError> {
        connection.run(&mark_loading(&self.spec, table)).await?;
        connection.run(&drop_table(table)).await?;
        let sql = self.spec.create(Dialect::Mysql, table);
        connection.run(&sql).await?;
        if self.spec.rows > 0 {
            return Ok(());
        }
        self.finish(connection, table, Checksum::default()).await
    }

    async fn load_part(
        &self,
        connection: &mut Connection,
        part: &Part,
    ) -> Result<(), PrepareError> {
        let rows = self.spec.table_rows(part.table)?;
        let checksum = if self.uses_load_data.get() {
            match self.load_data(connection, part, &rows).await? {
                Some(checksum) => checksum,
                None => {
                    self.uses_load_data.set(false);
                    self.insert(connection, part, &rows).await?
                }
            }
        } else {
            self.insert(connection, part, &rows).await?
        };
        let whole = self.queue.borrow_mut().done(part, checksum);
        if let Some(checksum) = whole {
            self.finish(connection, part.table, checksum).await?;
        }
        Ok(())
    }

    /// Indexes the table and marks it as whole.
    async fn finish(
        &self,
        connection: &mut Connection,
        table: u32,
        checksum: Checksum,
    ) -> Result<(), PrepareError> {
        for sql in self.spec.finish(Dialect::Mysql, table) {
            connection.run(&sql).await?;
        }
        let sql = mark_ready(&self.spec, table, checksum);
        connection.run(&sql).await?;
        self.indexed.set(self.indexed.get() + 1);
        Ok(())
    }

    /// `None` if the server does not take it.
    async fn load_data(
        &self,
        connection: &mut Connection,
        part: &Part,
        rows: &TableRows,
    ) -> Result<Option<Checksum>, PrepareError> {
        let name = table_name(part.table);
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'dyno' INTO TABLE {name} CHARACTER SET binary (id, k, c, pad)"
        );
        let mut checksum = Checksum::default();
        let mut keys = part.keys.clone();
        let loaded = connection
            .load_local(&sql, |out| {
                let start = out.len();
                out.reserve(CHUNK_BYTES);
                while out.len() - start < CHUNK_BYTES - 512
                    && let Some(key) = keys.next()
                {
                    let row = rows.row(key);
                    row.write_tsv(out);
                    checksum.add(&row);
                    self.rows.set(self.rows.get() + 1);
                }
            })
            .await;
        let done = match loaded {
            Err(error) if is_load_data_refused(&error) => return Ok(None),
            loaded => loaded?,
        };
        if done.affected != checksum.count {
            return Err(PrepareError::Damaged(format!(
                "{name}: the server stored {} of {} rows ({} warnings); is there another index or trigger?",
                done.affected, checksum.count, done.warnings
            )));
        }
        Ok(Some(checksum))
    }

    async fn insert(
        &self,
        connection: &mut Connection,
        part: &Part,
        rows: &TableRows,
    ) -> Result<Checksum, PrepareError> {
        let head = format!(
            "INSERT INTO {}(id, k, c, pad) VALUES ",
            table_name(part.table)
        );
        let mut checksum = Checksum::default();
        let mut keys = part.keys.clone().peekable();
        connection.run("START TRANSACTION").await?;
        while keys.peek().is_some() {
            let mut sql = head.clone().into_bytes();
            while sql.len() < CHUNK_BYTES - 512
                && let Some(key) = keys.next()
            {
                let row = rows.row(key);
                row.write_values(&mut sql);
                sql.push(b',');
                checksum.add(&row);
            }
            sql.pop();
            let text = String::from_utf8_lossy(&sql);
            let done = connection.run(&text).await?;
            self.rows.set(self.rows.get() + done.affected);
        }
        connection.run("COMMIT").await?;
        Ok(checksum)
    }
}

/// The server (1148, 3948, 4166) or its policy (1290) does not take LOAD DATA LOCAL.
fn is_load_data_refused(error: &Error) -> bool {
    matches!(error.code(), Some(1148 | 3948 | 4166 | 1290))
}
