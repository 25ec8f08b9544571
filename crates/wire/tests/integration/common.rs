//! What the tests of the protocol share.

use std::time::{SystemTime, UNIX_EPOCH};

use mysql_common::proto::MySerialize;
use proptest::test_runner::{Config, RngSeed};
use wire::mysql::capability;
use wire::mysql::packet;
use wire::mysql::reply::ReplyReader;

/// Random cases whose seed is printed; the same variable repeats them.
pub(crate) fn cases(number: u32) -> Config {
    let mut config = Config::with_cases(number);
    config.failure_persistence = None;
    if config.rng_seed == RngSeed::Random {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        config.rng_seed = RngSeed::Fixed(now.as_nanos() as u64);
    }
    if let RngSeed::Fixed(seed) = config.rng_seed {
        println!("repeat with PROPTEST_RNG_SEED={seed}");
    }
    config
}

/// A message as the oracle writes it.
pub(crate) fn bytes_of(message: &impl MySerialize) -> Vec<u8> {
    let mut out = Vec::new();
    message.serialize(&mut out);
    out
}

/// Messages as packets, numbered from `sequence`.
pub(crate) fn stream(mut sequence: u8, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        sequence = packet::write(&mut out, sequence, |out| out.extend_from_slice(message));
    }
    out
}

/// `bytes` in pieces of these lengths, in turn; the last piece is what is left.
pub(crate) fn pieces<'a>(mut bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at((*length).clamp(1, bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// A reader for servers that end results with OK packets, or still with EOF packets.
pub(crate) fn reader(deprecate_eof: bool) -> ReplyReader {
    ReplyReader::new(if deprecate_eof {
        capability::DEPRECATE_EOF
    } else {
        0
    })
}
