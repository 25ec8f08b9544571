//! The PostgreSQL login with an arbitrary server, text results, and certificates: parsed or
//! rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::gather::Gatherer;
use wire::postgres::certificate;
use wire::postgres::login::{self, Authentication, Next};
use wire::postgres::message::Message;
use wire::postgres::reply::ReplyReader;
use wire::postgres::rows::TextResult;
use wire::postgres::scram::{ChannelBinding, Scram};

const LIMIT_BYTES: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let _ = login::may_be_postgres(data);
    let _ = login::not_postgres(data).to_string();
    let _ = certificate::end_point(data);
    let mut gatherer = Gatherer::new(LIMIT_BYTES);
    gatherer.push(data);
    let mut result = TextResult::default();
    let mut reader = ReplyReader::default();
    while let Ok(Some(message)) = gatherer.take_message::<Message>() {
        assert!(message.payload.len() <= LIMIT_BYTES);
        let _ = result.message(&message, &mut reader);
        match Next::parse(&message) {
            Ok(Next::Authentication(Authentication::SaslContinue(challenge))) => answer(&challenge),
            Ok(Next::Refused(error)) => assert_eq!(error.sqlstate().len(), 5),
            _ => {}
        }
    }
});

fn answer(challenge: &[u8]) {
    // Skips challenges with many iterations: they are slow, and the code is a library's.
    let text = String::from_utf8_lossy(challenge);
    let demanded = text
        .rsplit_once("i=")
        .and_then(|(_, count)| count.parse::<u32>().ok());
    if demanded.is_some_and(|count| (1000..=1_000_000).contains(&count)) {
        return;
    }
    let scram = Scram::new("n", ChannelBinding::NotOffered);
    if let Ok((last, proven)) = scram.prove("secret", challenge) {
        assert!(last.starts_with(b"c=eSws,r=n"));
        let _ = proven.verify(challenge);
    }
}
