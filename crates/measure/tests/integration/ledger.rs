//! The ledger's checker: histories with each anomaly, and random correct ones.

use std::collections::BTreeMap;

use measure::fault::{FaultRecord, InFlight};
use measure::ledger::{
    Appending, Contents, Fate, History, LedgerSummary, Opening, Read, Record, Row, Transfer, check,
    in_flight, losses,
};
use proptest::prelude::*;

const OPENING: Opening = Opening {
    accounts: 20,
    balance: 100,
};

/// Transfers of one user, one per second, each taking half a second, and what a member has that
/// committed exactly `committed` of them.
struct Made {
    records: Vec<Record>,
    transfers: Vec<Transfer>,
    committed: Vec<usize>,
}

fn made(fates: &[(Fate, bool)]) -> Made {
    let mut made = Made {
        records: vec![Record::Opened(OPENING)],
        transfers: Vec::new(),
        committed: Vec::new(),
    };
    for (index, (fate, is_committed)) in fates.iter().enumerate() {
        let number = index as i64;
        let transfer = Transfer {
            user: 1,
            sequence: number + 1,
            from: 1 + number % 20,
            to: 1 + (number * 7 + 3) % 20,
            amount: 1 + number % 9,
        };
        let begun = Record::Begun {
            at_s: index as f64,
            transfer,
        };
        let ended = Record::Ended {
            at_s: index as f64 + 0.5,
            user: 1,
            sequence: number + 1,
            fate: *fate,
            error: None,
        };
        made.records.extend([begun, ended]);
        made.transfers.push(transfer);
        if *is_committed {
            made.committed.push(index);
        }
    }
    made
}

impl Made {
    fn history(&self) -> History {
        let records = self.records.iter().cloned();
        let bytes: Vec<u8> = records.flat_map(Record::line).collect();
        History::read(&*bytes).unwrap()
    }

    /// Reads of members at these times, each of which finds a sequence.
    fn read(&mut self, reads: &[(f64, u32, i64)]) {
        let reads = reads.iter().map(|&(at_s, member, sequence)| {
            let user = 1;
            Record::Read(Read {
                at_s,
                member,
                user,
                sequence,
            })
        });
        self.records.extend(reads);
    }

    fn member(&self, member: u32) -> Contents {
        let transfers: Vec<Transfer> = self.committed.iter().map(|&i| self.transfers[i]).collect();
        contents(member, &transfers)
    }
}

/// A consistent member that committed these transfers.
fn contents(member: u32, transfers: &[Transfer]) -> Contents {
    let mut balances: BTreeMap<i64, i64> = (1..=20).map(|account| (account, 100)).collect();
    for transfer in transfers {
        *balances.get_mut(&transfer.from).unwrap() -= transfer.amount;
        *balances.get_mut(&transfer.to).unwrap() += transfer.amount;
    }
    let rows = (1..).zip(transfers);
    Contents {
        member,
        rows: rows.map(|(key, &transfer)| Row { key, transfer }).collect(),
        balances: balances.into_iter().collect(),
        lists: Vec::new(),
    }
}

const COMMITTED: (Fate, bool) = (Fate::Acknowledged, true);

/// Checks three members, of which `change` is done to some.
fn judged(fates: &[(Fate, bool)], change: impl FnOnce(&mut [Contents])) -> LedgerSummary {
    let made = made(fates);
    let mut members = [1, 2, 3].map(|member| made.member(member));
    change(&mut members);
    check(&made.history(), &members, Vec::new())
}

/// Lost, phantom, duplicated, diverged, unbalanced.
fn anomalies(summary: &LedgerSummary) -> [u64; 5] {
    let anomalies = [
        summary.lost,
        summary.phantom,
        summary.duplicated,
        summary.diverged,
        summary.unbalanced,
    ];
    assert_eq!(summary.is_intact(), anomalies == [0; 5]);
    anomalies
}

#[test]
fn transfers_of_each_fate_are_counted() {
    let fates = [
        COMMITTED,
        (Fate::Failed, false),
        (Fate::Unknown, true),
        (Fate::Unknown, false),
        COMMITTED,
    ];
    let summary = judged(&fates, |_| {});
    assert_eq!(anomalies(&summary), [0; 5]);
    assert_eq!((summary.acknowledged, summary.failed), (2, 1));
    assert_eq!((summary.unknown, summary.unknown_committed), (2, 1));
    assert_eq!((summary.checked, summary.examples), (vec![1, 2, 3], vec![]));
}

