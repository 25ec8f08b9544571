//! The certificate of a cluster's services.

use std::fmt;
use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::error::{Cause, EngineError};

/// A self-signed certificate for one run, with its key. A service and its clients all have it, and
/// trust no other: who has the key is admitted.
#[derive(Clone)]
pub struct Certificate {
    /// The certificate (PEM).
    pub certificate: String,
    /// Its private key (PEM).
    pub key: String,
}

/// The key is hidden.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate(***)")
    }
}

impl Certificate {
    /// Generates a certificate for a service at this address and for its clients.
    ///
    /// # Errors
    /// When the operating system has no random bytes.
    pub fn generate(address: IpAddr) -> Result<Self, EngineError> {
        let generated = KeyPair::generate().and_then(|key| {
            let mut params = CertificateParams::new([address.to_string()])?;
            params.distinguished_name.push(DnType::CommonName, "dyno");
            params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            params.key_usages = vec![
                KeyUsagePurpose::KeyCertSign,
                KeyUsagePurpose::DigitalSignature,
            ];
            params.extended_key_usages = vec![
                ExtendedKeyUsagePurpose::ServerAuth,
                ExtendedKeyUsagePurpose::ClientAuth,
            ];
            let certificate = params.self_signed(&key)?;
            Ok(Self {
                certificate: certificate.pem(),
                key: key.serialize_pem(),
            })
        });
        generated.map_err(|error| {
            let message = format!("cannot generate a certificate: {error}");
            EngineError::failed(Cause::Internal, message)
        })
    }
}
