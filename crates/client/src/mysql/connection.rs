//! One connection: login, statements, LOAD DATA LOCAL.

use std::time::Duration;

use wire::mysql::auth::{self, CACHING_SHA2, FAST_PATH_OK, FULL_PATH, REQUEST_PUBLIC_KEY};
use wire::mysql::capability::DEPRECATE_EOF;
use wire::mysql::command::{self, Value};
use wire::mysql::handshake::{Greeting, Login, Next, not_mysql};
use wire::mysql::packet::{self, Gatherer, Message};
use wire::mysql::reply::{Done, Reply, ReplyReader};
use wire::mysql::rows::{Cell, TextReply, TextResult};
use wire::mysql::{ProtocolError, ServerError};

use super::error::Error;
use super::target::Target;
use super::tls::TlsMode;
use crate::net::Stream;
use crate::reactor::timeout;

const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// Longest message of the handshake that is taken.
const HANDSHAKE_LIMIT_BYTES: usize = 1 << 20;
/// Longest row that dyno's own questions may get.
const ROW_LIMIT_BYTES: usize = 16 << 20;
/// How much of a statement an error shows.
const SHOWN_STATEMENT_CHARS: usize = 200;

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    reader: ReplyReader,
    /// Commands are built here; kept for the next one.
    out: Vec<u8>,
    deprecate_eof: bool,
    greeting: Greeting,
}

impl Connection {
    /// Connects and logs in, within 10 seconds.
    ///
    /// # Errors
    /// Whatever kept the connection from opening; its [`Error::remedy`] says what to do.
    pub async fn open(target: &Target) -> Result<Self, Error> {
        match timeout(LOGIN_LIMIT, Self::log_in(target)).await {
            Ok(opened) => opened,
            Err(_) => Err(Error::Timeout {
                server: target.shown(),
                limit: LOGIN_LIMIT,
            }),
        }
    }

    async fn log_in(target: &Target) -> Result<Self, Error> {
        let stream = Stream::connect(&target.address)
            .await
            .map_err(|source| Error::Connect {
                server: target.shown(),
                source,
            })?;
        let mut handshake = Handshake::greet(stream).await?;
        handshake.secure(target).await?;
        handshake.authenticate(target).await?;
        let Handshake {
            stream,
            greeting,
            login_capabilities,
            ..
        } = handshake;
        let deprecate_eof = login_capabilities & DEPRECATE_EOF != 0;
        Ok(Self {
            stream,
            reader: ReplyReader::new(deprecate_eof),
            out: Vec::new(),
            deprecate_eof,
            greeting,
        })
    }

    /// The server's version as it names itself.
    #[must_use]
    pub fn server_version(&self) -> &str {
        &self.greeting.version
    }

