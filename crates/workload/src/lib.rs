//! What a virtual user does: the OLTP transactions, deterministic rows, random
//! distributions. Pure: generic over [`session::Session`], never a socket.

pub mod catalog;
pub mod session;
