//! A workload that is not built in: a ledger that knows of each commit whether it succeeded,
//! failed, or is in doubt.

use std::ops::Range;
use std::sync::Mutex;

use workload::catalog::{Catalog, StatementClass};
use workload::session::{Connections, FailureKind, Param, SessionError};
use workload::virtual_user::{Done, NewUsers, VirtualUser, Workload};

use super::script::{Scripted, done, fails};
use super::*;
use crate::control::lock;

/// Numbers in the catalog, and indexes of the labels.
const INSERT: u32 = 0;
const COMMIT: u32 = 1;

struct Ledger {
    catalog: Arc<Catalog>,
    entries: Arc<Mutex<Entries>>,
}

/// Entries by user and number.
#[derive(Default)]
struct Entries {
    committed: Vec<(u32, u64)>,
    in_doubt: Vec<(u32, u64)>,
}

struct Bookkeeper {
    index: u32,
    next: u64,
    entries: Arc<Mutex<Entries>>,
}

impl Ledger {
    fn new() -> Self {
        let mut catalog = Catalog::default();
        for (name, class, sql) in [
            (
                "ledger_insert",
                StatementClass::Write,
                "INSERT INTO ledger VALUES (?, ?)",
            ),
            ("commit", StatementClass::Other, "COMMIT"),
        ] {
            let label = catalog.labels.intern(name, class);
            catalog.add(label, sql.to_owned());
        }
        Self {
            catalog: Arc::new(catalog),
            entries: Arc::default(),
        }
    }
}

impl Workload for Ledger {
    type User = Bookkeeper;

    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    fn users(&self, indexes: Range<u32>) -> NewUsers<Bookkeeper> {
        let entries = Arc::clone(&self.entries);
        let user = move |index| Bookkeeper {
            index,
            next: 0,
            entries: Arc::clone(&entries),
        };
        Box::new(move || Ok(indexes.map(user).collect()))
    }
}

impl VirtualUser for Bookkeeper {
    async fn transaction<S: Connections>(&mut self, session: &mut S) -> Result<Done, SessionError> {
        // No number is used twice, so that an entry in doubt stays in doubt.
        self.next += 1;
        let entry = (self.index, self.next);
        let params = [self.index.into(), self.next.cast_signed()].map(Param::Int);
        session.execute(INSERT, &params).await?;
        let committed = session.execute(COMMIT, &[]).await;
        let mut entries = lock(&self.entries);
        match committed {
            Ok(_) => entries.committed.push(entry),
            Err(_) => entries.in_doubt.push(entry),
        }
        committed.map(|_| Done::default())
    }
}

#[test]
fn a_user_learns_of_each_commit_before_its_transaction_is_repeated() {
    // Odd, so that both statements lose the connection.
    let server = Scripted::answering(&simulation(), |request| match request.number % 7 == 6 {
        true => fails(FailureKind::Lost, 0),
        false => done(MS),
    });
    let spec = lasting_s(1);
    let ledger = Ledger::new();
    let driven = drive_own(&ledger, &spec, &server, &Stop::default(), |_, _| {});
    assert_eq!(driven.outcome().end, End::Completed);
    let entries = lock(&ledger.entries);
    let (measured, drained) = (driven.measured(), driven.total(Phase::Drain));
    let of = |index: u32| {
        let index = index as usize;
        let counts =
            [&measured, &drained].map(|slice| slice.statements.get(index).map_or(0, |s| s.count()));
        counts[0] + counts[1]
    };
    let transactions = measured.response.count() + drained.response.count();
    assert_eq!(entries.committed.len() as u64, transactions);
    assert_eq!(of(COMMIT), transactions);
    assert!(of(INSERT) > of(COMMIT));
    assert!(entries.in_doubt.len() > 10);
    let mut all = [entries.committed.as_slice(), &entries.in_doubt].concat();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "an entry in doubt was repeated");
}
