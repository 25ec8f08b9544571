//! dyno: a dynamometer for OLTP databases.
fn main() {}
