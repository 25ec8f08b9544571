//! The size of the buffer pool, relative to memory and data.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};

use crate::checks::Facts;
use crate::mysql::MARIADB;
use plan::shown_bytes;

/// Both engines' default.
const DEFAULT_BYTES: u64 = 128 << 20;
/// Smallest instance of a buffer pool that is worth its own mutex.
const INSTANCE_BYTES: u64 = 1 << 30;
/// From this size on, a single mutex for the whole pool is a bottleneck.
const LARGE_BYTES: u64 = 8 << 30;
/// Of a host's memory, in %.
const MOST_PCT: u64 = 90;
const GOOD_PCT: u64 = 80;

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "buffer-pool-memory",
            worst: Level::Severe,
            why: "On a dedicated host, the buffer pool should have 70-80 % of memory: with more the host swaps, and with the default of 128 MiB the load measures the disk.",
            source: "VMware vSAN paper, best practices; MySQL manual, innodb_buffer_pool_size",
            remedy: Remedy::Setting {
                name: "innodb_buffer_pool_size",
                value: "NEEDED",
                live: true,
            },
        },
        judge: memory,
    },
    Check {
        about: About {
            id: "buffer-pool-data",
            worst: Level::Note,
            why: "Whether the data fits in the buffer pool determines whether the load measures memory or disk, and how long the warm-up must be.",
            source: "StorageReview article (data larger than memory), AnandTech article (data in memory)",
            remedy: Remedy::Setting {
                name: "innodb_buffer_pool_size",
                value: "NEEDED",
                live: true,
            },
        },
        judge: data,
    },
    Check {
        about: About {
            id: "buffer-pool-instances",
            worst: Level::Note,
            why: "Each instance has its own locks: instances below 1 GiB are not worthwhile, and the single instance of a large pool is contended.",
            source: "VMware vSAN paper, best practices (an instance for each GB); MySQL manual, innodb_buffer_pool_instances",
            remedy: Remedy::Setting {
                name: "innodb_buffer_pool_instances",
                value: "NEEDED",
                live: false,
            },
        },
        judge: instances,
    },
];

const POOL: &str = "innodb_buffer_pool_size";

fn memory(server: &Facts) -> Observed {
    let Some(pool) = server.number(POOL) else {
        return server.unknown(POOL);
    };
    let all = pool.saturating_mul(server.servers.max(1));
    let Some(memory) = server.memory_bytes.filter(|memory| *memory > 0) else {
        return match pool {
            ..=DEFAULT_BYTES => Observed::warning(format!("{POOL}: {}", shown_bytes(pool)))
                .with("NEEDED", 8 * DEFAULT_BYTES),
            _ => Observed::unknown(format!(
                "{POOL}: {}; the memory of its host is unknown",
                shown_bytes(pool)
            )),
        };
    };
    let percent = all / (memory / 100).max(1);
    let each = match server.servers {
        0 | 1 => shown_bytes(pool),
        servers => format!("{} for each of {servers} servers", shown_bytes(pool)),
    };
    let observed = format!(
        "{POOL}: {each}, {percent} % of {} of memory",
        shown_bytes(memory)
    );
    let good = memory / 4 * 3 / server.servers.max(1);
    let found = match percent {
        _ if percent > MOST_PCT => Observed::severe(observed),
        _ if percent > GOOD_PCT => Observed::warning(observed),
        50.. => return Observed::passed(observed),
        // A small pool in a study is deliberate.
        _ if pool <= DEFAULT_BYTES && !server.chosen.contains(POOL) => Observed::warning(observed),
        _ => Observed::note(observed),
    };
    found.with("NEEDED", server.size(good / DEFAULT_BYTES * DEFAULT_BYTES))
}

