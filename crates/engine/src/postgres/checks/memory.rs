//! The size of shared_buffers, relative to memory and data.

use measure::checks;
use measure::finding::check::{Check, Judged, Observed};
use plan::shown_bytes;

use super::{bytes, size};
use crate::checks::Facts;
use crate::postgres::settings::PAGE_BYTES;

/// From this size on, each session's page tables matter without huge pages.
const LARGE_BYTES: u64 = 8 << 30;
/// Shares of a host's memory, in %: less leaves most of the work to the kernel's page cache, more
/// leaves it too little, and with much more the host swaps.
const SHARES: [u64; 3] = [15, 40, 80];

const BUFFERS: &str = "shared_buffers";

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "shared-buffers-memory", Severe => memory(server),
        why: "The manual recommends 25 % of a dedicated host's memory to begin with, and rarely more than 40 %, because PostgreSQL also relies on the kernel's page cache; the default of 128 MiB suits any machine.",
        source: "PostgreSQL manual, Resource Consumption (shared_buffers)",
        remedy: Restart(BUFFERS, "NEEDED");
    "shared-buffers-data", Note => data(server),
        why: "Data that does not fit in shared_buffers comes from the kernel's page cache or from disk, which determines what the load measures and how long the warm-up must be.",
        source: "PostgreSQL manual, Resource Consumption (shared_buffers)",
        remedy: Restart(BUFFERS, "NEEDED");
    "server-huge-pages", Warning => huge_pages(server),
        why: "Each session is a process with its own page tables: without huge pages, large shared buffers cost memory and CPU time in each session.",
        source: "PostgreSQL manual, Managing Kernel Resources (Linux Huge Pages)",
        remedy: Words("run sysctl vm.nr_hugepages=PAGES, leave huge_pages at try (the default), and restart the server");
};

fn memory(server: &Facts) -> Judged {
    let buffers = bytes(server, BUFFERS, PAGE_BYTES)?;
    let observed = server.share_of_memory(BUFFERS, buffers, SHARES);
    Ok(match server.memory_bytes {
        Some(memory) => observed.with("NEEDED", size(server, memory / 4 / server.servers.max(1))),
        None => observed
            .with_remedy("set shared_buffers to 25 % of the host's memory and restart the server"),
    })
}

fn data(server: &Facts) -> Judged {
    let buffers = bytes(server, BUFFERS, PAGE_BYTES)?;
    Ok(server.room_for_data(BUFFERS, buffers, size))
}

fn huge_pages(server: &Facts) -> Judged {
    const NAME: &str = "huge_pages";
    let (wanted, buffers) = (server.text(NAME)?, bytes(server, BUFFERS, PAGE_BYTES)?);
    let observed = format!("{NAME}: {wanted}, {BUFFERS}: {}", shown_bytes(buffers));
    match (wanted, server.text("huge_pages_status")) {
        _ if buffers < LARGE_BYTES => Ok(Observed::passed(observed)),
        ("on", _) | ("try", Ok("on")) => Ok(Observed::passed(observed)),
        ("try", Err(_)) => Err(Observed::unknown(format!(
            "{observed}; only PostgreSQL 17 and later report whether they are used"
        ))),
        _ => Ok(Observed::warning(observed).with("PAGES", buffers / (2 << 20) * 11 / 10)),
    }
}
