//! The handshake, against the oracle in both directions.

use crate::common;
use mysql_common::constants::{CapabilityFlags, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, ErrPacket, HandshakePacket, HandshakeResponse,
    OkPacket, OkPacketDeserializer, ServerError, SqlState, SslRequest,
};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::ProtocolError;
use wire::gather::Gatherer;
use wire::mysql::capability;
use wire::mysql::handshake::{Greeting, Login, Next};
use wire::mysql::packet::{HEADER_BYTES, Message};

/// What a server of this protocol always has.
const NEEDED: u64 =
    capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::PLUGIN_AUTH;

/// A nonce as servers make them: without a zero, which closes it.
fn nonce() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=255_u8, 20)
}

fn plugin() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("mysql_native_password".to_owned()),
        Just("caching_sha2_password".to_owned()),
        Just("client_ed25519".to_owned()),
        "[a-z_]{1,30}",
    ]
}

fn oracles_greeting(
    version: &str,
    id: u32,
    nonce: &[u8],
    capabilities: u64,
    plugin: &str,
) -> Vec<u8> {
    let (first, rest) = nonce.split_at(8);
    let mut bytes = common::bytes_of(&HandshakePacket::new(
        10,
        version.as_bytes(),
        id,
        first.try_into().unwrap(),
        Some([rest, &[0]].concat()),
        CapabilityFlags::from_bits_retain(capabilities as u32),
        45,
        StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        Some(plugin.as_bytes()),
    ));
    // MariaDB's own flags, which the oracle leaves at zero: behind the version, 21 bytes of
    // numbers and nonce, and 6 that are reserved.
    let at = 1 + version.len() + 1 + 21 + 6;
    bytes[at..at + 4].copy_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
    bytes
}

fn greeting(capabilities: u64) -> Greeting {
    Greeting {
        version: "9.7.0".to_owned(),
        connection_id: 1,
        capabilities,
        scramble: vec![1; 20],
        plugin: "caching_sha2_password".to_owned(),
    }
}

fn code_and_text(message: &[u8]) -> (Option<u32>, String) {
    let Ok(Next::Refused(error)) = Next::parse(message) else {
        panic!("no refusal: {message:?}")
    };
    (error.number, error.message)
}

