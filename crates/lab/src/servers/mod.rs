//! Private servers: child processes that die with dyno.
