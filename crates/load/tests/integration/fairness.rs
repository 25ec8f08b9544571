//! Users of the same thread take turns.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{self, Scripted, drive, now};
use load::{LoadSpec, Tally};
use workload::session::Reply;

#[test]
fn a_user_that_never_waits_does_not_keep_the_thread() {
    let server = Scripted::new(|_| now(Ok(Reply::default())));
    let tally = Arc::new(Tally::new(4));
    let spec = LoadSpec {
        time: Some(Duration::from_millis(300)),
        tally: Some(Arc::clone(&tally)),
        ..common::spec()
    };
    drive(&spec, &server, &mut |_| {}).unwrap();
    let totals = tally.totals();
    assert!(totals.iter().all(|(count, _)| *count > 0), "{totals:?}");
}
