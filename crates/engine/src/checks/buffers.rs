//! The size of a server's buffers, relative to memory and data.

use measure::finding::Level::{Note, Passed, Severe, Warning};
use measure::finding::check::{Observed, graded, unknown, warning};
use plan::shown_bytes;

use super::Facts;

pub(crate) const DEFAULT_BYTES: u64 = 128 << 20;

impl Facts {
    /// Grades a size by the share of the host's memory, in %, that all servers take.
    pub(crate) fn share_of_memory(&self, name: &str, bytes: u64, percents: [u64; 3]) -> Observed {
        let [least, good, most] = percents;
        // A small size that the study sets is deliberate.
        let is_default = bytes <= DEFAULT_BYTES && !self.chosen.contains(name);
        let (size, servers) = (shown_bytes(bytes), self.servers.max(1));
        let Some(memory) = self.memory_bytes else {
            let observed = format!("{name}: {size}");
            return match is_default {
                true => warning(observed),
                false => unknown(format!("{observed}; the memory of its host is unknown")),
            };
        };
        let percent = bytes.saturating_mul(servers) / (memory / 100).max(1);
        let level = match percent {
            _ if percent > most => Severe,
            _ if percent > good => Warning,
            _ if percent >= least => Passed,
            _ if is_default => Warning,
            _ => Note,
        };
        let each = match servers {
            1 => size,
            _ => format!("{size} for each of {servers} servers"),
        };
        let memory = shown_bytes(memory);
        graded(
            level,
            format!("{name}: {each}, {percent} % of {memory} of memory"),
        )
    }

    /// Notes data that does not fit; `written` formats a size as the server's settings do.
    pub(crate) fn room_for_data(
        &self,
        name: &str,
        bytes: u64,
        written: fn(&Self, u64) -> String,
    ) -> Observed {
        let size = shown_bytes(bytes);
        let loaded = self.demand.map(|demand| demand.data_bytes);
        let Some(data) = loaded.or(self.data_bytes).filter(|bytes| *bytes > 0) else {
            return unknown(format!(
                "{name}: {size}; this account sees no tables to compare it with"
            ));
        };
        let needed = (data + data / 4).next_multiple_of(DEFAULT_BYTES);
        let observed = format!("{name}: {size}, data of {}", shown_bytes(data));
        graded(Note.when(data > bytes), observed).with("NEEDED", written(self, needed))
    }
}
