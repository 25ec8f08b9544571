//! The server under load, and how to log in to it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::fleet::is_loopback;
use crate::{Spanned, redact_url};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSpec {
    /// Started for the study, and stopped after it.
    Engine(Box<EngineSpec>),
    /// Already running: its address, and how to log in.
    Url(Spanned<ServerUrl>, Box<LoginSpec>),
}

impl ServerSpec {
    /// Whether each trial starts the server anew from its own data. Otherwise, trials share one running
    /// server.
    pub fn is_restarted(&self) -> bool {
        matches!(self, Self::Engine(spec) if spec.reset != Reset::None)
    }

    /// Number of hosts that its address names; 1 without an address.
    pub fn hosts(&self) -> u32 {
        let Self::Url(url, _) = self else { return 1 };
        u32::try_from(url.hosts().count()).unwrap_or(u32::MAX)
    }
}

/// How to log in to a server that is already running.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginSpec {
    /// TLS mode; `None`: the other keys imply it.
    pub tls_mode: Option<TlsMode>,
    pub tls_ca: Option<PathBuf>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// Whether to accept any public key that the server presents.
    pub get_server_public_key: bool,
    pub server_public_key_path: Option<PathBuf>,
    /// Whether the password may be sent in clear text.
    pub enable_cleartext_plugin: bool,
}

choice! {
    /// Whether to use TLS, and what to verify.
    TlsMode {
        Disable = "disable",
        Preferred = "preferred",
        Required = "required",
        VerifyCa = "verify-ca",
        VerifyFull = "verify-full",
    }
}

impl TlsMode {
    pub fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyFull)
    }
}

/// A server that dyno starts. For an engine that is not a process of its own, every field but
/// `engine` has its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineSpec {
    /// Name of the engine, one of the [`crate::EngineTraits`] that the study was read with.
    pub engine: Spanned<String>,
    /// Absolute path of the directory that its programs are in; `None`: the usual places.
    pub basedir: Option<Spanned<PathBuf>>,
    /// Leading components of the required version, such as `10.11`. See [`EngineSpec::has_version`].
    pub version: Option<Spanned<String>>,
    /// Port of the first instance, from 1024; the others take the ports that follow. `None`: any free
    /// ports.
    pub port: Option<Spanned<u16>>,
    /// Settings for its option file in order of name, names with `_` for `-` and
    /// without duplicates. Values have no control characters and at most 1,000 bytes,
    /// but are not yet quoted for the file.
    pub config: Vec<(String, Spanned<String>)>,
    pub reset: Reset,
    /// Whether new data is on disk and out of the page cache before its server starts.
    pub cold_data: bool,
}

impl EngineSpec {
    /// Whether a server of version `actual`, such as `10.11.14`, satisfies the study.
    pub fn has_version(&self, actual: &str) -> bool {
        self.version.as_ref().is_none_or(|wanted| {
            let rest = actual.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    }
}

choice! {
    /// How a trial gets its data.
    #[derive(Default)]
    Reset {
        #[default]
        Copy = "copy",
        Rebuild = "rebuild",
        None = "none",
    }
}

/// The address of a server. Shown or stored, it has no password; only [`ServerUrl::expose`]
/// has it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ServerUrl(String);

impl ServerUrl {
    /// The address as typed, with its password: for connecting, never for showing.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether only this machine reaches it.
    pub fn is_loopback(&self) -> bool {
        let is_local = |host: &str| host.is_empty() || is_loopback(host);
        self.hosts().all(is_local)
    }

    /// The hosts that it names, without their ports.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split(['/', '?']).next().unwrap_or("");
        let hosts = authority.rsplit('@').next().unwrap_or("");
        hosts.split(',').map(|host| match host.rsplit_once(':') {
            Some((name, _)) if name.ends_with(']') || !name.contains(':') => name,
            _ => host,
        })
    }
}

impl From<String> for ServerUrl {
    fn from(typed: String) -> Self {
        Self(typed)
    }
}

impl From<ServerUrl> for String {
    fn from(url: ServerUrl) -> Self {
        url.to_string()
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redact_url(&self.0))
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_address_has_no_password() {
        let url = ServerUrl::from("any://u:hidden@h/db".to_owned());
        let stored = serde_json::to_string(&url).unwrap();
        assert_eq!(stored, "\"any://u:***@h/db\"");
        assert!(!format!("{url:?}").contains("hidden"));
    }
}
