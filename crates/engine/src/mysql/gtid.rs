//! Which transactions a server has: sets of global transaction IDs (GTIDs).

use std::collections::BTreeMap;

use crate::remote::Rows;

/// The number of transactions in a set in MySQL's format: `uuid:1-5:7, uuid:tag:1-3`.
pub(super) fn count(set: &str) -> u64 {
    let interval = |part: &str| -> Option<u64> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (
            first.trim().parse::<u64>().ok()?,
            last.trim().parse::<u64>().ok()?,
        );
        last.checked_sub(first)?.checked_add(1)
    };
    let parts = set.split([',', ':']).filter_map(interval);
    parts.fold(0, u64::saturating_add)
}

pub(super) fn count_of_all(sets: &Rows) -> u64 {
    let counts = sets.iter().flatten().flatten().map(|set| count(set));
    counts.fold(0, u64::saturating_add)
}

/// The transactions in one state of MariaDB's binary log (`0-1-100,0-2-120`) that another state
/// lacks; empty if there are none. A state has the last number for each domain and server.
pub(super) fn beyond(state: &str, other: &str) -> String {
    let other: BTreeMap<_, _> = entries(other).collect();
    let lacking = entries(state).filter_map(|(from, last)| {
        let known = other.get(&from).copied().unwrap_or(0);
        let first = known.checked_add(1).filter(|first| *first <= last)?;
        Some(match first == last {
            true => format!("{from}-{last}"),
            false => format!("{from}-{first} to {from}-{last}"),
        })
    });
    lacking.collect::<Vec<_>>().join(", ")
}

/// The highest number in a position or state of MariaDB.
pub(super) fn last(state: &str) -> u64 {
    entries(state).map(|(_, last)| last).max().unwrap_or(0)
}

/// Domain with server, and the number of the last transaction.
fn entries(state: &str) -> impl Iterator<Item = (&str, u64)> {
    state.split(',').filter_map(|entry| {
        let (from, number) = entry.trim().rsplit_once('-')?;
        Some((from, number.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_of_mysql_are_counted() {
        const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        assert_eq!(count(""), 0);
        assert_eq!(count(&format!("{UUID}:23")), 1);
        assert_eq!(count(&format!("{UUID}:1-3:11:47-49,\n{UUID}:tag:1-2")), 9);
        assert_eq!(count(&format!("{UUID}:9-1:x-2:18446744073709551615-0")), 0);
    }

    #[test]
    fn transactions_that_a_mariadb_server_lacks_are_found() {
        assert_eq!(beyond("0-1-100", "0-1-100,0-2-120"), "");
        assert_eq!(beyond("", "0-1-1"), "");
        assert_eq!(beyond("0-1-100", "0-1-99,0-2-120"), "0-1-100");
        let found = beyond("0-1-100,0-2-5", "0-1-90,0-2-120");
        assert_eq!(found, "0-1-91 to 0-1-100");
        assert_eq!(beyond("0-1-2,1-1-1", ""), "0-1-1 to 0-1-2, 1-1-1");
        assert_eq!(last("0-1-100,0-2-120"), 120);
    }
}
