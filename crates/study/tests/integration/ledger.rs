//! `[ledger]`, `[chaos]`, and what clusters do besides replicating.

use std::time::Duration;

use crate::common::{SMALLEST, plan, trial};
use plan::{Follow, Ledger, Network};

fn ledger(text: &str, overrides: &[(&str, &str)]) -> Option<Ledger> {
    let text = format!("{SMALLEST}{text}");
    trial(&text, overrides).ledger
}

fn on(rate: f64, replica_reads: f64) -> Option<Ledger> {
    Some(Ledger {
        rate,
        replica_reads,
    })
}

#[test]
fn the_section_turns_the_ledger_on() {
    for (text, wanted) in [
        ("", None),
        ("[ledger]\n", on(50.0, 0.0)),
        ("ledger.replica_reads = 5\n", on(50.0, 5.0)),
        ("[ledger]\nrate = 20\n", on(20.0, 0.0)),
        ("[chaos]\n", on(50.0, 0.0)),
    ] {
        assert_eq!(ledger(text, &[]), wanted, "{text}");
    }
    assert_eq!(ledger("", &[("ledger.rate", "10")]), on(10.0, 0.0));
    assert_eq!(ledger("[ledger]\n", &[("ledger.rate", "0")]), None);
}

/// What the ledger costs is a sweep from a rate of 0.
#[test]
fn rates_of_the_ledger_are_an_axis() {
    let text = format!("{SMALLEST}[ledger]\n[sweep]\n\"ledger.rate\" = [0, 50]\n");
    let rates = plan(&text, &[]).trials.into_iter();
    let rates: Vec<_> = rates.map(|t| t.ledger.map(|ledger| ledger.rate)).collect();
    assert_eq!(rates, [None, Some(50.0)]);
}

/// Only servers can have one.
#[test]
fn an_engine_in_process_has_no_ledger() {
    let text = "title = \"t\"\n[ledger]\n[[variant]]\nname = \"a\"\nserver.engine = \"sqlite\"\n\
                [[variant]]\nname = \"b\"\nserver.url = \"mysql://u@h/d\"\n";
    let ledgers = plan(text, &[]).trials.into_iter().map(|t| t.ledger);
    assert_eq!(ledgers.collect::<Vec<_>>(), [None, on(50.0, 0.0)]);
}

#[test]
fn a_cluster_has_options() {
    let text =
        "title = \"t\"\nserver.engine = \"mariadb\"\n[topology]\ncluster = \"asynchronous\"\n";
    let options = |rest: &str| {
        let topology = trial(&format!("{text}{rest}"), &[]).topology;
        let cluster = topology.cluster.unwrap();
        (topology.follow, cluster.failover, cluster.network.value)
    };
    assert_eq!(options(""), (Follow::Primary, None, Network::Loopback));
    let other = options("follow = \"fixed\"\nfailover = \"0s\"\nnetwork = \"namespaces\"\n");
    let at_once = Some(Duration::ZERO);
    assert_eq!(other, (Follow::Fixed, at_once, Network::Namespaces));
    let given = "title = \"t\"\nserver.url = \"postgres://u:p@a,b/d\"\ntopology.follow = \"any\"\n";
    assert_eq!(trial(given, &[]).topology.follow, Follow::Any);
}
