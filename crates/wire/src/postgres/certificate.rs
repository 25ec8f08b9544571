//! The channel binding `tls-server-end-point` (RFC 5929): a hash of the server's certificate.

use ring::digest::{self, Algorithm, SHA256, SHA384, SHA512};

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// Signature algorithms by their object identifier, and the hash that the binding uses:
/// the signature's own, but SHA-256 in place of MD5 and SHA-1.
const ALGORITHMS: [(&[u8], &Algorithm); 9] = [
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", &SHA256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", &SHA256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", &SHA256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", &SHA384),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", &SHA512),
    (b"\x2a\x86\x48\xce\x3d\x04\x01", &SHA256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", &SHA256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", &SHA384),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", &SHA512),
];

/// The binding's data for a certificate (DER); `None` for a signature algorithm whose
/// hash is not defined, as Ed25519's.
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let oid = signature_algorithm(certificate)?;
    let (_, hash) = ALGORITHMS.iter().find(|(known, _)| *known == oid)?;
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { OID, … }, … }`
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (body, _) = element(certificate, SEQUENCE)?;
    let (_to_be_signed, rest) = element(body, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    let (oid, _) = element(algorithm, OBJECT_IDENTIFIER)?;
    Some(oid)
}

/// The content of the first DER element, which must have this tag, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = der.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let join = |length, digit: &u8| length << 8 | usize::from(*digit);
            (digits.iter().fold(0, join), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}
