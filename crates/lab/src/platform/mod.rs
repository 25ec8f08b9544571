//! What a server stands on besides its program: the CPUs that it may use, and the disk
//! that its data lies on.

pub(crate) mod cgroup;
pub(crate) mod directory;
