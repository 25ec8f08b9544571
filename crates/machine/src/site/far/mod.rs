//! dyno's own program on another host, which does there what a study needs. It is the program that
//! runs here, copied into dyno's directory on the host and run as a session of the connection that
//! exists anyway.
//!
//! ```text
//! here                              there
//! Link::ask ---- a line of JSON ---> serve
//!           <--- a line of JSON ----
//! ```
//!
//! Requests are answered in any order. When the connection ends, the program takes down what it has
//! set up, and ends.

mod clock;
mod frame;
mod link;
pub mod reboot;
mod serve;

pub use clock::Clock;
pub use link::Link;
pub(super) use link::SILENCE;
pub use serve::serve;

/// Printed by the program before its first message: a shell's start-up files may print something
/// before it.
const BEGIN: &str = "dyno-host-program-begins";
