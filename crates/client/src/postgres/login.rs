//! From a socket to an open connection: TLS, startup, authentication.

use std::ops::RangeInclusive;

use wire::ProtocolError;
use wire::gather::Gatherer;
use wire::postgres::certificate;
use wire::postgres::login::{
    self, Authentication, Next, TLS_ACCEPTED, TLS_REFUSED, may_be_postgres, not_postgres,
};
use wire::postgres::message::HEADER_BYTES;
use wire::postgres::scram::{ChannelBinding, SCRAM_SHA_256_PLUS, Scram};

use super::protocol::Postgres;
use super::target::{ChannelBindingMode, Target};
use crate::channel::Withheld;
use crate::connection::Protocol;
use crate::error::Error;
use crate::net::Stream;
use crate::reactor::Permit;

const MAJORS: RangeInclusive<u32> = 13..=18;

/// Maximum length of a message during the login.
const LOGIN_LIMIT_BYTES: usize = 1 << 20;
/// Random bytes of a nonce, as libpq's.
const NONCE_BYTES: usize = 18;

/// Connects and logs in. The permit is returned as soon as the server answers.
pub(super) async fn log_in(target: &Target, permit: Permit) -> Result<(Stream, Postgres), Error> {
    let mut login = Login {
        stream: target.endpoint.connect(target).await?,
        gatherer: Gatherer::new(LOGIN_LIMIT_BYTES),
        target,
    };
    login.secure().await?;
    login.start().await?;
    drop(permit);
    login.authenticate().await?;
    login.wait_until_ready().await
}

struct Login<'a> {
    stream: Stream,
    gatherer: Gatherer,
    target: &'a Target,
}

impl<'a> Login<'a> {
    /// Starts TLS if the user wants it and the server supports it.
    async fn secure(&mut self) -> Result<(), Error> {
        let endpoint = &self.target.endpoint;
        if !endpoint.wants_tls() {
            return Ok(());
        }
        self.send(login::request_tls).await?;
        self.stream.gather(&mut self.gatherer).await?;
        // The answer is one byte. Clear text that follows it must not be mistaken for data that TLS
        // protected.
        let answer = match *self.gatherer.pending() {
            [answer @ (TLS_ACCEPTED | TLS_REFUSED)] => answer,
            ref other => return Err(not_postgres(other).into()),
        };
        self.gatherer = Gatherer::new(LOGIN_LIMIT_BYTES);
        match answer {
            TLS_REFUSED => endpoint.without_tls(self.target),
            _ => endpoint.start_tls(&mut self.stream, self.target).await,
        }
    }

    /// Sends the startup message, and waits until the server proves to be PostgreSQL.
    async fn start(&mut self) -> Result<(), Error> {
        let target = self.target;
        let mut parameters = vec![
            ("user", target.user.as_str()),
            ("database", &target.database),
            ("client_encoding", "UTF8"),
            ("application_name", &target.application_name),
        ];
        parameters.extend(target.options.as_deref().map(|text| ("options", text)));
        self.send(|out| login::start(out, &parameters)).await?;
        while self.gatherer.pending().len() < HEADER_BYTES {
            self.stream.gather(&mut self.gatherer).await?;
            if !may_be_postgres(self.gatherer.pending()) {
                return Err(not_postgres(self.gatherer.pending()).into());
            }
        }
        Ok(())
    }

    async fn authenticate(&mut self) -> Result<(), Error> {
        // A server may make a single request: a second one could only serve to get more out of the
        // client than the first.
        let mut was_asked = false;
        let mut is_bound = false;
        loop {
            let request = match self.next().await? {
                Next::Authentication(request) => request,
                Next::Refused(error) => return Err(Error::Login(Postgres::refusal(error))),
                Next::Parameter { .. } | Next::Other => continue,
                Next::Backend { .. } | Next::Ready => return Err(Error::out_of_turn()),
            };
            let is_required = self.target.channel_binding == ChannelBindingMode::Require;
            match request {
                Authentication::Ok if is_required && !is_bound => {
                    return Err(self.withheld(Withheld::NotBound));
                }
                Authentication::Ok => return Ok(()),
                _ if was_asked => return Err(Error::out_of_turn()),
                Authentication::Sasl(mechanisms) => is_bound = self.scram(&mechanisms).await?,
                Authentication::Cleartext | Authentication::Md5(_) if is_required => {
                    return Err(self.withheld(Withheld::NotBound));
                }
                Authentication::Cleartext => self.send_cleartext().await?,
                Authentication::Md5(salt) => {
                    let proof = login::md5_proof(&self.target.user, self.password()?, salt);
                    self.send(|out| login::password(out, &proof)).await?;
                }
                Authentication::SaslContinue(_) | Authentication::SaslFinal(_) => {
                    return Err(Error::out_of_turn());
                }
            }
            was_asked = true;
        }
    }

