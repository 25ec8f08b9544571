//! The keys of a fault besides the one that names its kind.

use std::time::Duration;

use super::definition::{Key, Kind};
use super::make::{count, span, word};
use crate::{FaultProcess, FaultVolume};

const MILLISECOND: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);
const MONTH: Duration = Duration::from_secs(30 * 86_400);
const IOPS: Kind = count(1, 1_000_000_000);

/// Each key, and the parameter that a kind must have for it ([`crate::FaultKind::has`]); empty: every
/// kind has it.
#[rustfmt::skip]
pub static FAULT_KEYS: [(Key, &str); 19] = [
    (key("fault.heal", span(MILLISECOND, MONTH)), ""),
    (key("fault.process", Kind::Choice(FaultProcess::WORDS)), "process"),
    (key("fault.seed", count(0, u64::MAX)), ""),
    (word("fault.rate", 20), "link"),
    (key("fault.delay", span(MILLISECOND, MINUTE)), "link"),
    (key("fault.loss", Kind::Percent { min: 0.01, max: 99.0 }), "link"),
    (word("fault.with", 0), "with"),
    (word("fault.bridge", 0), "bridge"),
    (key("fault.volume", Kind::Choice(FaultVolume::WORDS)), "volume"),
    (key("fault.device", count(1, 32)), "device"),
    (key("fault.read_iops", IOPS), "limits"),
    (key("fault.write_iops", IOPS), "limits"),
    (word("fault.read_bytes_per_s", 20), "limits"),
    (word("fault.write_bytes_per_s", 20), "limits"),
    (key("fault.target", count(1, 576)), "command"),
    (word("fault.heal_command", 4000), "heal_command"),
    (key("fault.expect_outage", Kind::Boolean), ""),
    (key("fault.at", span(Duration::ZERO, MONTH)), ""),
    (word("fault.command", 4000), "command"),
];

const fn key(name: &'static str, kind: Kind) -> Key {
    Key {
        kind,
        ..word(name, 0)
    }
}
