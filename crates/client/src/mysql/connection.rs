//! One connection: statements, LOAD DATA LOCAL.

use std::future::poll_fn;
use std::task::{Poll, ready};
use std::time::Duration;

use wire::mysql::capability::DEPRECATE_EOF;
use wire::mysql::command::{self, Value};
use wire::mysql::handshake::Greeting;
use wire::mysql::packet::{self, Gatherer};
use wire::mysql::reply::{Done, Reply, ReplyReader};
use wire::mysql::rows::{Cell, TextReply, TextResult};
use wire::mysql::{ProtocolError, ServerError};

use super::error::Error;
use super::login::{self, LoggedIn, next_message};
use super::target::Target;
use crate::net::{Peer, Stream};
use crate::reactor::{Permit, permit_to_knock, timeout};
use crate::shown::shortened;

const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// Longest row that dyno's own queries may return.
const ROW_LIMIT_BYTES: usize = 16 << 20;

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    reader: ReplyReader,
    /// Commands are built here; reused.
    out: Vec<u8>,
    deprecate_eof: bool,
    greeting: Greeting,
}

impl Connection {
    /// Connects and logs in, within 10 seconds.
    ///
    /// # Errors
    /// Why the connection did not open; [`Error::remedy`] says what to do.
    pub async fn open(target: &Target) -> Result<Self, Error> {
        Self::open_within(LOGIN_LIMIT, target).await
    }

    /// Connects and logs in, within `limit`.
    ///
    /// # Errors
    /// As [`Connection::open`]'s.
    pub async fn open_within(limit: Duration, target: &Target) -> Result<Self, Error> {
        // The limit starts when it is this task's turn.
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
            greeting,
            capabilities,
        } = login::log_in(target, permit).await?;
        let deprecate_eof = capabilities & DEPRECATE_EOF != 0;
        Ok(Self {
            stream,
            reader: ReplyReader::new(capabilities),
            out: Vec::new(),
            deprecate_eof,
            greeting,
        })
    }

    /// The version that the server reports.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.greeting.version
    }

    /// Whether it is MariaDB.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.greeting.is_mariadb()
    }

    /// The connection's ID, for `KILL`.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.greeting.connection_id
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

    /// Makes the kernel stamp the arrival of replies from now on, where it can.
    ///
    /// # Errors
    /// The system's; replies are then not stamped.
    pub fn stamp_replies(&mut self) -> std::io::Result<()> {
        self.stream.stamp_arrivals()
    }

    /// When the last bytes of the last reply reached this host, by the kernel's stamp, in
    /// nanoseconds of the monotonic clock; `None` if there is no stamp.
    #[inline]
    #[must_use]
    pub fn reply_arrived_ns(&self) -> Option<u64> {
        self.stream.arrived_ns()
    }

    /// Runs a text statement and returns its rows.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, Error> {
        self.out.clear();
        command::query(&mut self.out, sql);
        self.stream
            .write_all(&self.out)
            .await
            .map_err(Error::Lost)?;
        let mut gatherer = Gatherer::new(ROW_LIMIT_BYTES);
        let mut result = TextResult::new(self.deprecate_eof);
        loop {
            let message = next_message(&mut self.stream, &mut gatherer).await?;
            match result.message(&message.payload)? {
                None => {}
                Some(TextReply::Rows(rows)) => return Ok(rows),
                Some(TextReply::Refused(error)) => return Err(refused(error, sql)),
            }
        }
    }

    /// Runs a text statement and returns its counts.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn run(&mut self, sql: &str) -> Result<Done, Error> {
        self.out.clear();
        let number = command::query(&mut self.out, sql);
        self.reader.expect_result();
        let reply = self.exchange(number).await?;
        done(reply, sql)
    }

    /// Prepares a statement; returns its number.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn prepare(&mut self, sql: &str) -> Result<u32, Error> {
        self.out.clear();
        let number = command::prepare(&mut self.out, sql);
        self.reader.expect_prepared();
        match self.exchange(number).await? {
            Reply::Prepared { statement, .. } => Ok(statement),
            Reply::Refused(error) => Err(refused(error, sql)),
            Reply::Done(_) | Reply::WantsFile { .. } => Err(out_of_place()),
        }
    }

    /// Executes a prepared statement; `sql` is its text, for errors.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn execute<'a>(
        &mut self,
        statement: u32,
        with_types: bool,
        values: impl ExactSizeIterator<Item = Value<'a>> + Clone,
        sql: &str,
    ) -> Result<Done, Error> {
        self.out.clear();
        let number = command::execute(&mut self.out, statement, with_types, values);
        self.reader.expect_result();
        let reply = self.exchange(number).await?;
        done(reply, sql)
    }

    /// Runs a `LOAD DATA LOCAL INFILE` and sends what `fill` appends, until it
    /// appends nothing. No file is read, whatever name the server asks for.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn load_local(
        &mut self,
        sql: &str,
        mut fill: impl FnMut(&mut Vec<u8>),
    ) -> Result<Done, Error> {
        self.out.clear();
        let number = command::query(&mut self.out, sql);
        self.reader.expect_result();
        let mut sequence = match self.exchange(number).await? {
            Reply::WantsFile { sequence } => sequence,
            reply => return done(reply, sql),
        };
        loop {
            self.out.clear();
            let mut length = 0;
            sequence = packet::write(&mut self.out, sequence, |out| {
                let start = out.len();
                fill(out);
                length = out.len() - start;
            });
            if length == 0 {
                break;
            }
            self.stream
                .write_all(&self.out)
                .await
                .map_err(Error::Lost)?;
        }
        // The empty packet ends the file; the reply to it is the statement's.
        self.reader.expect_rest(sequence);
        let reply = self.exchange(sequence).await?;
        done(reply, sql)
    }

    /// Closes the connection properly, so that the server does not log it as aborted.
    pub async fn close(mut self) {
        self.out.clear();
        command::quit(&mut self.out);
        // A failure no longer matters.
        let _ = self.stream.write_all(&self.out).await;
    }

    /// Sends the command in `out` and reads its reply, which starts with this number.
    async fn exchange(&mut self, number: u8) -> Result<Reply, Error> {
        self.reader.expect_number(number);
        // Nearly every command is small and is sent in one write.
        let sent = match self.stream.try_write(&self.out) {
            Ok(sent) if sent < self.out.len() => self.stream.write_all(&self.out[sent..]).await,
            sent => sent.map(drop),
        };
        match (sent, self.reply().await) {
            (Ok(()), reply) => reply,
            // A server that rejects the rest of a statement sends the reason before it closes.
            (Err(_), Ok(refused @ Reply::Refused(_))) => Ok(refused),
            (Err(error), _) => Err(Error::Lost(error)),
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
fn refused(error: ServerError, sql: &str) -> Error {
    let statement = shortened(sql);
    Error::Statement { error, statement }
}

#[inline]
fn done(reply: Reply, sql: &str) -> Result<Done, Error> {
    match reply {
        Reply::Done(done) => Ok(done),
        Reply::Refused(error) => Err(refused(error, sql)),
        Reply::Prepared { .. } | Reply::WantsFile { .. } => Err(out_of_place()),
    }
}

fn out_of_place() -> Error {
    Error::Protocol(ProtocolError::Unexpected {
        first: 0xfb,
        place: "in reply to this command",
    })
}