    /// Whether it is MariaDB.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.greeting.is_mariadb()
    }

    /// The connection's number, for `KILL`.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.greeting.connection_id
    }

    /// TLS version and cipher, where there is TLS.
    #[must_use]
    pub fn tls_description(&self) -> Option<String> {
        self.stream.tls_description()
    }

    /// Runs a text statement and gathers its rows.
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

    /// Runs a text statement and counts.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn run(&mut self, sql: &str) -> Result<Done, Error> {
        self.out.clear();
        command::query(&mut self.out, sql);
        self.reader.expect_result();
        let reply = self.exchange().await?;
        done(reply, sql)
    }

    /// Prepares a statement; gives its number.
    ///
    /// # Errors
    /// The server's refusal, or a broken connection.
    pub async fn prepare(&mut self, sql: &str) -> Result<u32, Error> {
        self.out.clear();
        command::prepare(&mut self.out, sql);
        self.reader.expect_prepared();
        match self.exchange().await? {
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
        command::execute(&mut self.out, statement, with_types, values);
        self.reader.expect_result();
        let reply = self.exchange().await?;
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
        command::query(&mut self.out, sql);
        self.reader.expect_result();
        let mut sequence = match self.exchange().await? {
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
        // The empty packet is the end of the file, and its reply the statement's.
        self.reader.expect_rest(sequence);
        let reply = self.exchange().await?;
        done(reply, sql)
    }

    /// Says good-bye, so that the server does not log an aborted connection.
    pub async fn close(mut self) {
        self.out.clear();
        command::quit(&mut self.out);
        // Whether it heard us does not matter any more.
        let _ = self.stream.write_all(&self.out).await;
    }

    /// Sends the command in `out` and reads its reply.
    async fn exchange(&mut self) -> Result<Reply, Error> {
        self.stream
            .write_all(&self.out)
            .await
            .map_err(Error::Lost)?;
        loop {
            let reader = &mut self.reader;
            let reply = self
                .stream
                .receive(|bytes| reader.feed(bytes).transpose())
                .await
                .map_err(Error::Lost)?;
            if let Some(reply) = reply {
                return Ok(reply?);
            }
        }
    }
}

/// The server's refusal of `sql`, which is shortened.
fn refused(error: ServerError, sql: &str) -> Error {
    let mut statement: String = sql.chars().take(SHOWN_STATEMENT_CHARS).collect();
    if statement.len() < sql.len() {
        statement.push('…');
    }
    Error::Statement { error, statement }
}

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

async fn next_message(stream: &mut Stream, gatherer: &mut Gatherer) -> Result<Message, Error> {
    loop {
        if let Some(message) = gatherer.take_message()? {
            return Ok(message);
        }
        stream
            .receive(|bytes| {
                gatherer.push(bytes);
                None::<()>
            })
            .await
            .map_err(Error::Lost)?;
    }
}

/// A connection on its way to being open.
struct Handshake {
    stream: Stream,
    gatherer: Gatherer,
    greeting: Greeting,
    /// The number of the next packet to send.
    sequence: u8,
    login_capabilities: u32,
}

impl Handshake {
    async fn greet(mut stream: Stream) -> Result<Self, Error> {
        let mut gatherer = Gatherer::new(HANDSHAKE_LIMIT_BYTES);
        let message = match next_message(&mut stream, &mut gatherer).await {
            Ok(message) => message,
            // A peer that speaks another protocol is named by what it said.
            Err(_) if !gatherer.pending().is_empty() => {
                return Err(not_mysql(gatherer.pending()).into());
            }
            Err(error) => return Err(error),
        };
        let greeting = Greeting::parse(&message.payload)?.map_err(Error::Login)?;
        Ok(Self {
            stream,
            gatherer,
            greeting,
            sequence: message.sequence.wrapping_add(1),
            login_capabilities: 0,
        })
    }

    /// Goes on under TLS, as far as the user wants it and the server has it.
    async fn secure(&mut self, target: &Target) -> Result<(), Error> {
        let failed = |why: String| Error::Tls {
            server: target.shown(),
            why,
        };
        let Some((config, name)) = &target.tls else {
            return Ok(());
        };
        if !self.greeting.offers_tls() {
            return match target.tls_mode {
                TlsMode::Disable | TlsMode::Preferred => Ok(()),
                TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyFull => {
                    Err(failed("the server does not offer it".to_owned()))
                }
            };
        }
        let mut out = Vec::new();
        let login = Login {
            tls: true,
            ..login(target)
        };
        self.sequence = login.tls_request(&mut out, self.sequence, &self.greeting);
        self.stream.write_all(&out).await.map_err(Error::Lost)?;
        self.stream
            .start_tls(config.clone(), name.clone())
            .await
            .map_err(|error| failed(error.to_string()))
    }

    async fn authenticate(&mut self, target: &Target) -> Result<(), Error> {
        let login = Login {
            tls: self.stream.tls_description().is_some(),
            ..login(target)
        };
        self.login_capabilities = login.capabilities(&self.greeting);
        let secure = self.stream.is_secure();
        let (mut plugin, mut scramble) = self.first_plugin();
        let answer = auth::first_answer(&plugin, &target.password, &scramble, secure)?;
        let mut out = Vec::new();
        login.response(&mut out, self.sequence, &self.greeting, &plugin, &answer);
        self.stream.write_all(&out).await.map_err(Error::Lost)?;
        loop {
            match self.next().await? {
                Next::Ready => return Ok(()),
                Next::Refused(error) => return Err(Error::Login(error)),
                Next::Switch {
                    plugin: wanted,
                    scramble: nonce,
                } => {
                    (plugin, scramble) = (wanted, nonce);
                    let answer = auth::first_answer(&plugin, &target.password, &scramble, secure)?;
                    self.send(&answer).await?;
                }
                Next::More(data) if plugin == CACHING_SHA2 => {
                    self.caching_sha2(&data, &target.password, &scramble, secure)
                        .await?;
                }
                Next::More(_) => return Err(out_of_place()),
            }
        }
    }

    /// The server's favourite plugin, if dyno knows it; else one that makes the
    /// server ask for the account's own.
    fn first_plugin(&self) -> (String, Vec<u8>) {
        let known = [auth::NATIVE, CACHING_SHA2];
        let plugin = known
            .into_iter()
            .find(|known| *known == self.greeting.plugin)
            .unwrap_or(auth::NATIVE);
        (plugin.to_owned(), self.greeting.scramble.clone())
    }

    /// The second step of caching_sha2_password: nothing if the server knows the
    /// password's hash, else the password itself, under TLS or the server's key.
    async fn caching_sha2(
        &mut self,
        data: &[u8],
        password: &str,
        scramble: &[u8],
        secure: bool,
    ) -> Result<(), Error> {
        match data {
            [FAST_PATH_OK] => Ok(()),
            [FULL_PATH] if secure => self.send(&auth::clear(password)).await,
            [FULL_PATH] => {
                self.send(&[REQUEST_PUBLIC_KEY]).await?;
                let key = match self.next().await? {
                    Next::More(key) => key,
                    Next::Refused(error) => return Err(Error::Login(error)),
                    Next::Ready | Next::Switch { .. } => return Err(out_of_place()),
                };
                let encrypted = auth::encrypt_password(password, scramble, &key)?;
                self.send(&encrypted).await
            }
            _ => Err(out_of_place()),
        }
    }

    async fn next(&mut self) -> Result<Next, Error> {
        let message = next_message(&mut self.stream, &mut self.gatherer).await?;
        self.sequence = message.sequence.wrapping_add(1);
        Ok(Next::parse(&message.payload)?)
    }

    async fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut out = Vec::new();
        packet::write(&mut out, self.sequence, |out| {
            out.extend_from_slice(payload);
        });
        self.stream.write_all(&out).await.map_err(Error::Lost)
    }
}

fn login(target: &Target) -> Login<'_> {
    Login {
        user: &target.user,
        database: &target.database,
        tls: false,
    }
}
