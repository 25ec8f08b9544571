//! What host and servers did while they were driven.
