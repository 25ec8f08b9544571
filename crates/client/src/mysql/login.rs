//! From a socket to an open connection: greeting, TLS, authentication.

use wire::gather::Gatherer;
use wire::mysql::auth::{
    self, CACHING_SHA2, FAST_PATH_OK, FULL_PATH, REQUEST_PUBLIC_KEY, REQUEST_PUBLIC_KEY_SHA256,
    SHA256,
};
use wire::mysql::handshake::{Greeting, Login, Next, may_be_mysql, not_mysql};
use wire::mysql::packet::{self, Message};
use wire::{ProtocolError, ServerError};

use super::password::{Delivery, delivery};
use super::protocol::Mysql;
use super::target::Target;
use crate::connection::Protocol;
use crate::error::Error;
use crate::net::Stream;
use crate::reactor::Permit;

/// Maximum length of a message during the handshake.
const HANDSHAKE_LIMIT_BYTES: usize = 1 << 20;

/// Connects and logs in. The permit is returned as soon as the server greets.
pub(super) async fn log_in(target: &Target, permit: Permit) -> Result<(Stream, Mysql), Error> {
    let stream = target.endpoint.connect(target).await?;
    let mut handshake = Handshake::greet(stream).await?;
    drop(permit);
    handshake.secure(target).await?;
    let capabilities = handshake.authenticate(target).await?;
    handshake.expect_no_more("after the login")?;
    let protocol = Mysql::new(handshake.greeting, capabilities);
    Ok((handshake.stream, protocol))
}

struct Handshake {
    stream: Stream,
    gatherer: Gatherer,
    greeting: Greeting,
    /// The number of the next packet to send.
    sequence: u8,
}

impl Handshake {
    async fn greet(mut stream: Stream) -> Result<Self, Error> {
        let mut gatherer = Gatherer::new(HANDSHAKE_LIMIT_BYTES);
        let message = loop {
            if !may_be_mysql(gatherer.pending()) {
                return Err(not_mysql(gatherer.pending()).into());
            }
            if let Some(message) = gatherer.take_message::<Message>()? {
                break message;
            }
            stream.gather(&mut gatherer).await?;
        };
        let greeting = Greeting::parse(&message.payload)?.map_err(login_refused)?;
        Ok(Self {
            stream,
            gatherer,
            greeting,
            sequence: message.sequence.wrapping_add(1),
        })
    }

    /// Checks that no more bytes have arrived: it is the client's turn.
    fn expect_no_more(&self, place: &'static str) -> Result<(), ProtocolError> {
        match self.gatherer.pending() {
            [] => Ok(()),
            [first, ..] => Err(ProtocolError::unexpected(*first, place)),
        }
    }

    /// Starts TLS if the user wants it and the server supports it.
    async fn secure(&mut self, target: &Target) -> Result<(), Error> {
        let endpoint = &target.endpoint;
        if !endpoint.wants_tls() {
            return Ok(());
        }
        if !self.greeting.offers_tls() {
            return endpoint.without_tls(target);
        }
        // Clear text must not be mistaken for data that TLS protected.
        self.expect_no_more("between the greeting and TLS")?;
        let mut out = Vec::new();
        let login = login(target, true);
        self.sequence = login.tls_request(&mut out, self.sequence, &self.greeting);
        self.stream.write_all(&out).await.map_err(Error::Lost)?;
        endpoint.start_tls(&mut self.stream, target).await
    }

    /// Returns the capabilities of both sides.
    async fn authenticate(&mut self, target: &Target) -> Result<u64, Error> {
        let login = login(target, self.stream.tls_description().is_some());
        // The server's default plugin if dyno supports it; otherwise one that makes the server
        // request the account's own.
        let plugin = match self.greeting.plugin.as_str() {
            CACHING_SHA2 => CACHING_SHA2,
            _ => auth::NATIVE,
        };
        let (mut plugin, mut scramble) = (plugin.to_owned(), self.greeting.scramble.clone());
        // None of these plugins requests the password itself at once.
        let proof = auth::first_answer(&plugin, &target.password, &scramble)?;
        let proof = proof.unwrap_or_default();
        let mut out = Vec::new();
        login.response(&mut out, self.sequence, &self.greeting, &plugin, &proof);
        self.stream.write_all(&out).await.map_err(Error::Lost)?;
        loop {
            match self.next().await? {
                Next::Ready => return Ok(login.capabilities(&self.greeting)),
                Next::Refused(error) => return Err(login_refused(error)),
                Next::Switch {
                    plugin: wanted,
                    scramble: nonce,
                } => {
                    (plugin, scramble) = (wanted, nonce);
                    match auth::first_answer(&plugin, &target.password, &scramble)? {
                        Some(proof) => self.send(&proof).await?,
                        None => self.send_password(target, &plugin, &scramble).await?,
                    }
                }
                Next::More(data) if plugin == CACHING_SHA2 => match data.as_slice() {
                    [FAST_PATH_OK] => {}
                    [FULL_PATH] => self.send_password(target, &plugin, &scramble).await?,
                    _ => return Err(Error::out_of_turn()),
                },
                Next::More(_) => return Err(Error::out_of_turn()),
            }
        }
    }

    /// Sends the password itself, if the server may have it.
    async fn send_password(
        &mut self,
        target: &Target,
        plugin: &str,
        scramble: &[u8],
    ) -> Result<(), Error> {
        let channel = target.endpoint.channel(&self.stream);
        let delivery = delivery(&target.tls, plugin, channel);
        let delivery = delivery.map_err(|why| Error::Withheld {
            server: target.to_string(),
            why,
        })?;
        let password = &target.password;
        let payload = match delivery {
            Delivery::Clear => auth::clear(password),
            Delivery::Encrypted(key) => auth::encrypt_password(password, scramble, key)?,
            Delivery::EncryptedWithOfferedKey => {
                let key = self.request_public_key(plugin).await?;
                auth::encrypt_password(password, scramble, &key)?
            }
        };
        self.send(&payload).await
    }

    async fn request_public_key(&mut self, plugin: &str) -> Result<Vec<u8>, Error> {
        let request = match plugin {
            SHA256 => REQUEST_PUBLIC_KEY_SHA256,
            _ => REQUEST_PUBLIC_KEY,
        };
        self.send(&[request]).await?;
        match self.next().await? {
            Next::More(key) => Ok(key),
            Next::Refused(error) => Err(login_refused(error)),
            Next::Ready | Next::Switch { .. } => Err(Error::out_of_turn()),
        }
    }

    async fn next(&mut self) -> Result<Next, Error> {
        let message: Message = self.stream.next_message(&mut self.gatherer).await?;
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

fn login_refused(error: ServerError) -> Error {
    Error::Login(Mysql::refusal(Box::new(error)))
}

fn login(target: &Target, tls: bool) -> Login<'_> {
    Login {
        user: &target.user,
        database: &target.database,
        tls,
    }
}
