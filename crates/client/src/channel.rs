//! Whether a connection can be trusted with a password.

#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    pub(crate) is_unix: bool,
    pub(crate) has_tls: bool,
    pub(crate) is_verified: bool,
}

impl Channel {
    /// Whether the peer is certain to be the server that the user meant.
    pub(crate) fn is_trusted(self) -> bool {
        self.is_unix || (self.has_tls && self.is_verified)
    }
}

/// Why the server gets neither the password nor a proof of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// MySQL's plugin `mysql_clear_password` requires it in clear text.
    #[error("the server requires the password in clear text, but was not verified")]
    Cleartext,
    /// PostgreSQL's method `password` requires it in clear text.
    #[error("the server requires the password in clear text, but was not verified")]
    PasswordMethod,
    /// The connection uses TLS, but the certificate was not verified.
    #[error("the server requires the password itself, but its TLS certificate was not verified")]
    Unverified,
    /// The connection does not use TLS, and the server's key is not known.
    #[error(
        "the server requires the password encrypted with its RSA public key, but that key is not known"
    )]
    NoKey,
    /// Channel binding is required, and the server does not offer it.
    #[error(
        "channel_binding=require, but the server does not offer SCRAM with channel binding over TLS"
    )]
    NotBound,
}

impl Withheld {
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Cleartext => {
                "verify the server (--tls-ca FILE, or --tls-mode verify-full) or connect over its Unix socket; --enable-cleartext-plugin sends the password without verification"
            }
            Self::PasswordMethod => {
                "verify the server (--tls-ca FILE, or --tls-mode verify-full), connect over its Unix socket, or choose the method scram-sha-256 in pg_hba.conf"
            }
            Self::Unverified => {
                "verify the server (--tls-ca FILE, or --tls-mode verify-full) or connect over its Unix socket; --get-server-public-key sends the password without verification (the server also requires it if the account does not exist)"
            }
            Self::NoKey => {
                "name the file of that key (--server-public-key-path FILE), verify the server with TLS (--tls-ca FILE), or connect over its Unix socket; --get-server-public-key accepts any key (the server also requires the password if the account does not exist)"
            }
            Self::NotBound => {
                "use TLS and an account with a SCRAM password, or omit channel_binding=require"
            }
        }
    }
}