#[test]
fn a_transfer_that_the_primary_lost_is_lost_whatever_the_replicas_have() {
    let fates = [COMMITTED; 4];
    let everywhere = judged(&fates, |members| {
        let without = [0, 1, 3].map(|index| members[0].rows[index].transfer);
        for (number, member) in (1..).zip(members) {
            *member = contents(number, &without);
        }
    });
    assert_eq!(anomalies(&everywhere), [1, 0, 0, 0, 0]);
    assert_eq!(
        everywhere.examples,
        [
            "transfer 3 of user 1 (3 from account 3 to 18), acknowledged at 2.500 s, \
          is missing on member 1, 2, 3"
        ]
    );
    let on_primary = judged(&fates, |members| {
        members[0] = contents(1, &[0, 1, 3].map(|index| members[0].rows[index].transfer));
    });
    assert_eq!(
        (anomalies(&on_primary), on_primary.behind),
        ([1, 0, 0, 2, 0], 0)
    );
    let on_replica = judged(&fates, |members| members[2].rows.truncate(3));
    assert_eq!(anomalies(&on_replica), [0, 0, 0, 1, 1]);
}

#[test]
fn what_a_replica_has_not_applied_yet_is_behind_and_not_lost() {
    let fates = [COMMITTED; 4];
    let without = |missing: usize| {
        judged(&fates, |members| {
            let rows = members[0].rows.iter().enumerate();
            let kept = rows.filter(|(index, _)| *index != missing);
            let kept: Vec<Row> = kept.map(|(_, row)| *row).collect();
            let transfers: Vec<Transfer> = kept.iter().map(|row| row.transfer).collect();
            members[2] = contents(3, &transfers);
            members[2].rows = kept;
        })
    };
    let late = without(3);
    assert_eq!((anomalies(&late), late.behind), ([0; 5], 1));
    // It has what was begun after the missing one was acknowledged.
    let hole = without(1);
    assert_eq!((anomalies(&hole), hole.behind), ([0, 0, 0, 1, 0], 1));
    let empty = judged(&fates, |members| members[1] = contents(2, &[]));
    assert_eq!((anomalies(&empty), empty.behind), ([0; 5], 4));
}

fn kill(effect_s: Option<f64>, healed_s: Option<f64>) -> FaultRecord {
    let fault = serde_json::json!({
        "number": 1, "kind": "kill", "target": "primary", "instance": 1, "node": 1,
        "asked_s": effect_s.unwrap_or_default(), "effect_s": effect_s, "healed_s": healed_s,
    });
    serde_json::from_value(fault).unwrap()
}

#[test]
fn a_loss_belongs_to_the_fault_that_caused_it() {
    // Acknowledged at 0.5, 1.5, ... s.
    let mut lossy = made(&[COMMITTED; 10]);
    lossy.committed = vec![0, 1, 4, 5, 6, 9];
    let (history, primary) = (lossy.history(), [lossy.member(1)]);
    let (first, none) = (kill(Some(4.0), Some(4.2)), kill(None, None));
    let second = kill(Some(7.2), Some(9.0));
    let found = losses(&history, &primary, &[&first, &none, &second]);
    let lost = found.iter().map(|loss| {
        let loss = (*loss)?;
        Some((loss.transactions, (loss.seconds * 1e9).round() / 1e9))
    });
    // Those of 2.5 and 3.5 s, and those of 7.5 and 8.5 s, which a primary accepted that was cut off.
    let expected = [Some((2, 1.5)), None, Some((2, 1.3))];
    assert_eq!(lost.collect::<Vec<_>>(), expected);
    let near = losses(&history, &primary, &[&kill(Some(3.505), None)])[0].unwrap();
    let exposed = [near.exposed_1_ms, near.exposed_10_ms, near.exposed_100_ms];
    assert_eq!(exposed, [0, 1, 1]);
    assert_eq!(losses(&history, &[], &[&first]), [None]);
    let intact = made(&[COMMITTED; 3]);
    let late = kill(Some(2.0), None);
    let found = losses(&intact.history(), &[intact.member(1)], &[&late])[0].unwrap();
    assert_eq!((found.transactions, found.seconds), (0, 0.0));
}

