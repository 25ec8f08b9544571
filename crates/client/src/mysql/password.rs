//! Whether a server may have the password itself.
//!
//! Most plugins only prove that the client knows the password. Others require the password
//! itself: in clear text, or encrypted with a key that the server presents. An impostor can
//! require it too, so dyno sends it only to a verified peer (a Unix socket, or TLS with a
//! verified certificate), or if the user set the option that allows it. MySQL's own client is
//! less strict in one point: it sends the password over unverified TLS.

use wire::mysql::auth::{CACHING_SHA2, CLEAR};

use crate::channel::{Channel, Withheld};
use crate::tls::{ServerPublicKey, TlsOptions};

/// How `plugin` may send the password over this channel.
pub(super) fn delivery<'a>(
    options: &'a TlsOptions,
    plugin: &str,
    channel: Channel,
) -> Result<Delivery<'a>, Withheld> {
    let trusted = channel.is_trusted();
    if plugin == CLEAR {
        return match trusted || options.cleartext_plugin {
            true => Ok(Delivery::Clear),
            false => Err(Withheld::Cleartext),
        };
    }
    let accepts_any_key = matches!(options.server_public_key, ServerPublicKey::Accepted);
    // Of the two plugins, only this one regards a Unix socket as secure.
    let takes_clear = channel.has_tls || (channel.is_unix && plugin == CACHING_SHA2);
    match &options.server_public_key {
        _ if takes_clear && (trusted || accepts_any_key) => Ok(Delivery::Clear),
        _ if takes_clear => Err(Withheld::Unverified),
        ServerPublicKey::Known(pem) => Ok(Delivery::Encrypted(pem)),
        _ if trusted || accepts_any_key => Ok(Delivery::EncryptedWithOfferedKey),
        _ => Err(Withheld::NoKey),
    }
}

/// How the password is sent to the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivery<'a> {
    Clear,
    Encrypted(&'a [u8]),
    /// Encrypted with the key that the server sends on request.
    EncryptedWithOfferedKey,
}

#[cfg(test)]
mod tests {
    use wire::mysql::auth::SHA256;

    use super::*;

    const UNIX: Channel = channel(true, false, false);
    const OPEN: Channel = channel(false, false, false);
    const UNVERIFIED: Channel = channel(false, true, false);
    const VERIFIED: Channel = channel(false, true, true);

    const fn channel(is_unix: bool, has_tls: bool, is_verified: bool) -> Channel {
        Channel {
            is_unix,
            has_tls,
            is_verified,
        }
    }

    #[test]
    fn without_an_option_only_a_trusted_server_gets_the_password() {
        let none = TlsOptions::default();
        let delivery = |plugin, channel| delivery(&none, plugin, channel);
        for plugin in [CLEAR, CACHING_SHA2, SHA256] {
            for channel in [OPEN, UNVERIFIED] {
                assert!(delivery(plugin, channel).is_err(), "{plugin} {channel:?}");
            }
            assert_eq!(delivery(plugin, VERIFIED), Ok(Delivery::Clear), "{plugin}");
        }
        assert_eq!(delivery(CLEAR, UNIX), Ok(Delivery::Clear));
        assert_eq!(delivery(CACHING_SHA2, UNIX), Ok(Delivery::Clear));
        let of_sha256 = delivery(SHA256, UNIX);
        assert_eq!(of_sha256, Ok(Delivery::EncryptedWithOfferedKey));
    }
}
