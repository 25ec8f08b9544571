//! Where a server listens, and how the connection to it is secured.

use std::fmt::Display;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS};
use rustls::pki_types::ServerName;

use crate::channel::Channel;
use crate::error::Error;
use crate::net::{Address, Stream};
use crate::tls::{TlsFailure, TlsMode, TlsOptions};

/// Why a URL or an option does not name a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("{0}")]
    Url(String),
    #[error("the host {host:?} was not found: {why}; check the name, or write the address")]
    Host {
        /// As the user wrote it.
        host: String,
        why: String,
    },
    /// TLS options that cannot work.
    #[error("TLS: {0}")]
    Tls(String),
}

impl From<TargetError> for plan::Failure {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Host { .. } => Self::server(error),
            TargetError::Url(_) | TargetError::Tls(_) => Self::usage(error),
        }
    }
}

/// The advice about characters that have a meaning in URLs.
pub(crate) const RESERVED: &str = "the URL has a '#', or an '@' after its host; in a password or a name write # as %23, @ as %40, / as %2F, ? as %3F, % as %25";

/// Characters that a value in a URL's query cannot contain unencoded.
pub(crate) const IN_QUERY: AsciiSet = CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'\'');
/// Characters that a user or a database in a URL cannot contain unencoded.
pub(crate) const IN_NAME: AsciiSet = IN_QUERY.add(b'/').add(b':').add(b'?').add(b'@');

type Tls = (Arc<rustls::ClientConfig>, ServerName<'static>);

/// Where a server listens, and how the connection to it is secured.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) address: Address,
    /// The host as the user wrote it, for messages and certificates; for a Unix socket, its
    /// directory or `localhost`.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls_mode: TlsMode,
    tls: Option<Tls>,
}

impl Endpoint {
    /// A host's port, or a Unix socket, where the protocol may have no TLS (`has_unix_tls`).
    pub(crate) fn new(
        host: String,
        port: u16,
        socket: Option<PathBuf>,
        has_unix_tls: bool,
        options: &TlsOptions,
    ) -> Result<Self, TargetError> {
        options.check().map_err(TargetError::Tls)?;
        let (address, tls_mode) = match (socket, options.mode()) {
            // Nobody can eavesdrop on a Unix socket.
            (Some(path), TlsMode::Preferred) => (Address::Unix(path), TlsMode::Disable),
            (Some(path), _) if !has_unix_tls => (Address::Unix(path), TlsMode::Disable),
            (Some(path), mode) => (Address::Unix(path), mode),
            (None, mode) => (resolve(&host, port)?, mode),
        };
        let tls = match tls_mode {
            TlsMode::Disable => None,
            _ => Some(tls_of(&host, options).map_err(TargetError::Tls)?),
        };
        Ok(Self {
            address,
            host,
            port,
            tls_mode,
            tls,
        })
    }

    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        match &self.address {
            Address::Unix(_) => &[],
            Address::Tcp(addresses) => addresses,
        }
    }

    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// Connects; `server` names it in errors.
    pub(crate) async fn connect(&self, server: &impl Display) -> Result<Stream, Error> {
        let connected = Stream::connect(&self.address).await;
        connected.map_err(|source| Error::Connect {
            server: server.to_string(),
            source,
        })
    }

    /// Whether to use TLS if the server offers it.
    pub(crate) fn wants_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Continues a connection under TLS; `server` names it in errors.
    pub(crate) async fn start_tls(
        &self,
        stream: &mut Stream,
        server: &impl Display,
    ) -> Result<(), Error> {
        let Some((config, name)) = &self.tls else {
            return Ok(());
        };
        let started = stream.start_tls(config.clone(), name.clone()).await;
        started.map_err(|error| Error::Tls {
            server: server.to_string(),
            why: error.into(),
        })
    }

    /// Continues without TLS, which the server does not offer, unless TLS is required.
    pub(crate) fn without_tls(&self, server: &impl Display) -> Result<(), Error> {
        match self.tls_mode {
            TlsMode::Disable | TlsMode::Preferred => Ok(()),
            TlsMode::Required | TlsMode::VerifyCa | TlsMode::VerifyFull => Err(Error::Tls {
                server: server.to_string(),
                why: TlsFailure::NotOffered,
            }),
        }
    }

    /// How far the connection can be trusted.
    pub(crate) fn channel(&self, stream: &Stream) -> Channel {
        Channel {
            is_unix: matches!(self.address, Address::Unix(_)),
            has_tls: stream.tls_description().is_some(),
            is_verified: self.tls_mode.verifies(),
        }
    }
}

fn resolve(host: &str, port: u16) -> Result<Address, TargetError> {
    let failed = |why: String| TargetError::Host {
        host: host.to_owned(),
        why,
    };
    let found = (host, port).to_socket_addrs();
    let addresses: Vec<_> = found.map_err(|error| failed(error.to_string()))?.collect();
    match addresses.is_empty() {
        true => Err(failed("it has no address".to_owned())),
        false => Ok(Address::Tcp(addresses)),
    }
}

fn tls_of(host: &str, options: &TlsOptions) -> Result<Tls, String> {
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| format!("{host:?} cannot be in a certificate"))?;
    Ok((options.client_config()?, name))
}
