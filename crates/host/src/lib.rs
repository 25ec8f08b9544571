//! Reads a machine: [`HostFacts`] once, a [`Sample`] of its counters each second.
//!
//! The only reader for fingerprints, `dyno doctor`, the needs of a study, and monitors. It reads
//! through [`Files`], so it works for any machine whose files are accessible. Files are parsed
//! from text, and everything derived from them is a pure function. `procfs-core` parses where it
//! accepts everything that kernels write; modules that parse by hand say why.

mod activity;
mod ahead;
pub mod cgroup;
mod cpu;
pub mod device;
mod facts;
mod files;
pub mod group;
mod memory;
pub mod mounts;
pub mod process;
pub mod sample;
pub mod sockets;
mod storage;
mod timekeeping;
mod virtualization;

pub use activity::{Activity, OtherPrograms};
pub use ahead::ReadAhead;
pub use cpu::{Cpu, IdleState, PowerSetting};
pub use facts::{HostFacts, Limits, fingerprint};
pub use files::{Files, LOCAL, RootDir, Space, field, line, number, text};
pub use memory::Memory;
pub use sample::Sample;
pub use storage::{RequestQueue, StackedDevice, Storage};
pub use timekeeping::{Chrony, Timekeeping};
