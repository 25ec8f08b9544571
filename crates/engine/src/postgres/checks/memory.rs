//! The size of shared_buffers, relative to memory and data.

use measure::finding::Level;
use measure::finding::check::{About, Check, Observed, Remedy};
use plan::shown_bytes;

use super::{bytes, size};
use crate::checks::Facts;
use crate::postgres::settings::PAGE_BYTES;

const DEFAULT_BYTES: u64 = 128 << 20;
/// From this size on, each session's page tables matter without huge pages.
const LARGE_BYTES: u64 = 8 << 30;
/// Of a host's memory, in %: less leaves most of the work to the kernel's page cache,…
const LEAST_PCT: u64 = 15;
/// …more leaves it too little,…
const GOOD_PCT: u64 = 40;
/// …and with much more the host swaps.
const MOST_PCT: u64 = 80;

const BUFFERS: &str = "shared_buffers";

pub(super) const CHECKS: &[Check<Facts>] = &[
    Check {
        about: About {
            id: "shared-buffers-memory",
            worst: Level::Severe,
            why: "The manual recommends 25 % of a dedicated host's memory to begin with, and rarely more than 40 %, because PostgreSQL also relies on the kernel's page cache; the default of 128 MiB suits any machine.",
            source: "PostgreSQL manual, Resource Consumption (shared_buffers)",
            remedy: Remedy::Setting {
                name: BUFFERS,
                value: "NEEDED",
                live: false,
            },
        },
        judge: memory,
    },
    Check {
        about: About {
            id: "shared-buffers-data",
            worst: Level::Note,
            why: "Data that does not fit in shared_buffers comes from the kernel's page cache or from disk, which determines what the load measures and how long the warm-up must be.",
            source: "PostgreSQL manual, Resource Consumption (shared_buffers)",
            remedy: Remedy::Setting {
                name: BUFFERS,
                value: "NEEDED",
                live: false,
            },
        },
        judge: data,
    },
    Check {
        about: About {
            id: "server-huge-pages",
            worst: Level::Warning,
            why: "Each session is a process with its own page tables: without huge pages, large shared buffers cost memory and CPU time in each session.",
            source: "PostgreSQL manual, Managing Kernel Resources (Linux Huge Pages)",
            remedy: Remedy::Words(
                "run sysctl vm.nr_hugepages=PAGES, leave huge_pages at try (the default), and restart the server",
            ),
        },
        judge: huge_pages,
    },
];

fn memory(server: &Facts) -> Observed {
    let Some(buffers) = bytes(server, BUFFERS, PAGE_BYTES) else {
        return server.unknown(BUFFERS);
    };
    // A small size in a study is deliberate.
    let is_default = buffers <= DEFAULT_BYTES && !server.chosen.contains(BUFFERS);
    let Some(memory) = server.memory_bytes.filter(|memory| *memory > 0) else {
        let observed = format!("{BUFFERS}: {}", shown_bytes(buffers));
        return match is_default {
            true => Observed::warning(observed).with_remedy(
                "set shared_buffers to 25 % of the host's memory and restart the server",
            ),
            false => Observed::unknown(format!("{observed}; the memory of its host is unknown")),
        };
    };
    let servers = server.servers.max(1);
    let percent = buffers.saturating_mul(servers) / (memory / 100).max(1);
    let each = match servers {
        1 => shown_bytes(buffers),
        servers => format!("{} for each of {servers} servers", shown_bytes(buffers)),
    };
    let observed = format!(
        "{BUFFERS}: {each}, {percent} % of {} of memory",
        shown_bytes(memory)
    );
    let good = memory / 4 / servers;
    let found = match percent {
        _ if percent > MOST_PCT => Observed::severe(observed),
        _ if percent > GOOD_PCT => Observed::warning(observed),
        LEAST_PCT.. => return Observed::passed(observed),
        _ if is_default => Observed::warning(observed),
        _ => Observed::note(observed),
    };
    found.with("NEEDED", size(server, good))
}

