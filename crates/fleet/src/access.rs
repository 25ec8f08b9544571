//! How to reach a nats-server.

use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};

use async_nats::ConnectOptions;
use nkeys::KeyPair;
use plan::{Failure, ServerUrl};

/// How to reach a nats-server: its address, and what proves who is at either end. Does not implement
/// `Debug`, so that nothing prints a password.
#[derive(Clone)]
pub struct Access {
    /// `nats://host:4222` or `tls://host:4222`.
    pub url: ServerUrl,
    /// The authority that signed the server's certificate (PEM), in place of the system's.
    pub ca: Option<PathBuf>,
    /// The certificate of this client (PEM) and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// A file of credentials: a JWT and its seed.
    pub credentials: Option<PathBuf>,
    /// A file with the seed of an nkey.
    pub nkey: Option<PathBuf>,
    /// A user and its password, unless they are in the address.
    pub user: Option<(String, String)>,
}

impl Access {
    /// Without a proof of who is at either end, besides those in the URL.
    pub fn new(url: ServerUrl) -> Self {
        Self {
            url,
            ca: None,
            certificate: None,
            credentials: None,
            nkey: None,
            user: None,
        }
    }

    /// The options of a connection with this `name`.
    pub(crate) fn options(&self, name: &str) -> Result<ConnectOptions, Failure> {
        let mut options = ConnectOptions::new().name(name);
        // Orders have the passwords of servers.
        options = options.require_tls(!self.url.is_loopback());
        let certificate = self.certificate.iter().flat_map(|(one, key)| [one, key]);
        for file in self.ca.iter().chain(certificate) {
            File::open(file).map_err(Failure::at("read", file))?;
        }
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        if let Some(file) = &self.credentials {
            let text = std::fs::read_to_string(file).map_err(Failure::at("read", file))?;
            let taken = options.credentials(&text);
            options = taken.map_err(|why| useless(file, &why, CREDENTIALS))?;
        }
        if let Some(file) = &self.nkey {
            let seed = std::fs::read_to_string(file).map_err(Failure::at("read", file))?;
            // Else nothing is known of it but that the server refuses it.
            KeyPair::from_seed(seed.trim()).map_err(|why| useless(file, &why, SEED))?;
            options = options.nkey(seed.trim().to_owned());
        }
        if let Some((user, password)) = &self.user {
            options = options.user_and_password(user.clone(), password.clone());
        }
        Ok(options)
    }
}

const CREDENTIALS: &str =
    "name a file with credentials in NATS_CREDS, as `nsc generate creds` writes it";
const SEED: &str = "name a file with the seed of an nkey in NATS_NKEY, as `nk -gen user` writes it";

fn useless(file: &Path, why: &dyn Display, remedy: &str) -> Failure {
    Failure::usage(format!("cannot use {}: {why}", file.display())).remedy(remedy)
}
