//! How much memory a virtual user needs.

use std::sync::Arc;
use std::time::Instant;

use client::StatementProtocol;
use client::connection::Protocol;
use client::route::Route;
use client::session::Connector;
use workload::built_in::BuiltIn;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;
use workload::virtual_user::Workload;

use crate::clock::SystemClock;
use crate::control::Control;
use crate::record::Recorder;
use crate::worker::WorkerSetup;

/// A load has tens of thousands of users, most of which wait for a reply.
const LIMIT_BYTES: usize = 1_536;

/// The size of a user's task on connections of this protocol.
fn task_bytes<P: Protocol>() -> usize {
    let (name, options) = (WorkloadName::OltpReadWrite, Options::default());
    let workload = BuiltIn::new(name, &options, &Dialect::STANDARD, 1, 1).unwrap();
    let catalog = Arc::clone(workload.catalog());
    let setup = WorkerSetup {
        number: 0,
        control: Arc::new(Control::new(1, false)),
        recorder: Arc::new(Recorder::new((catalog.labels.count(), 0), 1, None, None)),
        connector: Arc::new(Connector::<P> {
            targets: Vec::new(),
            route: Arc::new(Route::fixed()),
            protocol: StatementProtocol::Prepared,
            stamp_replies: true,
        }),
        catalog,
        users: workload.users(0..1),
        spec: super::spec(),
    };
    let clock = SystemClock::new(Instant::now());
    let task = setup.into_tasks(clock).unwrap().next().unwrap();
    size_of_val(&task)
}

#[test]
fn a_waiting_user_needs_little_memory() {
    let (mysql, postgres) = (
        task_bytes::<client::mysql::Mysql>(),
        task_bytes::<client::postgres::Postgres>(),
    );
    println!("bytes of a user's task: MySQL {mysql}, PostgreSQL {postgres}");
    assert!(mysql <= LIMIT_BYTES, "{mysql}");
    assert!(postgres <= LIMIT_BYTES, "{postgres}");
}
