//! A private network on this host: namespaces connected to a virtual Ethernet switch.
//!
//! The switch is a bridge in a namespace of its own, so that neither its forwarding nor the names
//! of its ports depend on the host's configuration, and so that all interfaces disappear with the
//! namespaces. The host is connected to it and forwards nothing.

mod delay;
mod namespace;
mod neighbors;
pub(crate) mod silence;
mod slow;
mod switch;

pub use namespace::Namespace;
pub use silence::Silence;
pub use switch::Switch;

#[cfg(test)]
mod tests;
