//! Load from many machines: a coordinator and its agents, which a nats-server connects.
//!
//! The rest of the program sees neither NATS nor its event loop. A coordinator finds agents, measures
//! their clocks, has them run a load ([`Fleet::order`]), and receives what they report; an agent
//! ([`agent::serve`]) runs what a coordinator has signed whose key it knows.

mod access;
pub mod agent;
mod clock;
mod connection;
mod coordinator;
mod identity;
mod key;
mod message;
mod reports;

pub use access::Access;
pub use coordinator::{Drive, Fleet, busy, failed};
pub use key::{PublicKey, SigningKey, unique};
pub use message::{Control, Ending, Identity, Presence};
pub use reports::{Part, Receipt};