fn data(server: &Facts) -> Observed {
    let Some(pool) = server.number(POOL) else {
        return server.unknown(POOL);
    };
    let loaded = server.demand.map(|demand| demand.data_bytes);
    let Some(data) = loaded.or(server.data_bytes).filter(|bytes| *bytes > 0) else {
        return Observed::unknown(format!(
            "{POOL}: {}; this account sees no tables to compare it with",
            shown_bytes(pool)
        ));
    };
    let needed = (data + data / 4).next_multiple_of(DEFAULT_BYTES);
    let observed = format!(
        "{POOL}: {}, data of {}",
        shown_bytes(pool),
        shown_bytes(data)
    );
    match data > pool {
        true => Observed::note(observed).with("NEEDED", server.size(needed)),
        false => Observed::passed(observed),
    }
}

fn instances(server: &Facts) -> Observed {
    const NAME: &str = "innodb_buffer_pool_instances";
    if server.engine == MARIADB && server.is_since(10, 5) && server.settings.is_ok() {
        return match server.text(POOL) {
            Some(_) => Observed::passed(format!(
                "{NAME}: MariaDB's buffer pool has a single instance"
            )),
            None => server.unknown(POOL),
        };
    }
    let (Some(pool), Some(parts)) = (server.number(POOL), server.number(NAME)) else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {parts}, of {}", shown_bytes(pool));
    let best = (pool / INSTANCE_BYTES).clamp(1, 8);
    let too_small = parts > 1 && pool / parts < INSTANCE_BYTES;
    match too_small || (parts <= 1 && pool >= LARGE_BYTES) {
        true => Observed::note(observed).with("NEEDED", best),
        false => Observed::passed(observed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with;
    use super::*;
    use crate::MYSQL;
    use crate::checks::Demand;
    use Level::{Note, Passed, Severe, Unknown, Warning};

    #[test]
    fn a_pool_against_memory() {
        let judge = |pool: &str, servers| {
            let mut server = with(MYSQL, &[(POOL, pool)]);
            server.servers = servers;
            memory(&server).level()
        };
        assert_eq!([judge("12G", 1), judge("8G", 1)], [Passed; 2]);
        assert_eq!(
            [judge("13G", 1), judge("15G", 1), judge("17G", 1)],
            [Warning, Severe, Severe]
        );
        assert_eq!(
            [judge("1G", 1), judge("128M", 1), judge("16M", 1)],
            [Note, Warning, Warning]
        );
        assert_eq!([judge("1536M", 8), judge("2G", 8)], [Passed, Severe]);
        let mut small = with(MYSQL, &[(POOL, "16M")]);
        (small.planned, small.chosen) = (true, [POOL.to_owned()].into());
        assert_eq!(
            memory(&small),
            Observed::note("innodb_buffer_pool_size: 16.0 MiB, 0 % of 16.0 GiB of memory")
                .with("NEEDED", "\"12288M\"")
        );
        let mut far = with(MYSQL, &[(POOL, "12G")]);
        far.memory_bytes = None;
        assert_eq!(memory(&far).level(), Unknown);
        far.settings = Ok([(POOL.to_owned(), "134217728".to_owned())].into());
        assert_eq!(memory(&far).level(), Warning);
    }

    #[test]
    fn a_pool_against_data() {
        let mut server = with(MYSQL, &[(POOL, "1G")]);
        assert_eq!(data(&server).level(), Unknown);
        server.data_bytes = Some(2 << 30);
        assert_eq!(
            data(&server),
            Observed::note("innodb_buffer_pool_size: 1.0 GiB, data of 2.0 GiB")
                .with("NEEDED", 5_u64 << 29)
        );
        // Data to be loaded takes precedence over existing data.
        server.demand = Some(Demand {
            data_bytes: 1 << 20,
            ..Demand::default()
        });
        assert_eq!(data(&server).level(), Passed);
    }

    #[test]
    fn instances_of_a_pool() {
        let judge = |engine, pool, parts| {
            let name = "innodb_buffer_pool_instances";
            instances(&with(engine, &[(POOL, pool), (name, parts)])).level()
        };
        assert_eq!(judge(MYSQL, "50G", "8"), Passed);
        assert_eq!(judge(MYSQL, "1G", "8"), Note);
        assert_eq!(judge(MYSQL, "8G", "1"), Note);
        assert_eq!(judge(MYSQL, "512M", "1"), Passed);
        assert_eq!(judge(MARIADB, "512M", "8"), Passed);
    }
}
