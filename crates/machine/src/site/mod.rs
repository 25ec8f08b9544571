//! Where nodes run: this host, a network namespace on it, or another machine.

mod any;
mod cgroup;
mod container;
pub mod far;
mod launched;
mod machine;
mod network;
mod set_up;
mod this_host;
mod vm;

pub use crate::ssh::{Destination, shown};
pub use any::{LOOPBACK, Site};
pub use launched::{Launched, Program, is_running};
pub use machine::{GUEST_DIRECTORY, Machine, widened};
pub(crate) use network::silence;
pub use network::{Namespace, Silence, Switch};
pub use set_up::{beside, set_up};
pub use this_host::ThisHost;
pub use vm::GuestPlan;
