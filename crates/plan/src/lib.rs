//! The vocabulary of dyno: what a trial is, and the one list of its options.
//!
//! A [`Plan`] is an ordered list of [`Trial`]s. Every option of a trial is a line of
//! [`key::KEYS`] with its range, default and documentation; the keys of a study file, the
//! options of `dyno bench`, `--set` and the reference page all follow from that list.
//! The crate reads no file, opens no socket and prints nothing.

mod chaos;
mod choice;
mod compare;
mod duration;
mod engine;
mod failure;
mod fault;
mod fault_kind;
mod fleet;
mod hosts;
pub mod key;
mod load;
mod mix;
mod number;
mod phases;
mod point;
mod quorum;
mod random;
mod redact;
mod script;
mod server;
mod site;
mod span;
mod suggest;
mod topology;
mod trial;
mod value;
mod volume;

pub use chaos::{Chaos, Ledger, parse_frequency};
pub use compare::{Alternate, Compare};
pub use duration::{TextError, format_duration, parse_duration, unit_ns};
pub use engine::{
    ClusterTraits, Conduct, Configured, Detector, EngineTraits, StaticSettings, is_same_setting,
};
pub use failure::{Exit, Fact, Failure};
pub use fault::{Fault, FaultOptions, FaultProcess, FaultTarget, FaultVolume, Loss, SlowLink};
pub use fault_kind::{ActsOn, Ends, FaultAction, FaultKind, FaultRules, Need};
pub use fleet::{Agents, Fleet, MAX_AGENTS, Nats, check_nats, is_label, parse_labels};
pub use hosts::{Host, Hosts, On};
pub use load::{
    Arrivals, Data, FindMax, Limited, Load, Pace, ReplyTime, StatementClass, StatementProtocol,
    Think, ThinkDistribution, Transaction, Until,
};
pub use mix::Mix;
pub use number::{format_percent, grouped, grouped_by, parse_bytes, parse_percent, shown_bytes};
pub use phases::{LoadPhase, Phases};
pub use point::Point;
pub use quorum::{Isolation, LostSide, Quorum, QuorumLost};
pub use random::SplitMix64;
pub use redact::{Redacted, redact, redact_url};
pub use script::{Script, digest, is_lua, parse_scripts};
pub use server::{EngineSpec, LoginSpec, Reset, ServerSpec, ServerUrl, TlsMode};
pub use site::{CpuSet, Limits, Runtime, Site, SiteKind};
pub use span::{Origin, Span, Spanned};
pub use suggest::{alternatives, did_you_mean, listed, nearest, shown};
pub use topology::{Cluster, ClusterProfile, Durability, Follow, Network, Node, Topology};
pub use trial::{Order, Plan, TableSpec, ThresholdSpec, Trial};
pub use value::{FromValue, Value};
pub use volume::{Compression, Devices, DiskLimits, FileSystem, FileSystemKind, Profile, Volume};