    /// Sends the password itself, if the server may have it.
    async fn send_cleartext(&mut self) -> Result<(), Error> {
        let channel = self.target.endpoint.channel(&self.stream);
        if !channel.is_trusted() && !self.target.tls.cleartext_plugin {
            return Err(self.withheld(Withheld::PasswordMethod));
        }
        let password = self.password()?;
        self.send(|out| login::password(out, password)).await
    }

    /// Proves knowledge of the password, and checks that the server knows it, too. Returns whether
    /// the proof is bound to the TLS connection.
    async fn scram(&mut self, mechanisms: &[String]) -> Result<bool, Error> {
        let binding = self.channel_binding(mechanisms);
        let is_bound = matches!(binding, ChannelBinding::EndPoint(_));
        if self.target.channel_binding == ChannelBindingMode::Require && !is_bound {
            return Err(self.withheld(Withheld::NotBound));
        }
        let mechanism = binding.mechanism();
        if !mechanisms.iter().any(|offered| offered == mechanism) {
            let offered = format!("SASL ({})", mechanisms.join(", "));
            return Err(login::unsupported(offered).into());
        }
        let password = self.password()?;
        let scram = Scram::new(&nonce()?, binding);
        self.send(|out| login::sasl_first(out, mechanism, &scram.first()))
            .await?;
        let Authentication::SaslContinue(challenge) = self.next_of_sasl().await? else {
            return Err(Error::out_of_turn());
        };
        let (last, proven) = scram.prove(password, &challenge)?;
        self.send(|out| login::sasl_next(out, &last)).await?;
        let Authentication::SaslFinal(outcome) = self.next_of_sasl().await? else {
            return Err(Error::out_of_turn());
        };
        proven.verify(&outcome)?;
        Ok(is_bound)
    }

    fn channel_binding(&self, mechanisms: &[String]) -> ChannelBinding {
        let certificate = self.stream.peer_certificate();
        let end_point = certificate.and_then(certificate::end_point);
        let is_offered = mechanisms
            .iter()
            .any(|offered| offered == SCRAM_SHA_256_PLUS);
        match end_point {
            _ if self.target.channel_binding == ChannelBindingMode::Disable => {
                ChannelBinding::Unsupported
            }
            Some(data) if is_offered => ChannelBinding::EndPoint(data),
            Some(_) => ChannelBinding::NotOffered,
            None => ChannelBinding::Unsupported,
        }
    }

    async fn next_of_sasl(&mut self) -> Result<Authentication, Error> {
        loop {
            match self.next().await? {
                Next::Authentication(request) => return Ok(request),
                Next::Refused(error) => return Err(Error::Login(Postgres::refusal(error))),
                Next::Other => {}
                _ => return Err(Error::out_of_turn()),
            }
        }
    }

    /// Reads what the server reports about itself.
    async fn wait_until_ready(mut self) -> Result<(Stream, Postgres), Error> {
        let mut server = Postgres::default();
        loop {
            match self.next().await? {
                Next::Ready => break,
                Next::Parameter { name, value } if name == "server_version" => {
                    server.server_version = value;
                }
                Next::Parameter { .. } | Next::Other => {}
                Next::Backend { pid } => server.backend_pid = pid,
                Next::Refused(error) => return Err(Error::Login(Postgres::refusal(error))),
                Next::Authentication(_) => return Err(Error::out_of_turn()),
            }
        }
        if let [kind, ..] = *self.gatherer.pending() {
            return Err(ProtocolError::unexpected(kind, "after the login").into());
        }
        check_version(self.target, &server.server_version)?;
        Ok((self.stream, server))
    }

    async fn next(&mut self) -> Result<Next, Error> {
        let message = self.stream.next_message(&mut self.gatherer).await?;
        Ok(Next::parse(&message)?)
    }

    /// Sends what `write` appends.
    async fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        let mut out = Vec::new();
        write(&mut out);
        self.stream.write_all(&out).await.map_err(Error::Lost)
    }

    fn password(&self) -> Result<&'a str, Error> {
        match &self.target.password {
            Ok(password) => Ok(password),
            Err(why) => Err(Error::NoPassword {
                server: self.target.to_string(),
                why: why.clone(),
            }),
        }
    }

    fn withheld(&self, why: Withheld) -> Error {
        Error::Withheld {
            server: self.target.to_string(),
            why,
        }
    }
}

fn check_version(target: &Target, version: &str) -> Result<(), Error> {
    let digits = version.bytes().take_while(u8::is_ascii_digit).count();
    match version[..digits].parse::<u32>() {
        Ok(major) if MAJORS.contains(&major) => Ok(()),
        _ => Err(Error::Unsupported {
            server: target.to_string(),
            version: format!("PostgreSQL {version}"),
            supported: format!("PostgreSQL {} to {}", MAJORS.start(), MAJORS.end()),
        }),
    }
}

/// Printable random characters.
pub(super) fn nonce() -> Result<String, Error> {
    let mut bytes = [0; NONCE_BYTES];
    let random = rustls::crypto::ring::default_provider().secure_random;
    let failed = |_| ProtocolError::Authentication("the system has no random numbers".to_owned());
    random.fill(&mut bytes).map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
