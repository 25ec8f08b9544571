//! One connection: statements, COPY.

use std::future::poll_fn;
use std::task::{Poll, ready};
use std::time::Duration;

use wire::postgres::command::{self, Statement, Value};
use wire::postgres::message::Gatherer;
use wire::postgres::reply::{Done, Reply, ReplyReader, TransactionStatus};
use wire::postgres::rows::{Cell, TextReply, TextResult};
use wire::postgres::{ProtocolError, ServerError};

use super::error::Error;
use super::login::{self, LoggedIn, next_message};
use super::target::Target;
use crate::net::{Peer, Stream};
use crate::reactor::{Permit, permit_to_knock, timeout};
use crate::shown::shortened;

const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// Longest row that dyno's own questions may get.
const ROW_LIMIT_BYTES: usize = 16 << 20;

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    reader: ReplyReader,
    /// Commands are built here; kept for the next one.
    out: Vec<u8>,
    /// How many statements were prepared.
    prepared: u32,
    server_version: String,
    backend_pid: u32,
}

impl Connection {
    /// Connects and logs in, within 10 seconds.
    ///
    /// # Errors
    /// Whatever kept the connection from opening; its [`Error::remedy`] says what to do.
    pub async fn open(target: &Target) -> Result<Self, Error> {
        Self::open_within(LOGIN_LIMIT, target).await
    }

    /// Connects and logs in, within `limit`.
    ///
    /// # Errors
    /// As [`Connection::open`]'s.
    pub async fn open_within(limit: Duration, target: &Target) -> Result<Self, Error> {
        // The limit is for the server: waiting for a turn does not count.
        let permit = permit_to_knock().await;
        match timeout(limit, Self::log_in(target, permit)).await {
            Ok(opened) => opened,
            Err(_) => Err(Error::Timeout {
                server: target.shown(),
                limit,
            }),
        }
    }

    async fn log_in(target: &Target, permit: Permit) -> Result<Self, Error> {
        let LoggedIn {
            stream,
            server_version,
            backend_pid,
        } = login::log_in(target, permit).await?;
        Ok(Self {
            stream,
            reader: ReplyReader::default(),
            out: Vec::new(),
            prepared: 0,
            server_version,
            backend_pid,
        })
    }

    /// The server's version in its own words, such as `15.10 (Debian 15.10-0+deb12u1)`.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The server process of this connection, for `pg_terminate_backend`.
    #[must_use]
    pub fn backend_pid(&self) -> u32 {
        self.backend_pid
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// The system's.
    pub fn peer(&self) -> std::io::Result<Peer> {
        self.stream.peer()
    }

    /// TLS version and cipher, where there is TLS.
    #[must_use]
    pub fn tls_description(&self) -> Option<String> {
        self.stream.tls_description()
    }

    /// Has the kernel stamp the arrival of replies from now on, where it can.
    ///
    /// # Errors
    /// The system's; replies are then not stamped.
    pub fn stamp_replies(&mut self) -> std::io::Result<()> {
        self.stream.stamp_arrivals()
    }

    /// When the last bytes of the last reply reached this host, by the kernel's stamp, in
    /// nanoseconds of the monotonic clock; `None` where there is none.
    #[inline]
    #[must_use]
    pub fn reply_arrived_ns(&self) -> Option<u64> {
        self.stream.arrived_ns()
    }

    /// Whether a transaction is open, as of the last reply.
    #[inline]
    #[must_use]
    pub fn transaction_status(&self) -> TransactionStatus {
        self.reader.transaction_status()
    }

    /// Runs SQL by the simple protocol and gathers its rows.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, Error> {
        self.out.clear();
        command::query(&mut self.out, sql);
        self.send().await.map_err(Error::Lost)?;
        let mut gatherer = Gatherer::new(ROW_LIMIT_BYTES);
        let mut result = TextResult::default();
        loop {
            let message = next_message(&mut self.stream, &mut gatherer).await?;
            match result.message(&message)? {
                None => {}
                Some(TextReply::Rows(rows)) => return Ok(rows),
                Some(TextReply::Refused(error)) => return Err(refused(error, sql)),
            }
        }
    }

