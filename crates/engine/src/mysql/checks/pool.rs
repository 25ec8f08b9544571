//! The size of the buffer pool, relative to memory and data.

use measure::checks;
use measure::finding::Level::Note;
use measure::finding::check::{Check, Judged, Observed};
use plan::shown_bytes;

use crate::checks::{DEFAULT_BYTES, Facts};
use crate::mysql::MARIADB;

/// Smallest instance of a buffer pool that is worth its own mutex.
const INSTANCE_BYTES: u64 = 1 << 30;
/// From this size on, a single mutex for the whole pool is a bottleneck.
const LARGE_BYTES: u64 = 8 << 30;
/// Good shares of a host's memory, and the most, in %.
const SHARES: [u64; 3] = [50, 80, 90];

const POOL: &str = "innodb_buffer_pool_size";

pub(super) const CHECKS: &[Check<Facts>] = checks! { server:
    "buffer-pool-memory", Severe => memory(server),
        why: "On a dedicated host, the buffer pool should have 70-80 % of memory: with more the host swaps, and with the default of 128 MiB the load measures the disk.",
        source: "VMware vSAN paper, best practices; MySQL manual, innodb_buffer_pool_size",
        remedy: Live(POOL, "NEEDED");
    "buffer-pool-data", Note => data(server),
        why: "Whether the data fits in the buffer pool determines whether the load measures memory or disk, and how long the warm-up must be.",
        source: "StorageReview article (data larger than memory), AnandTech article (data in memory)",
        remedy: Live(POOL, "NEEDED");
    "buffer-pool-instances", Note => instances(server),
        why: "Each instance has its own locks: instances below 1 GiB are not worthwhile, and the single instance of a large pool is contended.",
        source: "VMware vSAN paper, best practices (an instance for each GB); MySQL manual, innodb_buffer_pool_instances",
        remedy: Restart("innodb_buffer_pool_instances", "NEEDED");
};

/// A size as written in this server's settings.
fn size(server: &Facts, bytes: u64) -> String {
    match server.planned {
        true => format!("\"{}M\"", bytes >> 20),
        false => bytes.to_string(),
    }
}

fn memory(server: &Facts) -> Judged {
    let pool = server.number(POOL)?;
    let good = server
        .memory_bytes
        .map(|memory| memory / 4 * 3 / server.servers.max(1));
    let needed = good.unwrap_or(8 * DEFAULT_BYTES) / DEFAULT_BYTES * DEFAULT_BYTES;
    let observed = server.share_of_memory(POOL, pool, SHARES);
    Ok(observed.with("NEEDED", size(server, needed)))
}

fn data(server: &Facts) -> Judged {
    Ok(server.room_for_data(POOL, server.number(POOL)?, size))
}

fn instances(server: &Facts) -> Judged {
    const NAME: &str = "innodb_buffer_pool_instances";
    let pool = server.number(POOL)?;
    if server.engine == MARIADB && server.is_since(10, 5) {
        let observed = format!("{NAME}: MariaDB's buffer pool has a single instance");
        return Ok(Observed::passed(observed));
    }
    let parts = server.number(NAME)?;
    let is_small = parts > 1 && pool / parts < INSTANCE_BYTES;
    let is_contended = parts <= 1 && pool >= LARGE_BYTES;
    let observed = format!("{NAME}: {parts}, of {}", shown_bytes(pool));
    let best = (pool / INSTANCE_BYTES).clamp(1, 8);
    Ok(Observed::graded(Note.when(is_small || is_contended), observed).with("NEEDED", best))
}