#[test]
fn phantoms_are_failed_and_unheard_of_transfers() {
    let failed = made(&[COMMITTED, (Fate::Failed, true)]);
    let summary = check(&failed.history(), &[failed.member(1)], Vec::new());
    assert_eq!(anomalies(&summary), [0, 1, 0, 0, 0]);
    assert!(summary.examples[0].contains("failed and is present on member 1"));
    let foreign = judged(&[COMMITTED], |members| {
        let row = &mut members[0].rows[0];
        row.transfer.sequence = 99;
    });
    assert_eq!(anomalies(&foreign), [1, 1, 0, 2, 0]);
    let altered = judged(&[COMMITTED], |members| {
        members[1].rows[0].transfer.amount = i64::MIN;
    });
    assert_eq!(anomalies(&altered), [0, 1, 0, 1, 1]);
}

#[test]
fn duplicates_and_wrong_balances_are_found() {
    let twice = judged(&[COMMITTED; 3], |members| {
        let mut transfers: Vec<Transfer> = members[0].rows.iter().map(|r| r.transfer).collect();
        transfers.push(transfers[1]);
        for (number, member) in (1..).zip(members) {
            *member = contents(number, &transfers);
        }
    });
    assert_eq!(anomalies(&twice), [0, 0, 1, 0, 0]);
    let unbalanced = judged(&[COMMITTED; 3], |members| {
        // The sum is right, the accounts are not.
        members[1].balances[4].1 += 1;
        members[1].balances[5].1 -= 1;
    });
    assert_eq!(anomalies(&unbalanced), [0, 0, 0, 1, 1]);
    let missing = judged(&[COMMITTED], |members| {
        members.iter_mut().for_each(|m| m.balances.truncate(19));
    });
    assert_eq!(anomalies(&missing), [0, 0, 0, 0, 3]);
}

#[test]
fn members_that_have_the_same_transfers_in_other_rows_have_diverged() {
    let reordered = judged(&[COMMITTED; 3], |members| {
        let rows = &mut members[2].rows;
        (rows[0].transfer, rows[1].transfer) = (rows[1].transfer, rows[0].transfer);
    });
    assert_eq!(anomalies(&reordered), [0, 0, 0, 1, 0]);
}

#[test]
fn a_read_is_as_stale_as_the_first_acknowledged_transfer_that_it_missed() {
    let mut made = made(&[COMMITTED, (Fate::Failed, false), COMMITTED, COMMITTED]);
    // Acknowledged at 0.5, 2.5 and 3.5 s.
    let reads = [
        (0.4, 0),
        (0.9, 1),
        (2.4, 1),
        (2.75, 1),
        (4.5, 1),
        (4.6, 3),
        (4.7, 4),
    ];
    made.read(&reads.map(|(at_s, sequence)| (at_s, 2, sequence)));
    let summary = check(&made.history(), &[made.member(1)], Vec::new());
    assert_eq!((summary.replica_reads, summary.stale_reads), (7, 3));
    assert_eq!(summary.staleness_max_ms, Some(2000.0));
    assert_eq!((summary.backward_reads, summary.vanished_reads), (0, 0));
    assert_eq!(summary.aborted_reads, 0);
}

#[test]
fn reads_that_go_backward_or_show_what_was_rolled_back_or_vanished_are_counted() {
    let mut made = made(&[COMMITTED, (Fate::Failed, false), COMMITTED, COMMITTED]);
    made.committed = vec![0, 3];
    let reads = [(1, 1), (2, 3), (1, 2), (2, 1), (2, 4), (1, 3), (1, 9)];
    made.read(&reads.map(|(member, sequence)| (9.0, member, sequence)));
    let summary = check(&made.history(), &[made.member(1)], Vec::new());
    let found = [
        summary.backward_reads,
        summary.aborted_reads,
        summary.vanished_reads,
    ];
    assert_eq!(found, [1, 1, 1]);
    assert!(!summary.is_intact());
}

