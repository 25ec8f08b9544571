//! Scripts of users' own: LuaJIT with the API of sysbench.

pub mod lua;
