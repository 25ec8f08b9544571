//! Whoever is after a password.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use client::{Connection, Protocol, TlsMode, TlsOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::certificates::{authority, key_of};
use super::peer::Peer;
use super::{ALL_MODES, PATIENCE, run, trusting};

pub(crate) const PASSWORD: &str = "hush-hush";

/// The thief's TLS, with a certificate of its own for the name that the client asks for.
pub(crate) fn thiefs_tls() -> rustls::ServerConnection {
    static TLS: OnceLock<Arc<rustls::ServerConfig>> = OnceLock::new();
    let made = TLS.get_or_init(|| {
        let files = tempfile::tempdir().unwrap();
        let file = authority(files.path(), "localhost");
        let certificate = CertificateDer::from_pem_file(&file).unwrap();
        let key = PrivateKeyDer::from_pem_file(key_of(&file)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Arc::new(config)
    });
    rustls::ServerConnection::new(Arc::clone(made)).unwrap()
}

/// A trusted authority that has nothing to do with the thief.
fn other_authority() -> PathBuf {
    static FILES: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, file) = FILES.get_or_init(|| {
        let files = tempfile::tempdir().unwrap();
        let file = authority(files.path(), "localhost");
        (files, file)
    });
    file.clone()
}

/// This mode, with an authority where it needs one.
pub(crate) fn options(mode: Option<TlsMode>) -> TlsOptions {
    mode.map_or_else(TlsOptions::default, |mode| {
        trusting(other_authority(), mode)
    })
}

/// Every mode, and none.
pub(crate) fn modes() -> impl Iterator<Item = Option<TlsMode>> {
    ALL_MODES.into_iter().map(Some).chain([None])
}

/// What a thief hears from a client, whose own words never give the password away.
pub(crate) fn heard<P: Protocol>(thief: Peer<Vec<Vec<u8>>>, target: &P::Target) -> Vec<Vec<u8>> {
    // It may even believe that it has logged in.
    match run(Connection::<P>::open_within(PATIENCE, target)) {
        Ok(connection) => drop(connection),
        Err(error) => {
            let text = format!("{error} {error:?} {:?}", error.remedy());
            assert!(!text.contains(PASSWORD), "{text}");
        }
    }
    thief.end()
}

/// Whether the password is among these bytes.
pub(crate) fn holds_password(bytes: &[u8]) -> bool {
    let mut parts = bytes.windows(PASSWORD.len());
    parts.any(|part| part == PASSWORD.as_bytes())
}
