//! The tables of a workload, and the statements that create and drop them.

use serde::{Deserialize, Serialize};

pub use crate::dialect::Dialect;
use crate::distribution::{Distribution, DistributionError};
use crate::rows::{DataSpec, TableRows};

/// The name of a table, from 1: `sbtest1`.
pub fn table_name(table: u32) -> String {
    format!("sbtest{table}")
}

/// Drops a table, if it exists.
pub fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS {}", table_name(table))
}

/// What decides the form and the rows of a workload's tables, which are all alike. It is
/// stored with the data, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableSpec {
    /// The seed of the rows.
    pub seed: u64,
    /// Rows in each table before the first transaction, with ids from 1.
    pub rows: u64,
    /// How `k` is drawn.
    pub(crate) distribution: Distribution,
    pub(crate) auto_inc: bool,
    pub(crate) secondary: bool,
    pub(crate) create_secondary: bool,
    pub(crate) storage_engine: String,
    /// A table of bulk inserts: only `id` and `k`, and no rows yet.
    pub(crate) bulk: bool,
}

impl TableSpec {
    /// The columns, in order.
    pub fn columns(&self) -> &'static [&'static str] {
        if self.bulk {
            &["id", "k"]
        } else {
            &["id", "k", "c", "pad"]
        }
    }

    /// Whether its tables differ from `other`'s in the values of their rows at most.
    pub fn has_form_of(&self, other: &TableSpec) -> bool {
        TableSpec {
            seed: other.seed,
            distribution: other.distribution,
            ..self.clone()
        } == *other
    }

    /// In words: the rows, and what is not as by default.
    pub fn describe(&self) -> String {
        let mut text = format!("{} rows", self.rows);
        for (words, applies) in [
            (", without AUTO_INCREMENT", !self.auto_inc),
            (
                ", with a secondary index for the primary key",
                self.secondary,
            ),
            (", without the index on k", !self.create_secondary),
            (", for bulk inserts", self.bulk),
        ] {
            if applies {
                text.push_str(words);
            }
        }
        if self.storage_engine != "innodb" {
            text.push_str(", engine ");
            text.push_str(&self.storage_engine);
        }
        text
    }

    /// Makes the rows of a table, from 1.
    ///
    /// # Errors
    /// If keys cannot be drawn as the distribution says.
    pub fn table_rows(&self, table: u32) -> Result<TableRows, DistributionError> {
        let data = DataSpec {
            seed: self.seed,
            // An empty range has no distribution, though nothing is drawn from it.
            rows: self.rows.max(1),
            distribution: self.distribution,
        };
        TableRows::new(&data, table)
    }

    /// Creates a table without the indexes that [`TableSpec::finish`] adds.
    pub fn create(&self, dialect: Dialect, table: u32) -> String {
        if self.bulk {
            return create_bulk_table(table);
        }
        let words = dialect.words();
        let name = table_name(table);
        let id = if self.auto_inc {
            words.numbered_id
        } else {
            "INTEGER NOT NULL"
        };
        let key = if self.secondary {
            words.secondary_key
        } else {
            Some("PRIMARY KEY (id)").filter(|_| !words.adds_primary_key)
        };
        let key = key.map(|key| format!(",\n  {key}")).unwrap_or_default();
        let options = words
            .table_options
            .replace("{engine}", &self.storage_engine);
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
    pub fn finish(&self, dialect: Dialect, table: u32) -> Vec<String> {
        let mut statements = Vec::new();
        if self.bulk {
            return statements;
        }
        let words = dialect.words();
        let name = table_name(table);
        if self.secondary && words.secondary_key.is_none() {
            statements.push(format!("CREATE INDEX xid_{table} ON {name}(id)"));
        }
        if !self.secondary && words.adds_primary_key {
            statements.push(format!("ALTER TABLE {name} ADD PRIMARY KEY (id)"));
        }
        if self.create_secondary {
            statements.push(format!("CREATE INDEX k_{table} ON {name}(k)"));
        }
        if let Some(sql) = words.set_next_id.filter(|_| self.auto_inc) {
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
    use crate::options::Options;

    /// Tables outlive the version of dyno that loaded them.
    #[test]
    fn what_is_stored_with_tables_never_changes() {
        let spec = WorkloadName::OltpReadWrite.table_spec(&Options::default(), 42);
        assert_eq!(
            serde_json::to_string(&spec).unwrap(),
            r#"{"seed":42,"rows":10000,"distribution":"special:pct=1,res=75,iter=12","auto_inc":true,"secondary":false,"create_secondary":true,"storage_engine":"innodb","bulk":false}"#
        );
    }
}