#[test]
fn what_was_appended_to_lists_is_there_in_the_order_in_which_it_was_read() {
    let mut made = made(&[COMMITTED]);
    for (value, fate, read, found) in [
        (1, Fate::Acknowledged, 7, Some(vec![])),
        (2, Fate::Acknowledged, 7, Some(vec![1])),
        (3, Fate::Unknown, 7, None),
        (4, Fate::Acknowledged, 7, Some(vec![2, 1])),
        (5, Fate::Failed, 7, None),
        (6, Fate::Acknowledged, 8, Some(vec![])),
    ] {
        made.records.push(Record::Appending {
            at_s: 9.0,
            append: Appending {
                user: 1,
                read,
                list: 7,
                value,
                found: None,
            },
        });
        made.records.push(Record::Appended {
            at_s: 9.1,
            value,
            fate,
            found,
        });
    }
    let primary = Contents {
        lists: vec![(7, vec![1, 2, 6])],
        ..made.member(1)
    };
    let summary = check(&made.history(), &[primary], Vec::new());
    let found = [
        summary.appends,
        summary.lost_appends,
        summary.misordered_reads,
    ];
    assert_eq!(found, [4, 1, 1]);
    assert!(!summary.is_intact());
}

#[test]
fn transfers_in_flight_are_told_by_what_the_primary_has() {
    let made = made(&[COMMITTED, (Fate::Unknown, true), (Fate::Unknown, false)]);
    let (history, primary) = (made.history(), [made.member(1)]);
    let at = |at_s| in_flight(&history, &primary, at_s, at_s);
    let of = |committed, not_committed, unknown| InFlight {
        committed,
        not_committed,
        unknown,
    };
    assert_eq!(at(0.2), of(1, 0, 0));
    assert_eq!(at(0.5), of(0, 0, 0));
    assert_eq!(at(1.0), of(1, 0, 0));
    assert_eq!(at(2.1), of(0, 1, 0));
    assert_eq!(in_flight(&history, &[], 2.1, 2.1), of(0, 0, 1));
    // The connection was lost at 1.5 s; that the server was gone was known only then.
    assert_eq!(in_flight(&history, &primary, 1.4, 1.6), of(1, 0, 0));
    // An acknowledged one had its reply.
    assert_eq!(in_flight(&history, &primary, 0.4, 0.6), of(0, 0, 0));
}

#[test]
fn without_members_nothing_is_checked() {
    let made = made(&[COMMITTED]);
    let unchecked = vec![(1, "it is down".to_owned())];
    let summary = check(&made.history(), &[], unchecked.clone());
    assert_eq!((summary.lost, summary.acknowledged), (0, 1));
    assert_eq!((summary.checked, summary.unchecked), (vec![], unchecked));
}

/// The fates that a correct server can leave: what it acknowledged is committed, what failed is not.
fn correct() -> impl Strategy<Value = Vec<(Fate, bool)>> {
    let fate = prop_oneof![
        4 => Just(COMMITTED),
        1 => Just((Fate::Failed, false)),
        1 => any::<bool>().prop_map(|is_committed| (Fate::Unknown, is_committed)),
    ];
    prop::collection::vec(fate, 1..60)
}

proptest! {
    #[test]
    fn a_correct_history_is_intact(fates in correct()) {
        let summary = judged(&fates, |_| {});
        prop_assert_eq!(anomalies(&summary), [0; 5]);
        prop_assert_eq!(summary.acknowledged + summary.failed + summary.unknown, fates.len() as u64);
    }

    #[test]
    fn any_change_of_one_member_is_found(
        fates in correct(),
        member in 0_usize..3,
        place in any::<prop::sample::Index>(),
        kind in 0..6,
    ) {
        let summary = judged(&fates, |members| {
            let changed = &mut members[member];
            let (rows, accounts) = (&mut changed.rows, &mut changed.balances);
            let row = if rows.is_empty() { 0 } else { place.index(rows.len()) };
            match kind {
                _ if rows.is_empty() => accounts[0].1 += 1,
                0 => {
                    rows.remove(row);
                }
                1 => rows.push(rows[row]),
                2 => rows[row].transfer.amount += 1,
                3 => rows[row].transfer.sequence += 1000,
                4 => rows[row].key += 1000,
                _ => accounts[place.index(20)].1 -= 1,
            }
        });
        // A replica that lacks the last row only is behind.
        let is_behind = summary.behind > 0 && summary.lost == 0;
        prop_assert!(!summary.is_intact() || is_behind);
    }
}
