//! Whoever answers in the server's place asks for the password in every way there is, and
//! gets it only where the user named the option that allows it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;

use crate::common::peer::Peer;
use crate::common::thief::{self, modes, options, thiefs_tls};
use crate::impostor::{
    Impostor, OK, greeting, messages, packets, read_packet, read_typed, read_untyped,
};
use client::mysql::{Mysql, ServerPublicKey, TlsMode, TlsOptions};
use client::postgres::Postgres;
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{RsaPrivateKey, rand_core};

const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";
/// What a server says to have the password itself from caching_sha2_password.
const FULL_PATH: &[u8] = &[1, 4];
/// How clients ask for a key.
const KEY_REQUESTS: [&[u8]; 2] = [&[1], &[2]];
const CLEAR: &str = "mysql_clear_password";
const PLUGINS: [&str; 7] = [
    CLEAR,
    "mysql_native_password",
    "caching_sha2_password",
    "sha256_password",
    "client_ed25519",
    "dialog",
    "",
];

fn new_key() -> RsaPrivateKey {
    RsaPrivateKey::new(&mut rand_core::OsRng, 1024).unwrap()
}

fn public_pem(key: &RsaPrivateKey) -> String {
    let pem = key.to_public_key().to_public_key_pem(LineEnding::LF);
    pem.unwrap()
}

/// The thief's RSA key.
fn key() -> &'static RsaPrivateKey {
    static KEY: OnceLock<RsaPrivateKey> = OnceLock::new();
    KEY.get_or_init(new_key)
}

/// A server that wants the password. It tells everything that it heard.
fn thief(plugin: &'static str, offers_tls: bool) -> Peer<Vec<Vec<u8>>> {
    Peer::serve(move |stream| {
        let mut heard = Vec::new();
        // However the client goes, what it said before is what counts.
        let _ = listen(stream, plugin, offers_tls, &mut heard);
        heard
    })
}

fn listen(
    mut stream: TcpStream,
    plugin: &str,
    offers_tls: bool,
    heard: &mut Vec<Vec<u8>>,
) -> std::io::Result<()> {
    stream.write_all(&greeting(offers_tls))?;
    let (number, first) = read_packet(&mut stream)?;
    let is_tls_request = first.len() == 32;
    heard.push(first);
    if !is_tls_request {
        return ask(&mut stream, number, plugin, heard);
    }
    let mut stream = rustls::StreamOwned::new(thiefs_tls(), stream);
    let (number, login) = read_packet(&mut stream)?;
    heard.push(login);
    ask(&mut stream, number, plugin, heard)
}

/// Asks for the password by this plugin, and by whatever way the client offers then.
fn ask(
    stream: &mut (impl Read + Write),
    number: u8,
    plugin: &str,
    heard: &mut Vec<Vec<u8>>,
) -> std::io::Result<()> {
    let switch = [&b"\xfe"[..], plugin.as_bytes(), b"\0", NONCE, b"\0"].concat();
    stream.write_all(&packets(number.wrapping_add(1), &[&switch]))?;
    stream.flush()?;
    let mut said_full_path = false;
    loop {
        let (number, payload) = read_packet(stream)?;
        let answer = if KEY_REQUESTS.contains(&payload.as_slice()) {
            [&[1], public_pem(key()).as_bytes()].concat()
        } else if plugin == "caching_sha2_password" && !said_full_path {
            said_full_path = true;
            FULL_PATH.to_vec()
        } else {
            OK.to_vec()
        };
        heard.push(payload);
        stream.write_all(&packets(number.wrapping_add(1), &[&answer]))?;
        stream.flush()?;
    }
}

/// Whether a thief can read the password in what it got.
fn holds_password(payload: &[u8]) -> bool {
    let opened = key().decrypt(rsa::Oaep::new::<sha1::Sha1>(), payload);
    let unmasked = opened.map(|masked| {
        let pairs = masked.iter().zip(NONCE.iter().cycle());
        pairs.map(|(byte, mask)| byte ^ mask).collect::<Vec<u8>>()
    });
    thief::holds_password(payload) || unmasked.is_ok_and(|bytes| thief::holds_password(&bytes))
}

/// Whether the thief gets the password from a client with these options.
fn is_robbed(plugin: &'static str, offers_tls: bool, options: &TlsOptions) -> bool {
    let thief = thief(plugin, offers_tls);
    let target = Mysql::target(thief.port, options);
    let heard = thief::heard::<Mysql>(thief, &target);
    heard.iter().any(|payload| holds_password(payload))
}

