//! The certificate by which the servers of a cluster recognize each other.

use std::net::IpAddr;

use plan::Failure;
use rcgen::{
    BasicConstraints, Certificate as Signed, CertificateParams, DnType, Error,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde::{Deserialize, Serialize};

use crate::launch::ServerFile;

/// The names of the certificate's files. A server finds them by these names if they are in its data
/// directory, which is its working directory.
pub(crate) const AUTHORITY_FILE: &str = "dyno-ca.pem";
pub(crate) const CERTIFICATE_FILE: &str = "dyno-cert.pem";
pub(crate) const KEY_FILE: &str = "dyno-key.pem";

/// A certificate and key for one run, and the authority that signed it, whose own key is gone. All
/// servers and services of a cluster use this certificate and trust no other: only holders of the
/// key are admitted.
#[derive(Clone, Serialize, Deserialize)]
pub struct Certificate {
    pub authority: String,
    pub certificate: String,
    pub key: String,
}

impl Certificate {
    /// The servers at these addresses are also each other's clients.
    pub fn generate(addresses: impl IntoIterator<Item = IpAddr>) -> Result<Self, Failure> {
        let names = addresses.into_iter().map(|address| address.to_string());
        let generated = authority().and_then(|(signed, issuer)| {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::new(names.collect::<Vec<_>>())?;
            params.distinguished_name.push(DnType::CommonName, "dyno");
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![
                ExtendedKeyUsagePurpose::ServerAuth,
                ExtendedKeyUsagePurpose::ClientAuth,
            ];
            Ok(Self {
                authority: signed.pem(),
                certificate: params.signed_by(&key, &issuer)?.pem(),
                key: key.serialize_pem(),
            })
        });
        generated.map_err(|error| {
            let message = format!("cannot generate a certificate: {error}");
            Failure::internal(message)
        })
    }

    /// The file by which others verify holders of the key.
    pub(crate) fn authority_file(&self) -> ServerFile {
        ServerFile::new(AUTHORITY_FILE, &*self.authority)
    }

    /// The files for the directory of a server or a service.
    pub(crate) fn files(&self) -> [ServerFile; 3] {
        [
            self.authority_file(),
            ServerFile::new(CERTIFICATE_FILE, &*self.certificate),
            ServerFile::new(KEY_FILE, &*self.key),
        ]
    }
}

/// A certificate authority and the issuer that signs certificates for it.
fn authority() -> Result<(Signed, Issuer<'static, KeyPair>), Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    let name = &mut params.distinguished_name;
    name.push(DnType::CommonName, "dyno-authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let signed = params.self_signed(&key)?;
    Ok((signed, Issuer::new(params, key)))
}
