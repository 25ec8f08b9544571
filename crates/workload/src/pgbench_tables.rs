//! pgbench's tables, made and removed by a script of one user.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::options::OptionsError;
use crate::pgbench::built_in::{TABLES, Table};
use crate::program::{self, Answer, Program, Request, Script};
use crate::session::Param;

/// Rows of a statement, which commits by itself.
const CHUNK_ROWS: usize = 5_000;

type Statements = Box<dyn Iterator<Item = String>>;

/// A script whose users execute statements once.
struct Once(Box<dyn Fn() -> Statements + Send + Sync>);

struct OnceProgram {
    left: Statements,
    /// The statement, or why it failed.
    text: String,
}

/// Creates the tables and loads their rows.
pub fn create(dialect: &'static Dialect, scale: u32) -> Arc<dyn Script> {
    let of_table = move |table: &'static Table| {
        let create = std::iter::once(table.create(dialect, scale));
        create.chain(inserts(table, scale)).chain(table.add_key(dialect))
    };
    let all = move || -> Statements { Box::new(TABLES.iter().flat_map(of_table)) };
    Arc::new(Once(Box::new(all)))
}

/// Drops the tables, if they exist.
pub fn remove() -> Arc<dyn Script> {
    let statement = |table: &Table| format!("drop table if exists {}", table.name);
    let all = move || -> Statements { Box::new(TABLES.iter().map(statement)) };
    Arc::new(Once(Box::new(all)))
}

/// Rows of all tables.
pub fn row_count(scale: u32) -> u64 {
    TABLES.iter().map(|table| table.row_count(scale)).sum()
}

fn inserts(table: &'static Table, scale: u32) -> impl Iterator<Item = String> {
    let mut rows = table.rows(scale).map(|row| {
        let values: Vec<String> = row.into_iter().map(literal).collect();
        format!("({})", values.join(","))
    });
    std::iter::from_fn(move || {
        let chunk: Vec<String> = rows.by_ref().take(CHUNK_ROWS).collect();
        let insert = || format!("insert into {} values {}", table.name, chunk.join(","));
        (!chunk.is_empty()).then(insert)
    })
}

fn literal(value: Param<'_>) -> String {
    match value {
        Param::Int(number) => number.to_string(),
        Param::Double(number) => number.to_string(),
        Param::Text(text) => format!("'{text}'"),
        Param::Null => "null".to_owned(),
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Once")
    }
}

impl Script for Once {
    fn catalog(&self) -> Catalog {
        Catalog {
            labels: program::labels(),
            statements: Vec::new(),
        }
    }

    fn opens_connections(&self) -> bool {
        false
    }

    fn programs(&self, users: Range<u32>) -> Result<Vec<Box<dyn Program>>, OptionsError> {
        let program = |_| -> Box<dyn Program> {
            let (left, text) = ((self.0)(), String::new());
            Box::new(OnceProgram { left, text })
        };
        Ok(users.map(program).collect())
    }
}

impl Program for OnceProgram {
    fn resume(&mut self, answer: Answer<'_>) -> Request<'_> {
        match answer {
            Answer::Start | Answer::Finish => return Request::Ready,
            Answer::Failed(error) => {
                self.text = error.to_string();
                return Request::Fail(&self.text);
            }
            _ => {}
        }
        let Some(statement) = self.left.next() else {
            return Request::Last;
        };
        self.text = statement;
        Request::Run {
            connection: 0,
            sql: &self.text,
            wants_rows: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Reply, Rows};

    fn statements(script: &dyn Script) -> Vec<String> {
        let mut program = script.programs(0..1).unwrap().remove(0);
        let (mut rows, mut seen) = (Rows::default(), Vec::new());
        let mut request = program.resume(Answer::Transaction);
        while let Request::Run { sql, .. } = request {
            seen.push(sql.to_owned());
            request = program.resume(Answer::Replied {
                reply: Reply::default(),
                rows: &mut rows,
            });
        }
        assert!(matches!(request, Request::Last));
        seen
    }

    #[test]
    fn all_rows_are_inserted_in_large_statements() {
        let all = statements(&*create(&Dialect::STANDARD, 2));
        let inserts = || all.iter().filter(|sql| sql.starts_with("insert"));
        assert_eq!((all.len(), inserts().count()), (4 + 42, 42));
        let rows: usize = inserts().map(|sql| sql.matches("),(").count() + 1).sum();
        assert_eq!((rows as u64, row_count(2)), (200_022, 200_022));
        assert_eq!(all[1], "insert into pgbench_branches values (1,0,null),(2,0,null)");
        assert_eq!(statements(&*remove()).len(), 4);
    }
}
