//! dyno's virtual users on tokio: the same workload, codecs, histograms, clock readings,
//! scheduling class, and receive buffer, but tokio's single-threaded runtime instead of
//! dyno's event loop.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use measure::slice::Slice;
use rivals::{Conn, Failure, Load, put_execute, report, schedule_as_batch};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use wire::mysql::reply::{Reply, ReplyReader};
use workload::built_in::BuiltInUser;
use workload::catalog::{Catalog, Label};
use workload::session::{Connections, FailureKind, Param, Rows, Session, SessionError};
use workload::virtual_user::{VirtualUser, Workload};

const BUFFER_BYTES: usize = 64 * 1024;

/// State shared by all users.
struct Common {
    origin: Instant,
    until_ns: u64,
    /// Behind a lock, as in dyno, where another thread takes it once per second.
    slice: Mutex<Slice>,
    buffer: RefCell<Vec<u8>>,
    catalog: Arc<Catalog>,
}

impl Common {
    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn slice(&self) -> std::sync::MutexGuard<'_, Slice> {
        self.slice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct TokioSession {
    common: Rc<Common>,
    stream: TcpStream,
    reader: ReplyReader,
    out: Vec<u8>,
    /// Statement numbers, and whether the server has their types.
    prepared: Vec<(u32, bool)>,
}

fn lost(error: impl ToString) -> SessionError {
    SessionError {
        kind: FailureKind::Lost,
        sqlstate: None,
        number: None,
        message: error.to_string(),
        statement: None,
    }
}

impl TokioSession {
    async fn exchange(&mut self) -> Result<workload::session::Reply, SessionError> {
        self.reader.expect_result(1);
        self.stream.write_all(&self.out).await.map_err(lost)?;
        loop {
            let (stream, reader, common) = (&mut self.stream, &mut self.reader, &self.common);
            // The whole buffer is passed, so that a short read tells tokio that the socket is
            // empty; it is shared, so that idle users need none.
            let fed = std::future::poll_fn(|context| {
                let mut buffer = common.buffer.borrow_mut();
                let mut into = ReadBuf::new(&mut buffer);
                ready!(Pin::new(&mut *stream).poll_read(context, &mut into)).map_err(lost)?;
                if into.filled().is_empty() {
                    return Poll::Ready(Err(lost("the server closed the connection")));
                }
                Poll::Ready(reader.feed(into.filled()).map_err(lost))
            })
            .await?;
            match fed {
                None => {}
                Some(Reply::Done(done)) => {
                    return Ok(workload::session::Reply {
                        has_result: done.has_result,
                        rows: done.rows,
                        affected: done.affected,
                    });
                }
                Some(other) => {
                    return Err(SessionError {
                        kind: FailureKind::Restart,
                        ..lost(format!("{other:?}"))
                    });
                }
            }
        }
    }
}

impl Session for TokioSession {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<workload::session::Reply, SessionError> {
        let started_ns = self.common.now_ns();
        let (number, bound) = &mut self.prepared[statement as usize];
        let with_types = !std::mem::replace(bound, true);
        self.out.clear();
        put_execute(&mut self.out, *number, with_types, params);
        let reply = self.exchange().await;
        if reply.is_ok() {
            let duration_ns = self.common.now_ns() - started_ns;
            let kind = self.common.catalog.statements[statement as usize]
                .label
                .index();
            self.common.slice().statements[kind].record(duration_ns);
        }
        reply
    }

    async fn query(
        &mut self,
        _label: Label,
        sql: &str,
    ) -> Result<workload::session::Reply, SessionError> {
        self.out.clear();
        wire::mysql::command::query(&mut self.out, sql);
        self.exchange().await
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        if self.reader.is_in_transaction() {
            self.query(Label::default(), "ROLLBACK").await?;
        }
        Ok(())
    }
}

/// The one connection is open from the start.
impl Connections for TokioSession {
    async fn open(&mut self) -> Result<u32, SessionError> {
        Ok(0)
    }

    fn select(&mut self, _: u32) {}

    async fn shut(&mut self) {}

    async fn run(
        &mut self,
        sql: &str,
        _: Option<&mut Rows>,
    ) -> Result<workload::session::Reply, SessionError> {
        self.query(Label::default(), sql).await
    }

    async fn pause(&mut self, _: Duration) {}

    fn caught(&mut self, _: &SessionError) {}
}

async fn live(common: Rc<Common>, mut user: BuiltInUser, mut session: TokioSession) -> u64 {
    let mut errors = 0;
    while common.now_ns() < common.until_ns {
        let started_ns = common.now_ns();
        match user.transaction(&mut session).await {
            Ok(done) => {
                let response_ns = common.now_ns() - started_ns;
                let mut slice = common.slice();
                slice.response.record(response_ns);
                slice.lookups += u64::from(done.lookups);
                slice.misses += u64::from(done.misses);
            }
            Err(error) if error.kind == FailureKind::Restart => {
                errors += 1;
                if session.rollback().await.is_err() {
                    return errors;
                }
            }
            Err(error) => {
                eprintln!("tokio_user: {error}");
                return errors + 1;
            }
        }
    }
    errors
}

fn main() -> Result<(), Failure> {
    let load = Load::from_arguments()?;
    let mut conns = Vec::new();
    for _ in 0..load.users {
        conns.push(Conn::open(&load)?);
    }
    let catalog = load.workload.catalog();
    let common = Rc::new(Common {
        origin: Instant::now(),
        until_ns: Duration::from_secs_f64(load.seconds).as_nanos() as u64,
        slice: Mutex::new(Slice::new(catalog.labels.count())),
        buffer: RefCell::new(vec![0; BUFFER_BYTES]),
        catalog: Arc::clone(catalog),
    });
    schedule_as_batch();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let errors = LocalSet::new().block_on(&runtime, async {
        let mut users = Vec::new();
        for (index, (conn, numbers)) in (0..load.users).zip(conns) {
            conn.stream.set_nonblocking(true)?;
            let session = TokioSession {
                common: Rc::clone(&common),
                stream: TcpStream::from_std(conn.stream)?,
                reader: ReplyReader::new(conn.capabilities),
                out: Vec::new(),
                prepared: numbers.into_iter().map(|number| (number, false)).collect(),
            };
            let user = load.user(index)?;
            users.push(tokio::task::spawn_local(live(
                Rc::clone(&common),
                user,
                session,
            )));
        }
        let mut errors = 0;
        for user in users {
            errors += user.await?;
        }
        Ok::<_, Failure>(errors)
    })?;
    let slice = common.slice();
    let mean_us = slice.response.mean_ns().unwrap_or(0.0) / 1e3;
    report(
        slice.statement_count(),
        errors,
        &format!(" response_mean_us {mean_us:.0}"),
    );
    Ok(())
}
