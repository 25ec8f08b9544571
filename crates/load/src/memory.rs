//! Memory that a load no longer needs.

/// Returns free memory to the operating system: the allocator keeps what the users had, and reports
/// would come on top of it.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "no crate in use wraps malloc_trim")]
pub(crate) fn release() {
    // SAFETY: it takes no pointer, and may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other allocators decide by themselves.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn release() {}
