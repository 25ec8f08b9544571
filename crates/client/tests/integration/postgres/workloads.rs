//! Every workload against a real server, by both protocols.

use std::time::Duration;

use client::StatementProtocol;
use client::postgres::{Connection, Connector, DIALECT, PostgresSession};
use testkit::Postgres;
use workload::built_in::BuiltIn;
use workload::catalog::Label;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::{drop_table, table_name};
use workload::session::{Connect, Connections, Param, Reply, Rows, Session, SessionError};
use workload::virtual_user::{VirtualUser, Workload};

use super::root;
use crate::common::{connector, run};

const SEED: u64 = 7;
const TRANSACTIONS: u32 = 30;

/// A user's only connection, which is open.
struct Only(PostgresSession);

impl Session for Only {
    async fn execute(
        &mut self,
        statement: u32,
        params: &[Param<'_>],
    ) -> Result<Reply, SessionError> {
        self.0.execute(statement, params).await
    }

    async fn query(&mut self, label: Label, sql: &str) -> Result<Reply, SessionError> {
        self.0.query(label, sql).await
    }

    async fn rollback(&mut self) -> Result<(), SessionError> {
        self.0.rollback().await
    }
}

impl Connections for Only {
    async fn open(&mut self) -> Result<u32, SessionError> {
        Ok(0)
    }

    fn select(&mut self, _: u32) {}

    async fn shut(&mut self) {}

    async fn run(&mut self, sql: &str, _: Option<&mut Rows>) -> Result<Reply, SessionError> {
        self.query(Label::default(), sql).await
    }

    async fn pause(&mut self, _: Duration) {}

    fn caught(&mut self, _: &SessionError) {}
}

/// Makes a workload's tables with their rows.
async fn prepare(connection: &mut Connection, workload: WorkloadName, options: &Options) {
    let spec = workload.table_spec(options, SEED);
    for table in 1..=workload.tables(options, 1) {
        let name = table_name(table);
        connection.run(&drop_table(table)).await.unwrap();
        let create = spec.create(&DIALECT, table);
        connection.run(&create).await.unwrap();
        if workload.begins_empty() {
            continue;
        }
        let rows = spec.table_rows(table).unwrap();
        let mut keys = 1..=options.data.rows;
        let sql = format!("COPY {name} (id, k, c, pad) FROM STDIN");
        let loaded = connection.load(&sql, |out| {
            for key in keys.by_ref().take(100) {
                rows.row(key).write_tsv(out);
            }
        });
        assert_eq!(loaded.await.unwrap().affected, options.data.rows);
        for sql in spec.finish(&DIALECT, table) {
            connection.run(&sql).await.unwrap();
        }
    }
}

#[test]
fn every_workload_runs() {
    let server = Postgres::start(&[]);
    let mut options = Options::default();
    (options.data.tables, options.data.rows) = (1, 500);
    run(async {
        let mut connection = Connection::open(&root(&server)).await.unwrap();
        for name in WorkloadName::ALL {
            for protocol in [StatementProtocol::Prepared, StatementProtocol::Text] {
                prepare(&mut connection, name, &options).await;
                let workload = BuiltIn::new(name, &options, &DIALECT, SEED, 1).unwrap();
                let mut connector: Connector = connector(root(&server));
                (connector.protocol, connector.stamp_replies) = (protocol, false);
                let mut session = Only(connector.connect(workload.catalog()).await.unwrap());
                let mut user = workload.users(0..1)().unwrap().remove(0);
                let mut lookups = 0;
                for _ in 0..TRANSACTIONS {
                    let done = user.transaction(&mut session).await;
                    let done = done.unwrap_or_else(|e| panic!("{name} {protocol:?}: {e}"));
                    // Nobody inserts the rows that this one deletes.
                    let may_miss = name == WorkloadName::OltpDelete;
                    assert!(done.misses == 0 || may_miss, "{name} {protocol:?}");
                    lookups += done.lookups;
                }
                user.finish(&mut session).await.unwrap();
                session.0.close().await;
                if name == WorkloadName::OltpPointSelect {
                    assert_eq!(lookups, TRANSACTIONS);
                }
            }
        }
        connection.close().await;
    });
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}
