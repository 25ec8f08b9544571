//! Repeats of a study's trials, and their order.

use std::collections::BTreeSet;

use crate::common::{SMALLEST, labels, plan};

#[test]
fn repeats_are_blocks() {
    let text =
        format!("{SMALLEST}[load]\nrepeats = 3\n[sweep]\nload.threads = [1, 2, 3, 4, 5, 6]\n");
    let shuffled = plan(&text, &[]);
    assert!(shuffled.order.random);
    assert_eq!((shuffled.repeats, shuffled.trials.len()), (3, 18));
    let orders: BTreeSet<Vec<u32>> = shuffled
        .trials
        .chunks(6)
        .map(|block| block.iter().map(|t| t.load.threads).collect())
        .collect();
    assert_eq!(orders.len(), 3, "each block has an order of its own");
    for (block, repeat) in shuffled.trials.chunks(6).zip(1..) {
        let all: BTreeSet<_> = block.iter().map(|t| t.load.threads).collect();
        assert_eq!(all, (1..=6).collect());
        assert!(block.iter().all(|t| t.repeat == repeat));
    }
    let numbers: Vec<_> = shuffled.trials.iter().map(|t| t.number).collect();
    assert_eq!(numbers, (1..=18).collect::<Vec<_>>());
    // A seed names an order, in this version and in later ones.
    let first: Vec<_> = shuffled.trials[..6]
        .iter()
        .map(|t| t.load.threads)
        .collect();
    assert_eq!(first, [3, 1, 2, 5, 6, 4]);
    let other = plan(&text, &[("load.order_seed", "2")]);
    assert_ne!(labels(&other), labels(&shuffled));
    assert_eq!(labels(&plan(&text, &[])), labels(&shuffled));

    let written = plan(&text, &[("load.order", "written")]);
    assert_eq!(
        labels(&written)[..2],
        ["threads=1, repeat 1", "threads=2, repeat 1"]
    );
    assert_eq!(labels(&written)[6], "threads=1, repeat 2");
    let once = plan(&text, &[("load.repeats", "1")]);
    assert!(!once.order.random);
    assert_eq!(labels(&once)[..2], ["threads=1", "threads=2"]);
    let random = [("load.repeats", "1"), ("load.order", "random")];
    assert_ne!(labels(&plan(&text, &random))[..], labels(&once)[..]);
    let alone = plan(SMALLEST, &[("load.repeats", "2")]);
    assert_eq!(labels(&alone), ["repeat 1", "repeat 2"]);
}
