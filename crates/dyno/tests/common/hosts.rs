//! What is left on hosts of namespaces.

use testkit::Hosts;

use super::{entries, wait_until};

/// Waits until nothing runs on these hosts; a host's programs end a moment after dyno.
pub fn wait_for_idle(hosts: &Hosts, numbers: impl IntoIterator<Item = u8>) {
    for number in numbers {
        wait_until("the end of what runs there", || {
            hosts.processes(number).is_empty()
        });
    }
}

/// Nothing runs on these hosts, and they have only dyno's cache, in which no run has left anything.
#[track_caller]
pub fn assert_idle(hosts: &Hosts, numbers: impl IntoIterator<Item = u8> + Clone) {
    wait_for_idle(hosts, numbers.clone());
    for number in numbers {
        let own = hosts.own(number);
        let mut left = entries(&own);
        left.retain(|path| !path.ends_with("dyno-cache"));
        left.extend(entries(&own.join("dyno-cache/run")));
        assert!(left.is_empty(), "{left:?}");
        let tables = ["sh", "-c", "nft list tables || true"];
        assert_eq!(hosts.run(number, &tables), "");
    }
}