proptest! {
    #![proptest_config(common::cases(256))]

    #[test]
    fn a_greeting_of_the_oracle_is_understood(
        version in "[0-9.]{1,10}(-MariaDB)?",
        id: u32,
        nonce in nonce(),
        extra: u64,
        plugin in plugin(),
    ) {
        let mut capabilities = extra | NEEDED;
        let bytes = oracles_greeting(&version, id, &nonce, capabilities, &plugin);
        if capabilities & capability::MYSQL != 0 {
            // There these bytes mean nothing.
            capabilities &= u64::from(u32::MAX);
        }
        let greeting = Greeting::parse(&bytes).unwrap().unwrap();
        prop_assert_eq!(greeting.is_mariadb(), version.ends_with("-MariaDB"));
        prop_assert_eq!(greeting.offers_tls(), capabilities & capability::SSL != 0);
        prop_assert_eq!(greeting, Greeting { version, connection_id: id, capabilities, scramble: nonce, plugin });
    }

    #[test]
    fn a_greeting_cut_short_is_an_error_or_lacks_its_last_text(cut in 0..70_usize, nonce in nonce()) {
        let bytes = oracles_greeting("8", 1, &nonce, u32::MAX.into(), "caching_sha2_password");
        if let Ok(Ok(greeting)) = Greeting::parse(&bytes[..cut.min(bytes.len())]) {
            prop_assert_eq!(greeting.scramble, nonce);
            prop_assert!("caching_sha2_password".starts_with(&greeting.plugin));
        }
    }

    #[test]
    fn the_oracle_understands_our_answer(
        user in "[^\0]{0,40}",
        database in "[^\0]{0,40}",
        tls: bool,
        extra: u64,
        plugin in plugin(),
        auth in vec(any::<u8>(), 0..100),
    ) {
        let login = Login { user: &user, database: &database, tls };
        let greeting = greeting(extra | NEEDED);
        let mut out = Vec::new();
        let next = login.response(&mut out, 1, &greeting, &plugin, &auth);
        prop_assert_eq!(next, 2);
        let mut rest = ParseBuf(&out[HEADER_BYTES..]);
        let response: HandshakeResponse<'_> = rest.parse(()).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(response.user(), user.as_bytes());
        prop_assert_eq!(response.scramble_buf(), &auth);
        prop_assert_eq!(response.auth_plugin().map(AuthPlugin::as_bytes), Some(plugin.as_bytes()));
        prop_assert_eq!(response.collation(), 45);
        let extended = response.mariadb_ext_capabilities().bits();
        let capabilities = u64::from(response.capabilities().bits()) | u64::from(extended) << 32;
        prop_assert_eq!(capabilities, login.capabilities(&greeting));
        prop_assert_eq!(capabilities & !greeting.capabilities, 0, "only what the server has");
        let named = (capabilities & capability::CONNECT_WITH_DB != 0).then_some(database.as_bytes());
        prop_assert_eq!(response.db_name(), named);
    }

    #[test]
    fn the_oracle_understands_our_wish_for_tls(user in "[^\0]{0,9}", database in "[^\0]{0,9}") {
        let login = Login { user: &user, database: &database, tls: true };
        let greeting = greeting(u64::MAX);
        let (mut request, mut response) = (Vec::new(), Vec::new());
        login.tls_request(&mut request, 1, &greeting);
        login.response(&mut response, 2, &greeting, "x", &[]);
        let mut rest = ParseBuf(&request[HEADER_BYTES..]);
        let parsed: SslRequest = rest.parse(()).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert!(parsed.capabilities().contains(CapabilityFlags::CLIENT_SSL));
        prop_assert_eq!(&response[HEADER_BYTES..][..request.len() - HEADER_BYTES], &request[HEADER_BYTES..]);
    }

    #[test]
    fn a_switch_of_the_oracle_is_understood(plugin in plugin(), nonce in nonce()) {
        let data = [&nonce[..], &[0]].concat();
        let bytes = common::bytes_of(&AuthSwitchRequest::new(plugin.as_bytes(), data));
        prop_assert_eq!(Next::parse(&bytes).unwrap(), Next::Switch { plugin, scramble: nonce });
    }

    /// MariaDB sends 32 random bytes and nothing behind them; the last may be a zero.
    #[test]
    fn an_ed25519_nonce_keeps_its_last_byte(mut nonce: [u8; 32], zero: bool) {
        if zero {
            nonce[31] = 0;
        }
        let bytes = common::bytes_of(&AuthSwitchRequest::new(&b"client_ed25519"[..], nonce.to_vec()));
        let oracle: AuthSwitchRequest<'_> = ParseBuf(&bytes).parse(()).unwrap();
        prop_assert_eq!(oracle.plugin_data(), &nonce);
        let Next::Switch { scramble, .. } = Next::parse(&bytes).unwrap() else { panic!("no switch") };
        prop_assert_eq!(scramble, nonce.to_vec());
    }

    #[test]
    fn more_data_of_the_oracle_is_understood(data in vec(any::<u8>(), 0..600)) {
        let bytes = common::bytes_of(&AuthMoreData::new(data.clone()));
        prop_assert_eq!(Next::parse(&bytes).unwrap(), Next::More(data));
    }

    #[test]
    fn refusals_of_the_oracle_are_understood(code: u16, state in "[0-9A-Z]{5}", text in "[^#].{0,80}") {
        let sqlstate: [u8; 5] = state.as_bytes().try_into().unwrap();
        for state in [Some(SqlState::new(sqlstate)), None] {
            let error = ServerError::new(code, state, text.as_bytes());
            let bytes = common::bytes_of(&ErrPacket::Error(error));
            prop_assert_eq!(code_and_text(&bytes), (Some(code.into()), text.replace(['\n', '\r'], " ")));
            let parsed = wire::mysql::parse_error(&bytes).unwrap();
            prop_assert_eq!(parsed.sqlstate, if state.is_some() { sqlstate } else { *b"HY000" });
            // A server that takes no more connections says so instead of its greeting.
            prop_assert_eq!(Greeting::parse(&bytes).unwrap().unwrap_err(), parsed);
        }
    }
}

#[test]
fn both_sides_call_this_the_end_of_the_handshake() {
    let bytes = [0, 0, 0, 2, 0, 0, 0];
    let oracle: OkPacketDeserializer<'_, mysql_common::packets::CommonOkPacket> = ParseBuf(&bytes)
        .parse(CapabilityFlags::CLIENT_PROTOCOL_41)
        .unwrap();
    assert_eq!(OkPacket::from(oracle).affected_rows(), 0);
    assert_eq!(Next::parse(&bytes), Ok(Next::Ready));
}

#[test]
fn what_is_too_old_is_called_so() {
    let old = oracles_greeting("4.0", 1, &[1; 20], capability::SECURE_CONNECTION, "x");
    assert!(matches!(
        Greeting::parse(&old),
        Err(ProtocolError::TooOld(_))
    ));
    assert!(matches!(
        Next::parse(&[0xfe]),
        Err(ProtocolError::TooOld(_))
    ));
}

#[test]
fn long_answers_fit_where_lengths_are_one_byte() {
    let server = greeting(NEEDED);
    let login = Login {
        user: "u",
        database: "d",
        tls: false,
    };
    let mut out = Vec::new();
    login.response(&mut out, 1, &server, "client_ed25519", &[7; 64]);
    let response: HandshakeResponse<'_> = ParseBuf(&out[HEADER_BYTES..]).parse(()).unwrap();
    assert_eq!(response.scramble_buf(), [7; 64]);
}

#[test]
fn a_greeting_arrives_in_any_pieces() {
    let bytes = common::stream(0, &[oracles_greeting("9", 7, &[9; 20], u64::MAX, "x")]);
    for size in 1..bytes.len() {
        let mut gatherer = Gatherer::new(1 << 20);
        let mut messages = 0;
        for piece in bytes.chunks(size) {
            gatherer.push(piece);
            if let Some(message) = gatherer.take_message::<Message>().unwrap() {
                assert!(Greeting::parse(&message.payload).unwrap().is_ok());
                messages += 1;
            }
        }
        assert_eq!(messages, 1);
    }
}
