//! The MySQL handshake with an arbitrary server: its messages are parsed or rejected, and every
//! answer is valid in the protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::gather::Gatherer;
use wire::mysql::auth;
use wire::mysql::handshake::{Greeting, Login, Next, not_mysql};
use wire::mysql::packet::Message;

const LIMIT_BYTES: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let _ = not_mysql(data).to_string();
    let mut gatherer = Gatherer::new(LIMIT_BYTES);
    gatherer.push(data);
    let Ok(Some(first)) = gatherer.take_message::<Message>() else {
        return;
    };
    assert!(first.payload.len() <= LIMIT_BYTES);
    let Ok(Ok(greeting)) = Greeting::parse(&first.payload) else {
        return;
    };
    answer(&greeting);
    while let Ok(Some(message)) = gatherer.take_message::<Message>() {
        match Next::parse(&message.payload) {
            Ok(Next::Switch { plugin, scramble }) => {
                let _ = auth::first_answer(&plugin, "secret", &scramble);
            }
            Ok(Next::More(key)) => {
                let _ = auth::encrypt_password("secret", &greeting.scramble, &key);
            }
            Ok(Next::Ready | Next::Refused(_)) | Err(_) => return,
        }
    }
});

fn answer(greeting: &Greeting) {
    let login = Login {
        user: "user",
        database: "sbtest",
        tls: greeting.offers_tls(),
    };
    let proof = match auth::first_answer(auth::NATIVE, "secret", &greeting.scramble) {
        Ok(Some(proof)) => proof,
        other => panic!("{other:?}"),
    };
    let mut out = Vec::new();
    let sequence = login.tls_request(&mut out, 1, greeting);
    login.response(&mut out, sequence, greeting, auth::NATIVE, &proof);
    let mut sent = Gatherer::new(LIMIT_BYTES);
    sent.push(&out);
    for _ in 0..2 {
        assert!(matches!(sent.take_message::<Message>(), Ok(Some(_))));
    }
    assert!(sent.pending().is_empty());
}
