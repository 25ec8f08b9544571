//! How what a node answers is sent from one host to another. Times are sent as those of the host, and
//! received as those of this one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use engine::replication::Role;
use machine::site::far::Link;
use measure::fault::Scrub;
use measure::instance::Space;
use serde::Serialize;
use serde_json::Value;

use crate::Failure;

/// A value that can be sent.
pub(super) trait Sent: Sized {
    /// `origin` is when the host's steady clock began.
    fn pack(self, origin: Instant) -> Value;

    fn unpack(value: Value, link: &Link) -> Result<Self, Failure>;
}

/// What a node answers.
pub(super) trait Answer: Sized {
    fn sent(self, origin: Instant) -> Result<Value, Failure>;

    /// Also says what to take for the answer if the connection is lost.
    fn received(answer: Result<Value, Failure>, link: &Link) -> Self;
}

macro_rules! plain {
    ($($kind:ty),*) => {$(
        impl Sent for $kind {
            fn pack(self, _: Instant) -> Value {
                packed(self)
            }

            fn unpack(value: Value, _: &Link) -> Result<Self, Failure> {
                serde_json::from_value(value).map_err(garbled)
            }
        }
    )*};
}

plain! {
    (), bool, Option<u32>, Option<u64>, u64, Option<usize>, Option<Role>, Option<String>,
    BTreeSet<String>, Option<Space>, (bool, Option<Scrub>), Failure
}

impl Sent for Instant {
    fn pack(self, origin: Instant) -> Value {
        packed(self.saturating_duration_since(origin))
    }

    fn unpack(value: Value, link: &Link) -> Result<Self, Failure> {
        let steady: Duration = serde_json::from_value(value).map_err(garbled)?;
        Ok(link.clock()?.here(steady))
    }
}

impl Sent for Option<Instant> {
    fn pack(self, origin: Instant) -> Value {
        self.map_or(Value::Null, |at| at.pack(origin))
    }

    fn unpack(value: Value, link: &Link) -> Result<Self, Failure> {
        match value {
            Value::Null => Ok(None),
            value => Instant::unpack(value, link).map(Some),
        }
    }
}

impl<T: Sent> Answer for Result<T, Failure> {
    fn sent(self, origin: Instant) -> Result<Value, Failure> {
        self.map(|value| value.pack(origin))
    }

    fn received(answer: Result<Value, Failure>, link: &Link) -> Self {
        T::unpack(answer?, link)
    }
}

macro_rules! infallible {
    ($($kind:ty: $lost:expr),* $(,)?) => {$(
        impl Answer for $kind {
            fn sent(self, origin: Instant) -> Result<Value, Failure> {
                Ok(self.pack(origin))
            }

            fn received(answer: Result<Value, Failure>, link: &Link) -> Self {
                let received = answer.and_then(|value| Self::unpack(value, link));
                received.unwrap_or_else($lost)
            }
        }
    )*};
}

infallible! {
    bool: |_| false,
    Option<u32>: |_| None,
    Option<Space>: |_| None,
    BTreeSet<String>: |_| BTreeSet::new(),
    Option<String>: |failure: Failure| Some(failure.message),
    // The host ends its servers.
    Option<Instant>: |_| Some(Instant::now()),
    Failure: |failure| failure,
}

/// Numbers, texts, and what consists of them can always be written as JSON.
fn packed(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn garbled(error: serde_json::Error) -> Failure {
    Failure::internal(format!("another host gave a bad answer: {error}"))
}