/// Every plugin, with and without an offer of TLS.
fn ways() -> impl Iterator<Item = (&'static str, bool)> {
    let both = |plugin| [(plugin, true), (plugin, false)];
    PLUGINS.into_iter().flat_map(both)
}

/// With its own certificate, without TLS, and where somebody took the offer of TLS out of
/// the greeting: that is the same to the client.
#[test]
fn no_mode_gives_the_password_away() {
    for (plugin, offers_tls) in ways() {
        for mode in modes() {
            let robbed = is_robbed(plugin, offers_tls, &options(mode));
            assert!(!robbed, "{plugin:?}, TLS offered: {offers_tls}, {mode:?}");
        }
    }
}

/// Each option opens what it names, which also shows that this thief can steal.
#[test]
fn an_option_gives_it_to_the_plugins_that_it_names() {
    let accepted = TlsOptions {
        server_public_key: ServerPublicKey::Accepted,
        ..TlsOptions::default()
    };
    let cleartext = TlsOptions {
        cleartext_plugin: true,
        ..TlsOptions::default()
    };
    let mut verifying = options(Some(TlsMode::VerifyFull));
    verifying.server_public_key = ServerPublicKey::Accepted;
    verifying.cleartext_plugin = true;
    for (plugin, offers_tls) in ways() {
        let robbed = [&accepted, &cleartext].map(|o| is_robbed(plugin, offers_tls, o));
        let by_key = ["caching_sha2_password", "sha256_password"].contains(&plugin);
        assert_eq!(robbed, [by_key, plugin == CLEAR], "{plugin:?} {offers_tls}");
        assert!(!is_robbed(plugin, offers_tls, &verifying), "{plugin:?}");
    }
}

/// A key that the user has from the server itself is of no use to anybody else.
#[test]
fn a_known_key_keeps_the_password_from_a_thief() {
    let options = TlsOptions {
        server_public_key: ServerPublicKey::Known(public_pem(&new_key()).into_bytes()),
        ..TlsOptions::default()
    };
    for (plugin, offers_tls) in ways() {
        assert!(!is_robbed(plugin, offers_tls, &options), "{plugin:?}");
    }
}

/// Asks for the password in clear, with TLS if the client wants it and `offers_tls`; gives
/// everything that it heard.
fn rob(mut stream: TcpStream, offers_tls: bool) -> std::io::Result<Vec<u8>> {
    let asks_for_tls = read_untyped(&mut stream)?.len() == 4;
    if asks_for_tls {
        stream.write_all(if offers_tls { b"S" } else { b"N" })?;
    }
    if asks_for_tls && offers_tls {
        let mut stream = rustls::StreamOwned::new(thiefs_tls(), stream);
        read_untyped(&mut stream)?;
        return ask_in_clear(&mut stream);
    }
    if asks_for_tls {
        read_untyped(&mut stream)?;
    }
    ask_in_clear(&mut stream)
}

fn ask_in_clear(stream: &mut (impl Read + Write)) -> std::io::Result<Vec<u8>> {
    stream.write_all(&messages(&[(b'R', b"\0\0\0\x03")]))?;
    stream.flush()?;
    read_typed(stream)
}

fn is_robbed_of_it(offers_tls: bool, options: &TlsOptions) -> bool {
    // However the client goes, what it said before is what counts.
    let thief = Peer::serve(move |stream| rob(stream, offers_tls).into_iter().collect());
    let target = Postgres::target(thief.port, options);
    let heard = thief::heard::<Postgres>(thief, &target);
    heard.iter().any(|said| thief::holds_password(said))
}

/// With its own certificate, without TLS, and where somebody answered the request for TLS
/// in the server's place: that is the same to the client.
#[test]
fn no_mode_gives_it_away_in_clear() {
    for mode in modes() {
        let verifies = matches!(mode, Some(TlsMode::VerifyCa | TlsMode::VerifyFull));
        for offers_tls in [true, false] {
            let mut options = options(mode);
            assert!(
                !is_robbed_of_it(offers_tls, &options),
                "{mode:?} {offers_tls}"
            );
            // The option that allows it, which also shows that this thief can steal.
            options.cleartext_plugin = true;
            let can_steal = !verifies && (offers_tls || mode != Some(TlsMode::Required));
            assert_eq!(is_robbed_of_it(offers_tls, &options), can_steal, "{mode:?}");
        }
    }
}
