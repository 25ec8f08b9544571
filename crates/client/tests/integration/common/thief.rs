//! The certificates of whoever is after a password.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use testkit::openssl;

/// The thief's TLS, with a certificate of its own for the name that the client asks for.
pub(crate) fn thiefs_tls() -> Arc<rustls::ServerConfig> {
    static TLS: OnceLock<Arc<rustls::ServerConfig>> = OnceLock::new();
    let made = TLS.get_or_init(|| {
        let files = tempfile::tempdir().unwrap();
        create_authority(files.path());
        let certificate = CertificateDer::from_pem_file(files.path().join("cert.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(files.path().join("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Arc::new(config)
    });
    Arc::clone(made)
}

/// Makes `cert.pem`, which signs itself, and its `key.pem`.
pub(crate) fn create_authority(files: &Path) {
    openssl(
        files,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 10 \
         -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem",
    );
}
