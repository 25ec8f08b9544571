//! Whoever answers in the server's place asks for the password in every way there is, and
//! gets it only where the user named the option that allows it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::peer::{OK, greeting, packets, try_read_packet};
use crate::common::run;
use crate::common::thief::{create_authority, thiefs_tls};
use client::mysql::{Connection, ServerPublicKey, Target, TlsMode, TlsOptions};
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::{RsaPrivateKey, rand_core};

/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);
const PASSWORD: &str = "hush-hush";
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

/// The thief's RSA key.
fn key() -> &'static RsaPrivateKey {
    static KEY: OnceLock<RsaPrivateKey> = OnceLock::new();
    KEY.get_or_init(|| RsaPrivateKey::new(&mut rand_core::OsRng, 1024).unwrap())
}

/// A server that wants the password. It tells everything that it heard.
struct Thief {
    port: u16,
    heard: JoinHandle<Vec<Vec<u8>>>,
}

impl Thief {
    fn start(plugin: &'static str, offers_tls: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            // However the client goes, what it said before is what counts.
            let _ = listen(stream, plugin, offers_tls, &mut heard);
            heard
        });
        Self { port, heard }
    }

    fn has_the_password(self) -> bool {
        let heard = self.heard.join().unwrap();
        heard.iter().any(|payload| holds_password(payload))
    }
}

fn listen(
    mut stream: TcpStream,
    plugin: &str,
    offers_tls: bool,
    heard: &mut Vec<Vec<u8>>,
) -> std::io::Result<()> {
    stream.write_all(&greeting(offers_tls))?;
    let (number, first) = try_read_packet(&mut stream)?;
    let is_tls_request = first.len() == 32;
    heard.push(first);
    if !is_tls_request {
        return ask(&mut stream, number, plugin, heard);
    }
    let connection = rustls::ServerConnection::new(thiefs_tls()).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, stream);
    let (number, login) = try_read_packet(&mut stream)?;
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
    let mut switch = vec![0xfe];
    for part in [plugin.as_bytes(), NONCE] {
        switch.extend_from_slice(part);
        switch.push(0);
    }
    stream.write_all(&packets(number.wrapping_add(1), &[&switch]))?;
    stream.flush()?;
    let mut said_full_path = false;
    loop {
        let (number, payload) = try_read_packet(stream)?;
        let answer = if KEY_REQUESTS.contains(&payload.as_slice()) {
            let pem = key().to_public_key().to_public_key_pem(LineEnding::LF);
            [&[1], pem.unwrap().as_bytes()].concat()
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
    let holds = |bytes: &[u8]| {
        bytes
            .windows(PASSWORD.len())
            .any(|part| part == PASSWORD.as_bytes())
    };
    let opened = key().decrypt(rsa::Oaep::new::<sha1::Sha1>(), payload);
    let unmasked = opened.map(|masked| {
        let pairs = masked.iter().zip(NONCE.iter().cycle());
        pairs.map(|(byte, mask)| byte ^ mask).collect::<Vec<u8>>()
    });
    holds(payload) || unmasked.is_ok_and(|bytes| holds(&bytes))
}

/// A trusted authority that has nothing to do with the thief.
fn authority() -> PathBuf {
    static FILES: OnceLock<tempfile::TempDir> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let files = tempfile::tempdir().unwrap();
        create_authority(files.path());
        files
    });
    files.path().join("cert.pem")
}

/// This mode, with an authority where it needs one.
fn options(mode: Option<TlsMode>) -> TlsOptions {
    let verifies = matches!(mode, Some(TlsMode::VerifyCa | TlsMode::VerifyFull));
    TlsOptions {
        mode,
        ca: verifies.then(authority),
        ..TlsOptions::default()
    }
}

/// Whether the thief gets the password from a client with these options.
fn is_robbed(plugin: &'static str, offers_tls: bool, options: &TlsOptions) -> bool {
    let thief = Thief::start(plugin, offers_tls);
    let url = format!("mysql://u@localhost:{}/sbtest", thief.port);
    let target = Target::parse(&url, Some(PASSWORD), "x", options).unwrap();
    // It may even believe that it has logged in.
    match run(Connection::open_within(PATIENCE, &target)) {
        Ok(connection) => drop(connection),
        Err(error) => {
            let text = format!("{error} {:?}", error.remedy());
            assert!(!text.contains(PASSWORD), "{text}");
        }
    }
    thief.has_the_password()
}

fn modes() -> impl Iterator<Item = Option<TlsMode>> {
    let named = [
        TlsMode::Disable,
        TlsMode::Preferred,
        TlsMode::Required,
        TlsMode::VerifyCa,
        TlsMode::VerifyFull,
    ];
    named.into_iter().map(Some).chain([None])
}

/// With its own certificate, without TLS, and where somebody took the offer of TLS out of
/// the greeting: that is the same to the client.
#[test]
fn no_mode_gives_the_password_away() {
    for plugin in PLUGINS {
        for offers_tls in [true, false] {
            for mode in modes() {
                let robbed = is_robbed(plugin, offers_tls, &options(mode));
                assert!(!robbed, "{plugin:?}, TLS offered: {offers_tls}, {mode:?}");
            }
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
    for plugin in PLUGINS {
        for offers_tls in [true, false] {
            let robbed = [&accepted, &cleartext].map(|o| is_robbed(plugin, offers_tls, o));
            let by_key = ["caching_sha2_password", "sha256_password"].contains(&plugin);
            assert_eq!(robbed, [by_key, plugin == CLEAR], "{plugin:?} {offers_tls}");
            let verifying = TlsOptions {
                server_public_key: ServerPublicKey::Accepted,
                cleartext_plugin: true,
                ..options(Some(TlsMode::VerifyFull))
            };
            assert!(!is_robbed(plugin, offers_tls, &verifying), "{plugin:?}");
        }
    }
}

/// A key that the user has from the server itself is of no use to anybody else.
#[test]
fn a_known_key_keeps_the_password_from_a_thief() {
    let servers_own = RsaPrivateKey::new(&mut rand_core::OsRng, 1024).unwrap();
    let pem = servers_own
        .to_public_key()
        .to_public_key_pem(LineEnding::LF);
    let options = TlsOptions {
        server_public_key: ServerPublicKey::Known(pem.unwrap().into_bytes()),
        ..TlsOptions::default()
    };
    for plugin in PLUGINS {
        for offers_tls in [true, false] {
            assert!(!is_robbed(plugin, offers_tls, &options), "{plugin:?}");
        }
    }
}
