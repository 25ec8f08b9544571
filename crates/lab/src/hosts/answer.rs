//! How what a node answers is sent from one host to another. Times are sent as those of the host, and
//! received as those of this one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use engine::replication::Role;
use machine::site::far::Link;
use measure::fault::Scrub;
use measure::instance::Space;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Failure;

/// What a node answers.
pub(super) trait Answer: Sized {
    /// `origin` is when the host's steady clock began.
    fn sent(self, origin: Instant) -> Result<Value, Failure>;

    /// Also says what to take for the answer if the connection is lost.
    fn received(answer: Result<Value, Failure>, link: &Link) -> Self;
}

macro_rules! results {
    ($($kind:ty),*) => {$(
        impl Answer for Result<$kind, Failure> {
            fn sent(self, _: Instant) -> Result<Value, Failure> {
                packed(self)
            }

            fn received(answer: Result<Value, Failure>, _: &Link) -> Self {
                unpacked(answer)
            }
        }
    )*};
}

results! {
    (), bool, Option<Role>, Option<u32>, Option<u64>, Option<usize>, u64, (bool, Option<Scrub>)
}

macro_rules! infallible {
    ($($kind:ty: $lost:expr),* $(,)?) => {$(
        impl Answer for $kind {
            fn sent(self, _: Instant) -> Result<Value, Failure> {
                packed(Ok(self))
            }

            fn received(answer: Result<Value, Failure>, _: &Link) -> Self {
                unpacked(answer).unwrap_or_else($lost)
            }
        }
    )*};
}

infallible! {
    bool: |_| false,
    Option<u32>: |_| None,
    Option<Space>: |_| None,
    BTreeSet<String>: |_| BTreeSet::new(),
    Option<String>: |failure| Some(failure.message),
    Failure: |failure| failure,
}

impl Answer for Result<Instant, Failure> {
    fn sent(self, origin: Instant) -> Result<Value, Failure> {
        packed(self.map(|at| at.saturating_duration_since(origin)))
    }

    fn received(answer: Result<Value, Failure>, link: &Link) -> Self {
        let steady: Duration = unpacked(answer)?;
        Ok(link.clock()?.here(steady))
    }
}

impl Answer for Option<Instant> {
    fn sent(self, origin: Instant) -> Result<Value, Failure> {
        packed(Ok(self.map(|at| at.saturating_duration_since(origin))))
    }

    fn received(answer: Result<Value, Failure>, link: &Link) -> Self {
        let received = || {
            let steady: Option<Duration> = unpacked(answer)?;
            let here = steady.map(|steady| Ok(link.clock()?.here(steady)));
            here.transpose()
        };
        // The host ends its servers.
        received().unwrap_or_else(|_: Failure| Some(Instant::now()))
    }
}

pub(super) fn packed(answer: Result<impl Serialize, Failure>) -> Result<Value, Failure> {
    serde_json::to_value(answer?).map_err(Failure::internal)
}

fn unpacked<T: DeserializeOwned>(answer: Result<Value, Failure>) -> Result<T, Failure> {
    let garbled = |error| Failure::internal(format!("another host gave a bad answer: {error}"));
    serde_json::from_value(answer?).map_err(garbled)
}
