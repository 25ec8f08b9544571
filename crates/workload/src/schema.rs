//! The texts that make and drop the tables, for each dialect of SQL.

pub use crate::dialect::Dialect;
use crate::options::Options;

/// The name of a table, counted from 1: `sbtest1`.
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// Creates an OLTP table, without its index on `k`.
pub fn create_table(dialect: Dialect, options: &Options, table: u32) -> String {
    match dialect {
        Dialect::Mysql => mysql_table(options, table),
        Dialect::Sqlite => sqlite_table(options, table),
    }
}

/// Creates the indexes that are made after the rows are loaded, which is faster
/// than to keep them up to date row by row.
pub fn create_indexes(dialect: Dialect, options: &Options, table: u32) -> Vec<String> {
    let name = table_name(table);
    let mut indexes = Vec::new();
    // MySQL has it in the table, for AUTO_INCREMENT needs a key.
    if options.secondary && dialect == Dialect::Sqlite {
        indexes.push(format!("CREATE INDEX xid_{table} ON {name}(id)"));
    }
    if options.create_secondary {
        indexes.push(format!("CREATE INDEX k_{table} ON {name}(k)"));
    }
    indexes
}

/// Creates the table that a user of `bulk_insert` fills.
pub fn create_bulk_table(dialect: Dialect, table: u32) -> String {
    let name = table_name(table);
    match dialect {
        Dialect::Mysql => format!(
            "CREATE TABLE IF NOT EXISTS {name} (\n  \
             id INTEGER NOT NULL,\n  \
             k INTEGER DEFAULT '0' NOT NULL,\n  \
             PRIMARY KEY (id)\n)"
        ),
        Dialect::Sqlite => format!(
            "CREATE TABLE IF NOT EXISTS {name} (\n  \
             id INTEGER PRIMARY KEY,\n  \
             k INTEGER DEFAULT 0 NOT NULL\n)"
        ),
    }
}

/// Drops a table, if it is there.
pub fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS {}", table_name(table))
}

fn mysql_table(options: &Options, table: u32) -> String {
    let name = table_name(table);
    let increment = if options.auto_inc {
        " AUTO_INCREMENT"
    } else {
        ""
    };
    let key = if options.secondary {
        "KEY xid"
    } else {
        "PRIMARY KEY"
    };
    let engine = &options.storage_engine;
    format!(
        "CREATE TABLE {name} (\n  \
         id INTEGER NOT NULL{increment},\n  \
         k INTEGER DEFAULT '0' NOT NULL,\n  \
         c CHAR(120) DEFAULT '' NOT NULL,\n  \
         pad CHAR(60) DEFAULT '' NOT NULL,\n  \
         {key} (id)\n\
         ) /*! ENGINE = {engine} */"
    )
}

/// `INTEGER PRIMARY KEY` is the rowid itself: clustered and numbered by SQLite,
/// as the primary key of an InnoDB table is.
fn sqlite_table(options: &Options, table: u32) -> String {
    let name = table_name(table);
    let id = if options.secondary {
        "INTEGER NOT NULL"
    } else {
        "INTEGER PRIMARY KEY"
    };
    format!(
        "CREATE TABLE {name} (\n  \
         id {id},\n  \
         k INTEGER DEFAULT 0 NOT NULL,\n  \
         c CHAR(120) DEFAULT '' NOT NULL,\n  \
         pad CHAR(60) DEFAULT '' NOT NULL\n)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_mysql_table_is_the_one_of_sysbench() {
        assert_eq!(
            create_table(Dialect::Mysql, &Options::default(), 3),
            "CREATE TABLE sbtest3 (\n  id INTEGER NOT NULL AUTO_INCREMENT,\n  \
             k INTEGER DEFAULT '0' NOT NULL,\n  c CHAR(120) DEFAULT '' NOT NULL,\n  \
             pad CHAR(60) DEFAULT '' NOT NULL,\n  PRIMARY KEY (id)\n) /*! ENGINE = innodb */"
        );
        assert_eq!(
            create_indexes(Dialect::Mysql, &Options::default(), 3),
            ["CREATE INDEX k_3 ON sbtest3(k)"]
        );
        assert_eq!(drop_table(3), "DROP TABLE IF EXISTS sbtest3");
    }

    #[test]
    fn options_change_the_key_and_the_indexes() {
        let options = Options {
            secondary: true,
            auto_inc: false,
            create_secondary: false,
            ..Options::default()
        };
        let mysql = create_table(Dialect::Mysql, &options, 1);
        assert!(mysql.contains("id INTEGER NOT NULL,"));
        assert!(mysql.contains("KEY xid (id)") && !mysql.contains("PRIMARY"));
        assert!(create_indexes(Dialect::Mysql, &options, 1).is_empty());
        let sqlite = create_table(Dialect::Sqlite, &options, 1);
        assert!(sqlite.contains("id INTEGER NOT NULL,"));
        assert_eq!(
            create_indexes(Dialect::Sqlite, &options, 1),
            ["CREATE INDEX xid_1 ON sbtest1(id)"]
        );
    }
}
