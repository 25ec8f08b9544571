//! SQLite in process. Its calls block, so each virtual user has a thread.

mod dialect;
mod session;
mod target;

pub use dialect::DIALECT;
pub use session::{SqliteConnector, SqliteSession, error_remedy, session_error};
pub use target::{SqliteTarget, SqliteTargetError};

/// The version of SQLite that is built in.
pub fn version() -> &'static str {
    rusqlite::version()
}
