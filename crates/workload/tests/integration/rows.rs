//! The rows: the same bytes for ever, whoever makes which part.

use proptest::prelude::*;
use workload::distribution::{Distribution, DistributionError};
use workload::rows::{Checksum, TableRows};

fn table(seed: u64, rows: u64, table: u32) -> Result<TableRows, DistributionError> {
    TableRows::new(seed, table, rows, &Distribution::SPECIAL)
}

fn part(table: &TableRows, keys: impl IntoIterator<Item = u64>) -> (Vec<u8>, Checksum) {
    let (mut bytes, mut checksum) = (Vec::new(), Checksum::default());
    for key in keys {
        let row = table.row(key);
        row.write_tsv(&mut bytes);
        checksum.add(&row);
    }
    (bytes, checksum)
}

/// Computed by a second implementation, from the description alone. A change
/// here means that results of older versions cannot be compared any more.
#[test]
fn rows_never_change() {
    let first = table(42, 1000, 1).unwrap();
    let (bytes, _) = part(&first, [1, 2]);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "1\t499\t66013362180-23341442646-34977786271-92204756743-49273757514-21001604288-\
         76850661327-77677325178-08991919501-40228284803\t\
         74837154022-08925688423-47950148686-64370664754-23176936077\n\
         2\t497\t47505166488-83653025787-29063348368-89799281397-94777056762-46014963996-\
         85082889784-90956631529-58038662860-18657423017\t\
         30196517931-29410635020-48059732266-40911603028-60887968323\n"
    );
    let (bytes, _) = part(&table(42, 1000, 2).unwrap(), [1]);
    assert!(bytes.starts_with(b"1\t496\t52964806556-57117100430-"));
    let (_, checksum) = part(&first, 1..=1000);
    let expected = Checksum {
        count: 1000,
        xor: 0xebdd_2e69,
    };
    assert_eq!(checksum, expected);
}

#[test]
fn the_forms_of_a_row_agree() {
    let row = table(7, 50_000, 3).unwrap().row(12_345);
    let (id, k, c, pad) = (row.id, row.k, row.c(), row.pad());
    assert_eq!((id, c.len(), pad.len()), (12_345, 119, 59));

    let (mut tsv, mut values) = (Vec::new(), Vec::new());
    row.write_tsv(&mut tsv);
    row.write_values(&mut values);
    assert_eq!(tsv, format!("{id}\t{k}\t{c}\t{pad}\n").into_bytes());
    assert_eq!(values, format!("({id},{k},'{c}','{pad}')").into_bytes());

    let mut checksum = Checksum::default();
    checksum.add(&row);
    let text = format!("{id},{k},{c},{pad}");
    assert_eq!(checksum.xor, crc32fast::hash(text.as_bytes()));
}

#[test]
fn rows_of_other_tables_and_seeds_are_others() {
    let row = table(1, 1000, 1).unwrap().row(1);
    assert_ne!(row.c(), table(1, 1000, 2).unwrap().row(1).c());
    assert_ne!(row.c(), table(2, 1000, 1).unwrap().row(1).c());
    assert_ne!(row.c(), table(1, 1000, 1).unwrap().row(2).c());
}

#[test]
fn a_changed_row_changes_the_checksum() {
    let rows = table(1, 1000, 1).unwrap();
    let (_, whole) = part(&rows, 1..=100);
    let (_, lacking) = part(&rows, 1..100);
    let (_, other) = part(&rows, (1..100).chain([101]));
    assert_ne!(whole, lacking);
    assert_ne!(whole, other);
}

proptest! {
    #[test]
    fn any_partition_gives_the_same_bytes_and_checksum(
        seed: u64,
        number in 1..1000u32,
        mut cuts in proptest::collection::vec(1..300u64, 0..10),
    ) {
        let rows = table(seed, 300, number).unwrap();
        let (bytes, checksum) = part(&rows, 1..=300);
        cuts.extend([1, 301]);
        cuts.sort_unstable();
        let (mut joined, mut merged) = (Vec::new(), Checksum::default());
        for ends in cuts.windows(2) {
            // Each part is made by someone else.
            let rows = table(seed, 300, number).unwrap();
            let (bytes, checksum) = part(&rows, ends[0]..ends[1]);
            joined.extend(bytes);
            merged.merge(checksum);
        }
        prop_assert_eq!(joined, bytes);
        prop_assert_eq!(merged, checksum);
        let (_, backwards) = part(&rows, (1..=300).rev());
        prop_assert_eq!(backwards, checksum);
    }

    #[test]
    fn k_is_a_key_of_the_table(seed: u64, rows in 1..1000u64, key in 1..=i32::MAX as u64) {
        let row = table(seed, rows, 1).unwrap().row(key);
        prop_assert!((1..=rows).contains(&row.k));
    }
}
