//! A connection to a server: sends commands and reads their replies, whatever the protocol.

use std::borrow::Cow;
use std::cell;
use std::fmt::{Debug, Display};
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::task::{Poll, ready};
use std::time::Duration;

use wire::gather::{Gatherer, Message};
use wire::reply::Done;
use wire::rows::{Cell, TextReply, TextRows};
use wire::{ProtocolError, ServerError, Value};
use workload::session::Param;

use crate::error::{Error, Refusal};
use crate::net::{Peer, Stream};
use crate::reactor::{Permit, permit_to_connect, timeout};
use crate::statement_text::shortened;

pub const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// Maximum length of a row that is read as text.
const ROW_LIMIT_BYTES: usize = 16 << 20;

/// A protocol's side of a connection: logs in, builds commands, and parses replies. A function that
/// builds a command also prepares for its reply.
pub trait Protocol: Sized + 'static {
    /// A server and an account on it, which is shown without the password.
    type Target: Clone + Debug + Display + Send + Sync;
    /// A message, for logins and text replies.
    type Message: Message;
    /// The content of a reply about a prepared statement.
    type Prepared;
    type Statement;
    /// The state of a bulk load.
    type Transfer;

    /// The addresses of a server; none for a Unix socket, which is on this host.
    fn addresses(target: &Self::Target) -> &[SocketAddr];

    /// Connects and logs in. The permit is returned as soon as the server answers.
    fn log_in(
        target: &Self::Target,
        permit: Permit,
    ) -> impl Future<Output = Result<(Stream, Self), Error>>;

    /// The version that the server reports, such as `15.10 (Debian 15.10-0+deb12u1)`.
    fn server_version(&self) -> &str;

    fn query(&mut self, out: &mut Vec<u8>, sql: &str);

    fn prepare(&mut self, out: &mut Vec<u8>, sql: &str);

    /// The statement that was prepared last.
    fn statement(&self, prepared: Self::Prepared) -> Self::Statement;

    fn execute(&mut self, out: &mut Vec<u8>, statement: &mut Self::Statement, params: &[Param<'_>]);

    /// Frees a statement. Returns whether the server replies.
    fn free(&mut self, out: &mut Vec<u8>, statement: Self::Statement) -> bool;

    /// Sends the rows of a bulk load that `fill` appends. Returns whether it appended none,
    /// which ends the load.
    fn transfer(
        &mut self,
        out: &mut Vec<u8>,
        transfer: &mut Self::Transfer,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> bool;

    fn quit(&mut self, out: &mut Vec<u8>);

    /// Takes bytes of a reply; returns the reply once it is whole.
    fn feed(&mut self, bytes: &[u8]) -> Result<Option<Reply<Self>>, ProtocolError>;

    /// An error that the server reported between two statements, before it closed the connection.
    fn take_last_words(&mut self) -> Option<Box<ServerError>> {
        None
    }

    /// The part of the next message that arrived with the last reply, for a caller that reads it
    /// without [`Protocol::feed`].
    fn take_begun(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Gathers the messages of one text reply.
    fn text_result(
        &mut self,
    ) -> impl FnMut(&Self::Message) -> Result<Option<TextReply>, ProtocolError>;

    /// Whether a transaction may be open.
    fn is_in_transaction(&self) -> bool;

    /// The meaning of a server's error.
    fn refusal(error: Box<ServerError>) -> Refusal;

    /// The statement with the server's own placeholders instead of `?`.
    fn with_placeholders(sql: &str) -> Cow<'_, str> {
        sql.into()
    }

    /// Writes a statement as text, with its parameters filled in.
    fn write_text(out: &mut String, sql: &str, params: &[Param<'_>]);
}

pub type Reply<P> = wire::reply::Reply<<P as Protocol>::Prepared, <P as Protocol>::Transfer>;

#[derive(Debug)]
pub struct Connection<P> {
    pub(crate) stream: Stream,
    pub(crate) protocol: P,
    /// The command that is being sent. Built in the thread's buffer, which it gives back once it
    /// is sent: an idle connection holds none.
    out: Vec<u8>,
}

thread_local! {
    static SEND_BUFFER: cell::Cell<Vec<u8>> = const { cell::Cell::new(Vec::new()) };
}
/// A larger buffer, of a bulk load, is not kept.
const SEND_BUFFER_BYTES: usize = 64 * 1024;

impl<P: Protocol> Connection<P> {
    /// Connects and logs in, within 10 seconds.
    pub async fn open(target: &P::Target) -> Result<Self, Error> {
        Self::open_within(LOGIN_LIMIT, target).await
    }

    pub async fn open_within(limit: Duration, target: &P::Target) -> Result<Self, Error> {
        // The limit is for the server, so waiting for the permit does not count.
        let permit = permit_to_connect().await;
        let (stream, protocol) = timeout(limit, P::log_in(target, permit))
            .await
            .ok_or_else(|| Error::Timeout {
                server: target.to_string(),
                limit,
            })??;
        Ok(Self {
            stream,
            protocol,
            out: Vec::new(),
        })
    }

    pub fn server_version(&self) -> &str {
        self.protocol.server_version()
    }

    pub fn peer(&self) -> std::io::Result<Peer> {
        self.stream.peer()
    }

    /// TLS version and cipher, if the connection uses TLS.
    pub fn tls_description(&self) -> Option<String> {
        self.stream.tls_description()
    }

    /// Runs a text statement and returns its rows.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, Error> {
        self.fetch(sql).await.map(|text| text.rows)
    }

    /// Runs a text statement and returns its result sets and counts.
    pub async fn fetch(&mut self, sql: &str) -> Result<TextRows, Error> {
        self.begin();
        self.protocol.query(&mut self.out, sql);
        self.send().await.map_err(Error::Lost)?;
        let reply = self.text_reply().await;
        // Otherwise, the rest of the reply would pass for that to the next statement.
        match reply.inspect_err(|_| self.stream.shut_down())? {
            TextReply::Rows(rows) => Ok(rows),
            TextReply::Refused(error) => Err(refused::<P>(error, sql)),
        }
    }

    async fn text_reply(&mut self) -> Result<TextReply, Error> {
        let mut gatherer = Gatherer::new(ROW_LIMIT_BYTES);
        gatherer.push(&self.protocol.take_begun());
        let reply = {
            let mut take = self.protocol.text_result();
            loop {
                let message = self.stream.next_message(&mut gatherer).await?;
                if let Some(reply) = take(&message)? {
                    break reply;
                }
            }
        };
        self.protocol.feed(gatherer.pending())?;
        Ok(reply)
    }

    /// Runs a text statement and returns its counts.
    pub async fn run(&mut self, sql: &str) -> Result<Done, Error> {
        self.begin();
        self.protocol.query(&mut self.out, sql);
        let reply = self.exchange().await?;
        done::<P>(reply, sql)
    }

    pub async fn prepare(&mut self, sql: &str) -> Result<P::Statement, Error> {
        self.begin();
        self.protocol.prepare(&mut self.out, sql);
        match self.exchange().await? {
            Reply::<P>::Prepared(prepared) => Ok(self.protocol.statement(prepared)),
            reply => done::<P>(reply, sql).and(Err(Error::out_of_turn())),
        }
    }

    /// Executes a prepared statement; `sql` is its text, for errors.
    pub async fn execute(
        &mut self,
        statement: &mut P::Statement,
        params: &[Param<'_>],
        sql: &str,
    ) -> Result<Done, Error> {
        self.begin();
        self.protocol.execute(&mut self.out, statement, params);
        let reply = self.exchange().await?;
        done::<P>(reply, sql)
    }

    /// Frees a prepared statement. A failure shows in the next statement.
    pub async fn free(&mut self, statement: P::Statement) {
        self.begin();
        let has_reply = self.protocol.free(&mut self.out, statement);
        let sent = self.send().await;
        if has_reply {
            let _ = self.reply_to(sent).await;
        }
    }

    /// Runs a statement that loads rows from the client, and sends what `fill` appends until it
    /// appends nothing. No file is read, whatever name the server asks for.
    pub async fn load(
        &mut self,
        sql: &str,
        mut fill: impl FnMut(&mut Vec<u8>),
    ) -> Result<Done, Error> {
        self.begin();
        self.protocol.query(&mut self.out, sql);
        let mut transfer = match self.exchange().await? {
            Reply::<P>::WantsData(transfer) => transfer,
            reply => return done::<P>(reply, sql),
        };
        let sent = loop {
            self.begin();
            let is_end = self
                .protocol
                .transfer(&mut self.out, &mut transfer, &mut fill);
            let sent = self.send().await;
            if is_end || sent.is_err() {
                break sent;
            }
        };
        let reply = self.reply_to(sent).await?;
        done::<P>(reply, sql)
    }

    /// Closes the connection properly, so that the server does not log it as aborted.
    pub async fn close(mut self) {
        self.begin();
        self.protocol.quit(&mut self.out);
        // A failure no longer matters.
        let _ = self.stream.write_all(&self.out).await;
    }

    /// Sends the command in `out` and reads its reply.
    async fn exchange(&mut self) -> Result<Reply<P>, Error> {
        let sent = self.send().await;
        self.reply_to(sent).await
    }

    /// Begins a command in the thread's buffer, unless another connection is still sending it.
    #[inline]
    fn begin(&mut self) {
        if self.out.capacity() == 0 {
            self.out = SEND_BUFFER.take();
        }
        self.out.clear();
    }

    /// Nearly every command is small enough for a single write.
    async fn send(&mut self) -> std::io::Result<()> {
        let sent = match self.stream.try_write(&self.out) {
            Ok(sent) if sent < self.out.len() => self.stream.write_all(&self.out[sent..]).await,
            sent => sent.map(drop),
        };
        let buffer = std::mem::take(&mut self.out);
        if buffer.capacity() <= SEND_BUFFER_BYTES {
            SEND_BUFFER.set(buffer);
        }
        sent
    }

    /// Reads the reply to a command, which may have been sent only in part.
    async fn reply_to(&mut self, sent: std::io::Result<()>) -> Result<Reply<P>, Error> {
        match (sent, self.reply().await) {
            (Ok(()), Ok(reply)) => Ok(reply),
            // A server that rejects the rest of a statement sends the reason before it closes the
            // connection.
            (Err(_), Ok(refused @ Reply::<P>::Refused(_))) => Ok(refused),
            (Err(error), _) | (Ok(()), Err(Error::Lost(error))) => {
                match self.protocol.take_last_words() {
                    Some(words) => Ok(Reply::<P>::Refused(words)),
                    None => Err(Error::Lost(error)),
                }
            }
            (Ok(()), Err(error)) => Err(error),
        }
    }

    async fn reply(&mut self) -> Result<Reply<P>, Error> {
        poll_fn(|context| {
            loop {
                let protocol = &mut self.protocol;
                let read = |bytes: &[u8]| protocol.feed(bytes).transpose();
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

/// Parameters as the protocols send them.
#[inline]
pub(crate) fn values<'a>(
    params: &'a [Param<'_>],
) -> impl ExactSizeIterator<Item = Value<'a>> + Clone {
    params.iter().map(|param| match param {
        Param::Int(number) => Value::Int(*number),
        Param::Double(number) => Value::Double(*number),
        Param::Text(text) => Value::Text(text),
        Param::Null => Value::Null,
    })
}

/// The server's refusal of `sql`, which is shortened.
fn refused<P: Protocol>(error: Box<ServerError>, sql: &str) -> Error {
    Error::Statement {
        error: P::refusal(error),
        statement: shortened(sql),
    }
}

#[inline]
fn done<P: Protocol>(reply: Reply<P>, sql: &str) -> Result<Done, Error> {
    match reply {
        Reply::<P>::Done(done) => Ok(done),
        Reply::<P>::Refused(error) => Err(refused::<P>(error, sql)),
        Reply::<P>::Prepared(_) | Reply::<P>::WantsData(_) => Err(Error::out_of_turn()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::net::Address;
    use crate::postgres::Postgres;
    use crate::reactor::Reactor;

    #[test]
    fn a_connection_keeps_no_buffer_whatever_it_has_sent() {
        for length in [10, 2 * SEND_BUFFER_BYTES] {
            let kept = Reactor::new().unwrap().block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = Address::Tcp(vec![listener.local_addr().unwrap()]);
                let mut connection = Connection {
                    stream: Stream::connect(&address).await.unwrap(),
                    protocol: Postgres::default(),
                    out: Vec::new(),
                };
                // The server closes the connection, so that no reply is awaited.
                drop(listener.accept().unwrap());
                let lost = connection.run(&" ".repeat(length)).await;
                assert!(matches!(lost, Err(Error::Lost(_))), "{lost:?}");
                connection.out.capacity()
            });
            assert_eq!(kept.unwrap(), 0, "{length} bytes");
        }
    }
}
