//! TLS: the five modes of MySQL's and PostgreSQL's clients, and what each of them verifies.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use plan::TlsMode;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::{Deserialize, Serialize};

/// Maximum size of a public key file.
const PUBLIC_KEY_LIMIT_BYTES: u64 = 1 << 20;

/// The user's TLS options, and whether an unverified server may get the password itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TlsOptions {
    /// `None`: [`TlsMode::VerifyFull`] with `ca`, otherwise [`TlsMode::Preferred`].
    pub mode: Option<TlsMode>,
    /// A file of trusted authorities (PEM) instead of the system's.
    pub ca: Option<PathBuf>,
    /// The only trusted authority (PEM), instead of a file.
    pub authority: Option<String>,
    /// The client's certificate chain (PEM)…
    pub certificate: Option<PathBuf>,
    /// …and its key (PEM).
    pub key: Option<PathBuf>,
    /// What is known about the server's RSA key.
    pub server_public_key: ServerPublicKey,
    /// Whether an unverified server may get the password in clear text (`mysql_clear_password`,
    /// PostgreSQL's method `password`).
    pub cleartext_plugin: bool,
}

/// The key with which `caching_sha2_password` and `sha256_password` encrypt the password for a
/// server that is not verified otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ServerPublicKey {
    /// Unknown: the server does not get the password.
    #[default]
    Unknown,
    /// Any key that the server presents is accepted: its RSA key, or that of its certificate.
    Accepted,
    Known(Vec<u8>),
}

impl ServerPublicKey {
    /// Reads the key from a file (PEM).
    pub fn read(file: &Path) -> Result<Self, String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let mut pem = Vec::new();
        let opened = std::fs::File::open(file);
        opened
            .and_then(|opened| opened.take(PUBLIC_KEY_LIMIT_BYTES).read_to_end(&mut pem))
            .map_err(|error| failed(&error))?;
        match wire::mysql::auth::check_public_key(&pem) {
            Ok(()) => Ok(Self::Known(pem)),
            Err(error) => Err(failed(&error)),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TlsFailure {
    #[error("the server does not offer it")]
    NotOffered,
    /// The server's certificate is for another name.
    #[error("{0}")]
    OtherName(rustls::CertificateError),
    #[error("the server's certificate is not trusted: {0}")]
    NotTrusted(rustls::CertificateError),
    /// Another error of the system or of rustls.
    #[error("{0}")]
    Other(std::io::Error),
}

impl From<std::io::Error> for TlsFailure {
    fn from(error: std::io::Error) -> Self {
        let rustls = error.get_ref().and_then(|error| error.downcast_ref());
        let Some(rustls::Error::InvalidCertificate(invalid)) = rustls else {
            return Self::Other(error);
        };
        match invalid {
            rustls::CertificateError::NotValidForName
            | rustls::CertificateError::NotValidForNameContext { .. } => {
                Self::OtherName(invalid.clone())
            }
            _ => Self::NotTrusted(invalid.clone()),
        }
    }
}

impl TlsFailure {
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::NotOffered => {
                "enable TLS on the server, or use --tls-mode preferred to continue without it"
            }
            Self::OtherName(_) => {
                "use the name in the server's certificate, or --tls-mode verify-ca to verify only who signed it"
            }
            Self::NotTrusted(_) => {
                "name the server's certificate authority with --tls-ca, or use --tls-mode preferred to skip verification"
            }
            Self::Other(_) => {
                "check the server's log; --tls-mode disable connects without TLS if the account allows it"
            }
        }
    }
}

impl TlsOptions {
    /// No TLS: for a server on this host, where nobody can eavesdrop.
    pub fn disabled() -> Self {
        Self {
            mode: Some(TlsMode::Disable),
            ..Self::default()
        }
    }

    /// The same for another machine: with the text of the authority in place of its file.
    pub fn elsewhere(&self) -> std::io::Result<Self> {
        let text = self.ca.as_ref().map(std::fs::read_to_string).transpose()?;
        Ok(Self {
            mode: Some(self.mode()),
            ca: None,
            authority: text.or_else(|| self.authority.clone()),
            ..self.clone()
        })
    }

    /// The mode, whether given or implied.
    pub fn mode(&self) -> TlsMode {
        match (self.mode, &self.ca) {
            (Some(mode), _) => mode,
            // Naming an authority implies verification.
            (None, Some(_)) => TlsMode::VerifyFull,
            (None, None) => TlsMode::Preferred,
        }
    }

    /// Rejects options that would have no effect: a user who names an authority or a certificate
    /// relies on it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mode = self.mode();
        let name = mode.name();
        if self.ca.is_some() && !mode.verifies() {
            return Err(format!(
                "the authority (--tls-ca, server.tls.ca) would not be used: mode {name} does not verify the server's certificate; choose verify-ca or verify-full, or omit the mode"
            ));
        }
        if self.certificate.is_some() && mode == TlsMode::Disable {
            return Err(format!(
                "the client's certificate (--tls-cert, server.tls.cert) would not be used with mode {name}; choose another mode"
            ));
        }
        Ok(())
    }

    pub(crate) fn client_config(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = self.verifier(&provider)?;
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let key_der = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| format!("{}: no private key: {error}", key.display()))?;
                builder
                    .with_client_auth_cert(certificates(certificate)?, key_der)
                    .map_err(|error| format!("{}: {error}", certificate.display()))?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => return Err("a client certificate needs both --tls-cert and --tls-key".to_owned()),
        };
        Ok(Arc::new(config))
    }

    fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, String> {
        let mode = self.mode();
        let mut web_pki = None;
        if mode.verifies() {
            let roots = Arc::new(self.roots()?);
            let built =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
            web_pki = Some(built.map_err(|error| error.to_string())?);
        }
        Ok(Arc::new(Verifier {
            mode,
            web_pki,
            provider: Arc::clone(provider),
        }))
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        let trusted = match (&self.authority, &self.ca) {
            (Some(pem), _) => CertificateDer::pem_slice_iter(pem.as_bytes())
                .collect::<Result<_, _>>()
                .map_err(|error| error.to_string())?,
            (None, Some(file)) => certificates(file)?,
            (None, None) => rustls_native_certs::load_native_certs().certs,
        };
        roots.add_parsable_certificates(trusted);
        if roots.is_empty() {
            return Err(
                "no trusted certificate authority was found; name one with --tls-ca".to_owned(),
            );
        }
        Ok(roots)
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("{}: no certificate: {error}", file.display());
    let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| failed(&error))?;
    if certificates.is_empty() {
        return Err(failed(&"the file contains none"));
    }
    Ok(certificates)
}

/// Verifies as much of the server's certificate as the mode requires.
#[derive(Debug)]
struct Verifier {
    mode: TlsMode,
    /// `None` if the mode verifies nothing.
    web_pki: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    // Without verifying the certificate, verifying its signatures gains nothing, and would
    // exclude servers whose certificate webpki cannot parse.
    fn verify_signature(
        &self,
        verify: impl FnOnce(
            &WebPkiSupportedAlgorithms,
        ) -> Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.web_pki {
            None => Ok(HandshakeSignatureValid::assertion()),
            Some(_) => verify(&self.provider.signature_verification_algorithms),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(web_pki) = &self.web_pki else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            web_pki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The chain is verified before the name.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.mode == TlsMode::VerifyCa => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify_signature(|algorithms| verify_tls12_signature(message, cert, dss, algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify_signature(|algorithms| verify_tls13_signature(message, cert, dss, algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
