//! What a machine says of itself: [`Facts`] once, a [`Sample`] each second.
//!
//! One reader for fingerprints, `dyno doctor`, the needs of a study and monitors. It reads
//! through [`Files`], so it works for any machine whose files can be had; what is read is
//! parsed from text, and everything derived from it is a pure function. Text is parsed by
//! `procfs-core` where that takes what the kernel may write; modules that parse by hand say
//! why.

mod activity;
pub mod cgroup;
mod chrony;
mod clock;
mod cpu;
pub mod device;
mod energy;
mod facts;
mod files;
mod fingerprint;
mod memory;
pub mod mounts;
mod place;
pub mod process;
pub mod quota;
pub mod sample;
pub mod sockets;
mod virtualization;

pub use activity::Activity;
pub use chrony::Chrony;
pub use clock::Clock;
pub use cpu::Cpu;
pub use energy::{IdleState, PowerSetting};
pub use facts::{Facts, Limits};
pub use files::{Files, LOCAL, Root, Space, line, number, text};
pub use fingerprint::fingerprint;
pub use memory::Memory;
pub use place::{Place, Queue, Volume};
pub use sample::Sample;
