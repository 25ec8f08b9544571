//! The tables of a workload, and the statements that create and drop them.

use serde::{Deserialize, Serialize};

pub use crate::dialect::Dialect;
use crate::distribution::{Distribution, DistributionError};
use crate::rows::TableRows;

/// The name of a table, from 1: `sbtest1`.
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

pub fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS {}", table_name(table))
}

/// What decides the form and the rows of a workload's tables, which are all alike. It is
/// stored with the data, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableSpec {
    pub seed: u64,
    /// Rows in each table before the first transaction, with ids from 1.
    pub rows: u64,
    pub(crate) distribution: Distribution,
    pub(crate) auto_inc: bool,
    pub(crate) secondary: bool,
    pub(crate) create_secondary: bool,
    pub(crate) storage_engine: String,
    /// A table of bulk inserts: only `id` and `k`, and no rows yet.
    pub(crate) bulk: bool,
}

impl TableSpec {
    pub fn columns(&self) -> &'static [&'static str] {
        if self.bulk {
            &["id", "k"]
        } else {
            &["id", "k", "c", "pad"]
        }
    }

    /// Whether its tables differ from `other`'s at most in the values of their rows.
    pub fn has_form_of(&self, other: &TableSpec, dialect: &Dialect) -> bool {
        let form = |spec: &TableSpec| TableSpec {
            seed: 0,
            distribution: Distribution::default(),
            storage_engine: dialect.storage_engine(&spec.storage_engine).to_owned(),
            ..spec.clone()
        };
        form(self) == form(other)
    }

    /// Whether its rows have the same values as `other`'s, if there are as many.
    pub fn has_rows_of(&self, other: &TableSpec) -> bool {
        (self.seed, self.distribution) == (other.seed, other.distribution)
    }

    /// The number of rows, and the options that are not the default.
    pub fn describe(&self, dialect: &Dialect) -> String {
        let mut text = format!("{} rows", self.rows);
        for (words, applies) in [
            (", without AUTO_INCREMENT", !self.auto_inc),
            (
                ", with a secondary index instead of the primary key",
                self.secondary,
            ),
            (", without the index on k", !self.create_secondary),
            (", for bulk inserts", self.bulk),
        ] {
            if applies {
                text.push_str(words);
            }
        }
        let engine = dialect.storage_engine(&self.storage_engine);
        if engine != dialect.default_storage_engine {
            text.push_str(", storage engine ");
            text.push_str(engine);
        }
        text
    }

    /// Makes the rows of a table, from 1.
    pub fn table_rows(&self, table: u32) -> Result<TableRows, DistributionError> {
        // An empty range has no distribution, though nothing is drawn from it.
        TableRows::new(self.seed, table, self.rows.max(1), &self.distribution)
    }

    /// Creates a table without the indexes that [`TableSpec::finish`] adds.
    pub fn create(&self, dialect: &Dialect, table: u32) -> String {
        if self.bulk {
            return create_bulk_table(table);
        }
        let name = table_name(table);
        let id = if self.auto_inc {
            dialect.generated_id
        } else {
            "INTEGER NOT NULL"
        };
        let key = if self.secondary {
            dialect.secondary_key
        } else {
            Some("PRIMARY KEY (id)").filter(|_| !dialect.adds_primary_key)
        };
        let key = key.map(|key| format!(",\n  {key}")).unwrap_or_default();
        let engine = dialect.storage_engine(&self.storage_engine);
        let options = dialect.table_options.replace("{engine}", engine);
        format!(
            "CREATE TABLE {name} (\n  \
             id {id},\n  \
             k INTEGER DEFAULT '0' NOT NULL,\n  \
             c CHAR(120) DEFAULT '' NOT NULL,\n  \
             pad CHAR(60) DEFAULT '' NOT NULL{key}\n\
             ){options}"
        )
    }

    /// Finishes a table whose rows have been loaded: indexes, which are faster to build at
    /// once than row by row, and the next id.
    pub fn finish(&self, dialect: &Dialect, table: u32) -> Vec<String> {
        let mut statements = Vec::new();
        if self.bulk {
            return statements;
        }
        let name = table_name(table);
        if self.secondary && dialect.secondary_key.is_none() {
            statements.push(format!("CREATE INDEX xid_{table} ON {name}(id)"));
        }
        if !self.secondary && dialect.adds_primary_key {
            statements.push(format!("ALTER TABLE {name} ADD PRIMARY KEY (id)"));
        }
        if self.create_secondary {
            statements.push(format!("CREATE INDEX k_{table} ON {name}(k)"));
        }
        if let Some(sql) = dialect.set_next_id.filter(|_| self.auto_inc) {
            let rows = self.rows.to_string();
            statements.push(sql.replace("{table}", &name).replace("{rows}", &rows));
        }
        statements
    }
}

/// All dialects have the same.
fn create_bulk_table(table: u32) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {} (\n  \
         id INTEGER NOT NULL,\n  \
         k INTEGER DEFAULT '0' NOT NULL,\n  \
         PRIMARY KEY (id)\n)",
        table_name(table)
    )
}

#[cfg(test)]
mod tests {
    use crate::name::WorkloadName;
    use crate::options::{Data, Options};

    /// Tables outlive the version of dyno that loaded them.
    #[test]
    fn what_is_stored_with_tables_never_changes() {
        let options = Options {
            data: Data {
                storage_engine: Some("heap".to_owned()),
                ..Data::default()
            },
            ..Options::default()
        };
        let spec = WorkloadName::OltpReadWrite.table_spec(&options, 42);
        assert_eq!(
            serde_json::to_string(&spec).unwrap(),
            r#"{"seed":42,"rows":10000,"distribution":"special:pct=1,res=75,iter=12","auto_inc":true,"secondary":false,"create_secondary":true,"storage_engine":"heap","bulk":false}"#
        );
    }
}
