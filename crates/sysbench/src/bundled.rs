//! The bundled tests of 1.0, which are workloads of dyno.

use workload::name::WorkloadName::{self, BulkInsert, SelectRandomPoints, SelectRandomRanges};
use workload::options::{Data, Options, Transaction};

use crate::options::{CommandLine, Dialect, General, OptionError};
use crate::scripts::name;

/// The workload of the test with this name or path.
pub fn workload(dialect: Dialect, test: &str) -> Option<WorkloadName> {
    let (workload, versions) = match name(test).parse::<WorkloadName>().ok()? {
        // 0.5 has these, too.
        workload @ (BulkInsert | SelectRandomPoints | SelectRandomRanges) => (workload, "0.5 1.x"),
        workload => (workload, "1.x"),
    };
    dialect.is_one_of(versions).then_some(workload)
}

/// The options of a workload, once the command line has them.
pub fn options(line: &CommandLine, general: &General, seed: u64) -> Result<Options, OptionError> {
    let values = &line.values;
    let count = |name: &str| values.within(name, 0..=u32::MAX);
    let rows = match count("oltp_table_size")? {
        0 => count("table_size")?,
        of_05 => of_05,
    };
    Ok(Options {
        data: Data {
            tables: count("tables")?.max(1),
            rows: rows.into(),
            seed,
            auto_inc: values.bool("auto_inc"),
            create_secondary: values.bool("create_secondary"),
            secondary: values.bool("secondary"),
            storage_engine: Some(values.text("mysql_storage_engine").to_owned()),
        },
        transaction: Transaction {
            point_selects: count("point_selects")?,
            range_selects: values.bool("range_selects"),
            simple_ranges: count("simple_ranges")?,
            sum_ranges: count("sum_ranges")?,
            order_ranges: count("order_ranges")?,
            distinct_ranges: count("distinct_ranges")?,
            range_size: count("range_size")?.into(),
            index_updates: count("index_updates")?,
            non_index_updates: count("non_index_updates")?,
            delete_inserts: count("delete_inserts")?,
            skip_trx: values.bool("skip_trx"),
            random_points: count("random_points")?,
            number_of_ranges: count("number_of_ranges")?,
            delta: count("delta")?.into(),
        },
        key_range: None,
        distribution: general.distribution,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{declarations, parse};

    fn read(words: &str) -> Options {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let mut line = parse(&words).unwrap();
        let declared = declarations(line.dialect, line.test.as_deref().unwrap());
        line.finish(Some(&declared)).unwrap();
        let general = General::of(&mut line).unwrap();
        options(&line, &general, 7).unwrap()
    }

    #[test]
    fn the_defaults_are_those_of_the_workloads() {
        let mut expected = Options::default();
        expected.data.seed = 7;
        expected.data.storage_engine = Some("innodb".to_owned());
        let transaction = &mut expected.transaction;
        // Options of other tests.
        (transaction.random_points, transaction.number_of_ranges) = (0, 0);
        transaction.delta = 0;
        assert_eq!(read("oltp_read_write run"), expected);
    }

    #[test]
    fn every_option_has_its_place() {
        let sizes = "--tables=2 --table-size=50 --point-selects=3";
        let read = read(&format!("oltp_read_write {sizes} --skip-trx run"));
        assert_eq!((read.data.tables, read.data.rows), (2, 50));
        assert_eq!(read.transaction.point_selects, 3);
        assert!(read.transaction.skip_trx);
        let read = self::read("select_random_ranges --number-of-ranges=4 --delta=9 run");
        let transaction = read.transaction;
        assert_eq!((transaction.number_of_ranges, transaction.delta), (4, 9));
    }

    #[test]
    fn tests_are_known_by_name_and_path_where_they_exist() {
        let known = |dialect, test| workload(dialect, test).map(WorkloadName::name);
        let by_path = known(Dialect::V10, "/usr/share/sysbench/oltp_insert.lua");
        assert_eq!(by_path, Some("oltp_insert"));
        assert_eq!(known(Dialect::V05, "oltp_insert"), None);
        assert_eq!(
            known(Dialect::V05, "db/bulk_insert.lua"),
            Some("bulk_insert")
        );
        assert_eq!(known(Dialect::V04, "bulk_insert"), None);
        assert_eq!(known(Dialect::Master, "oltp"), None);
    }
}
