//! What a summary keeps of each second.

use crate::interval::Part;
use crate::series::mean;
use crate::slice::{Busy, Second};

#[derive(Debug, Clone)]
pub(crate) struct SecondTotals {
    pub(crate) seconds: f64,
    pub(crate) transactions: u64,
    pub(crate) statements: u64,
    pub(crate) response_ns: f64,
    pub(crate) service: (u64, f64),
    pub(crate) backlog: Option<u64>,
    pub(crate) workers: Vec<Busy>,
}

impl SecondTotals {
    pub(crate) fn of(second: &Second) -> Self {
        let slice = &second.slice;
        Self {
            seconds: second.throughput().weight,
            transactions: slice.response.count(),
            statements: slice.statement_count(),
            response_ns: slice.response.sum_ns() as f64,
            service: (slice.service.count(), slice.service.sum_ns() as f64),
            backlog: second.backlog,
            workers: second.workers.clone(),
        }
    }

    /// Adds the rest of a phase, which is shorter than a second.
    pub(crate) fn extend(&mut self, rest: &Self) {
        let weights = [self.seconds, rest.seconds];
        for (busy, rest) in self.workers.iter_mut().zip(&rest.workers) {
            busy.running = mean([busy.running, rest.running].map(Some), weights).unwrap_or(0.0);
            busy.waiting = mean([busy.waiting, rest.waiting].map(Some), weights).unwrap_or(0.0);
        }
        self.seconds += rest.seconds;
        self.transactions += rest.transactions;
        self.statements += rest.statements;
        self.response_ns += rest.response_ns;
        self.service.0 += rest.service.0;
        self.service.1 += rest.service.1;
        self.backlog = rest.backlog.or(self.backlog);
    }

    /// Transactions, and length in seconds.
    pub(crate) fn throughput(&self) -> Part {
        Part {
            total: self.transactions as f64,
            weight: self.seconds,
        }
    }
}

pub(crate) fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}