    /// Runs SQL by the simple protocol and counts.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn run(&mut self, sql: &str) -> Result<Done, Error> {
        self.out.clear();
        command::query(&mut self.out, sql);
        self.reader.expect_query();
        let reply = self.exchange().await?;
        done(reply, sql)
    }

    /// Prepares a statement whose parameters are `$1`, `$2`, ….
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.prepared += 1;
        self.out.clear();
        command::prepare(&mut self.out, self.prepared, sql);
        self.reader.expect_preparation();
        match self.exchange().await? {
            Reply::Prepared(types) => Ok(Statement::new(self.prepared, types)),
            Reply::Refused(error) => Err(refused(error, sql)),
            Reply::Done(_) | Reply::CopyIn => Err(out_of_place()),
        }
    }

    /// Executes a prepared statement; `sql` is its text, for errors.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn execute<'a>(
        &mut self,
        statement: &Statement,
        values: impl ExactSizeIterator<Item = Value<'a>> + Clone,
        sql: &str,
    ) -> Result<Done, Error> {
        self.out.clear();
        command::execute(&mut self.out, statement, values);
        self.reader.expect_execution();
        let reply = self.exchange().await?;
        done(reply, sql)
    }

    /// Runs a `COPY … FROM STDIN` and sends what `fill` appends, until it appends nothing.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn copy_in(
        &mut self,
        sql: &str,
        mut fill: impl FnMut(&mut Vec<u8>),
    ) -> Result<Done, Error> {
        self.out.clear();
        command::query(&mut self.out, sql);
        self.reader.expect_query();
        match self.exchange().await? {
            Reply::CopyIn => {}
            reply => return done(reply, sql),
        }
        let sent = loop {
            self.out.clear();
            let mut length = 0;
            command::copy_data(&mut self.out, |out| {
                let start = out.len();
                fill(out);
                length = out.len() - start;
            });
            if length == 0 {
                self.out.clear();
                command::copy_done(&mut self.out);
            }
            let sent = self.send().await;
            if length == 0 || sent.is_err() {
                break sent;
            }
        };
        self.reader.expect_copied();
        let reply = self.reply_to(sent).await?;
        done(reply, sql)
    }

    /// Says good-bye, so that the server does not log an aborted connection.
    pub async fn close(mut self) {
        self.out.clear();
        command::terminate(&mut self.out);
        // Whether the server receives it does not matter any more.
        let _ = self.stream.write_all(&self.out).await;
    }

    /// Sends the command in `out` and reads its reply.
    async fn exchange(&mut self) -> Result<Reply, Error> {
        let sent = self.send().await;
        self.reply_to(sent).await
    }

    /// Nearly every command is small and goes out at once.
    async fn send(&mut self) -> std::io::Result<()> {
        match self.stream.try_write(&self.out) {
            Ok(sent) if sent < self.out.len() => self.stream.write_all(&self.out[sent..]).await,
            sent => sent.map(drop),
        }
    }

    /// Reads the reply to a command that was sent, as far as the server took it.
    async fn reply_to(&mut self, sent: std::io::Result<()>) -> Result<Reply, Error> {
        match (sent, self.reply().await) {
            (Ok(()), Ok(reply)) => Ok(reply),
            // A server that takes no more of a statement says why before it closes.
            (Err(_), Ok(refused @ Reply::Refused(_))) => Ok(refused),
            (Err(error), _) | (Ok(()), Err(Error::Lost(error))) => {
                match self.reader.take_last_words() {
                    Some(words) => Ok(Reply::Refused(words)),
                    None => Err(Error::Lost(error)),
                }
            }
            (Ok(()), Err(error)) => Err(error),
        }
    }

    async fn reply(&mut self) -> Result<Reply, Error> {
        poll_fn(|context| {
            loop {
                let reader = &mut self.reader;
                let read = |bytes: &[u8]| reader.feed(bytes).transpose();
                match ready!(self.stream.poll_receive(context, read)) {
                    Ok(None) => {}
                    Ok(Some(reply)) => return Poll::Ready(reply.map_err(Error::from)),
                    Err(error) => return Poll::Ready(Err(Error::Lost(error))),
                }
            }
        })
        .await
    }
}

/// The server's refusal of `sql`, which is shortened.
fn refused(error: Box<ServerError>, sql: &str) -> Error {
    let statement = shortened(sql);
    Error::Statement { error, statement }
}

#[inline]
fn done(reply: Reply, sql: &str) -> Result<Done, Error> {
    match reply {
        Reply::Done(done) => Ok(done),
        Reply::Refused(error) => Err(refused(error, sql)),
        Reply::Prepared(_) | Reply::CopyIn => Err(out_of_place()),
    }
}

fn out_of_place() -> Error {
    Error::Protocol(ProtocolError::unexpected(b'G', "in reply to this command"))
}
