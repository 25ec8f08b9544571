//! The statements of a workload: their labels and their texts.

pub use plan::StatementClass;

pub use crate::label::{Label, Labels};

/// A statement that each connection can prepare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What results call it.
    pub label: Label,
    /// Its text, with a placeholder of the dialect for each parameter.
    pub sql: String,
}

/// All statements of a workload. A statement's number is its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The labels of all statements, also of those that are never prepared.
    pub labels: Labels,
    /// The statements to prepare, in the order of their numbers.
    pub statements: Vec<Statement>,
}

impl Catalog {
    /// Adds a statement; returns its number.
    pub fn add(&mut self, label: Label, sql: String) -> u32 {
        self.statements.push(Statement { label, sql });
        (self.statements.len() - 1) as u32
    }
}
