//! Memory that loads no longer need.

/// Returns freed memory to the operating system where the C library is glibc, which otherwise keeps
/// it. Called once all loads and their summaries have ended: what follows would add to the peak.
#[cfg_attr(
    target_env = "gnu",
    expect(unsafe_code, reason = "no crate in use wraps malloc_trim")
)]
pub fn release_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes no pointer, and any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