fn data(server: &Facts) -> Observed {
    let Some(buffers) = bytes(server, BUFFERS, PAGE_BYTES) else {
        return server.unknown(BUFFERS);
    };
    let loaded = server.demand.map(|demand| demand.data_bytes);
    let shown = shown_bytes(buffers);
    let Some(data) = loaded.or(server.data_bytes).filter(|bytes| *bytes > 0) else {
        return Observed::unknown(format!(
            "{BUFFERS}: {shown}; this account sees no tables to compare it with"
        ));
    };
    let observed = format!("{BUFFERS}: {shown}, data of {}", shown_bytes(data));
    match data > buffers {
        true => Observed::note(observed).with(
            "NEEDED",
            size(server, (data + data / 4).next_multiple_of(DEFAULT_BYTES)),
        ),
        false => Observed::passed(observed),
    }
}

fn huge_pages(server: &Facts) -> Observed {
    const NAME: &str = "huge_pages";
    let (Some(buffers), Some(wanted)) = (bytes(server, BUFFERS, PAGE_BYTES), server.text(NAME))
    else {
        return server.unknown(NAME);
    };
    let observed = format!("{NAME}: {wanted}, {BUFFERS}: {}", shown_bytes(buffers));
    if buffers < LARGE_BYTES || wanted == "on" {
        return Observed::passed(observed);
    }
    match (wanted, server.text("huge_pages_status")) {
        ("try", Some("on")) => Observed::passed(observed),
        ("try", None) => Observed::unknown(format!(
            "{observed}; only PostgreSQL 17 and later report whether they are used"
        )),
        _ => Observed::warning(observed).with("PAGES", buffers / (2 << 20) * 11 / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with;
    use super::*;
    use crate::checks::Demand;
    use Level::{Note, Passed, Severe, Unknown, Warning};

    #[test]
    fn buffers_against_memory() {
        let judge = |buffers: &str, servers| {
            let mut server = with(&[(BUFFERS, buffers)]);
            server.servers = servers;
            memory(&server).level()
        };
        // Of 16 GiB.
        let levels = ["4GB", "6GB", "7GB", "13GB", "1GB", "128MB"].map(|size| judge(size, 1));
        assert_eq!(levels, [Passed, Passed, Warning, Severe, Note, Warning]);
        assert_eq!([judge("1GB", 4), judge("2GB", 8)], [Passed, Severe]);
        let mut small = with(&[(BUFFERS, "16384")]);
        (small.planned, small.chosen) = (true, [BUFFERS.to_owned()].into());
        assert_eq!(
            memory(&small),
            Observed::note("shared_buffers: 128.0 MiB, 0 % of 16.0 GiB of memory")
                .with("NEEDED", "\"4096MB\"")
        );
        let mut far = with(&[(BUFFERS, "4GB")]);
        far.memory_bytes = None;
        assert_eq!(memory(&far).level(), Unknown);
        far.settings = Ok([(BUFFERS.to_owned(), "128MB".to_owned())].into());
        assert_eq!(memory(&far).level(), Warning);
    }

    #[test]
    fn buffers_against_data() {
        let mut server = with(&[(BUFFERS, "1GB")]);
        assert_eq!(data(&server).level(), Unknown);
        server.data_bytes = Some(2 << 30);
        assert_eq!(
            data(&server),
            Observed::note("shared_buffers: 1.0 GiB, data of 2.0 GiB").with("NEEDED", "2560MB")
        );
        // Data to be loaded takes precedence over existing data.
        server.demand = Some(Demand {
            data_bytes: 1 << 20,
            ..Demand::default()
        });
        assert_eq!(data(&server).level(), Passed);
    }

    #[test]
    fn huge_pages_matter_with_large_buffers() {
        let judge = |buffers, wanted, status: Option<&str>| {
            let mut settings = vec![(BUFFERS, buffers), ("huge_pages", wanted)];
            settings.extend(status.map(|status| ("huge_pages_status", status)));
            huge_pages(&with(&settings)).level()
        };
        assert_eq!(judge("128MB", "off", None), Passed);
        assert_eq!(judge("32GB", "on", None), Passed);
        assert_eq!(judge("32GB", "off", None), Warning);
        assert_eq!(judge("32GB", "try", None), Unknown);
        assert_eq!(judge("32GB", "try", Some("on")), Passed);
        assert_eq!(judge("32GB", "try", Some("off")), Warning);
    }
}
