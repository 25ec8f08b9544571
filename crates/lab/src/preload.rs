//! A warm-up that runs no transaction: every table and index is read once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use client::mysql::Target;
use client::sqlite::{SqliteTarget, session_error};
use workload::options::Options;
use workload::schema::{Dialect, table_name};

use crate::database::{Database, connected};
use crate::failure::{Cause, Failure};
use crate::keeper::Keeper;
use crate::rig::Rig;
use crate::trial::Trial;

/// How often it is looked whether the user stops, where a call blocks.
const LOOK: Duration = Duration::from_millis(20);

/// The statements that read every row of a table through its clustered index, and
/// every entry of its secondary one.
pub(crate) fn statements(dialect: Dialect, options: &Options, table: u32) -> Vec<String> {
    let name = table_name(table);
    let (by_rows, by_index) = match dialect {
        Dialect::Mysql if options.secondary => (String::new(), String::new()),
        // It has no hints, and reads by the index what only that has to be read for.
        Dialect::Postgres => (String::new(), String::new()),
        Dialect::Mysql => (
            " FORCE INDEX (PRIMARY)".to_owned(),
            format!(" FORCE INDEX (k_{table})"),
        ),
        Dialect::Sqlite => (" NOT INDEXED".to_owned(), format!(" INDEXED BY k_{table}")),
    };
    let mut statements = vec![format!(
        "SELECT COUNT(*), SUM(LENGTH(pad)) FROM {name}{by_rows}"
    )];
    if options.create_secondary {
        statements.push(format!(
            "SELECT COUNT(*), MAX(k) FROM {name}{by_index} WHERE k >= 0"
        ));
    }
    statements
}

/// Reads all tables of a trial's databases once, if the study wants it.
///
/// # Errors
/// When a server refuses or dies, or the user stops.
pub(crate) fn preload(
    trial: &Trial,
    rig: &mut Rig,
    keeper: &mut dyn Keeper,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    if !trial.preload || trial.workload.begins_empty() {
        return Ok(());
    }
    keeper.stage("reading all tables once");
    let read = |database| read(database, &trial.options, interrupted);
    let read = rig.databases().try_for_each(read);
    read.map_err(|failure| {
        if interrupted.load(Ordering::Relaxed) {
            let message = "interrupted while all tables were read";
            return Failure::new(Cause::Interrupted, message);
        }
        // A server that died says more than a connection that broke.
        rig.death(true).unwrap_or(failure)
    })
}

fn read(database: &Database, options: &Options, interrupted: &AtomicBool) -> Result<(), Failure> {
    let texts =
        (1..=options.tables).flat_map(|table| statements(database.dialect(), options, table));
    match database {
        Database::Mysql { target, .. } => on_server(target, texts, interrupted),
        Database::Sqlite(target) => in_process(target, texts, interrupted),
    }
}

fn on_server(
    target: &Target,
    texts: impl Iterator<Item = String>,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    connected(target, interrupted, async |connection| {
        for text in texts {
            connection.rows(&text).await?;
        }
        Ok(())
    })
}

/// Calls into SQLite block, so another thread looks whether the user stops.
fn in_process(
    target: &SqliteTarget,
    mut texts: impl Iterator<Item = String>,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let failed = |error| Failure::new(Cause::Server, session_error(&error, None));
    let connection = target.open().map_err(failed)?;
    let handle = connection.get_interrupt_handle();
    let (reading, done) = channel::<()>();
    std::thread::scope(|scope| {
        let look = move || {
            while done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if interrupted.load(Ordering::Relaxed) {
                    handle.interrupt();
                }
            }
        };
        std::thread::Builder::new()
            .spawn_scoped(scope, look)
            .map_err(|error| Failure::new(Cause::Internal, error))?;
        let read = texts.try_for_each(|text| connection.query_row(&text, [], |_| Ok(())));
        drop(reading);
        read.map_err(failed)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    use crate::home::Home;
    use crate::rig::Member;
    use crate::servers::{self, Engine};
    use crate::template;
    use crate::testing::{Silent, trial};

    static NEVER: AtomicBool = AtomicBool::new(false);

    /// A server of our own without tables, which has got this signal.
    fn struck_by(signal: Signal, keep: &Path) -> Rig {
        let user = rustix::process::geteuid().as_raw();
        let root = format!("/tmp/dyno-testkit-cache-{user}");
        let home = Home::open_in(root.as_ref(), 2 << 30).unwrap();
        let installed = servers::find(Engine::MariaDb, None, None).unwrap();
        let listener = data::Listener {
            tell: &mut |_| {},
            interrupted: &NEVER,
        };
        let template = template::obtain_empty(&home, &installed, &[], listener).unwrap();
        let wanted = servers::Wanted {
            number: 1,
            data: template.copy(1).unwrap().0,
            config: &[],
            port: None,
            connections: 10,
            cpus: None,
            keep,
            interrupted: &NEVER,
        };
        let server = servers::start(&installed, wanted).unwrap();
        let target = server.target(template::DATABASE).unwrap();
        let database = Database::mysql(target).unwrap();
        let pid = Pid::from_raw(server.pid().unwrap().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
        of(Member {
            server: Some(server),
            ..Member::given(database)
        })
    }

    fn of(member: Member) -> Rig {
        Rig {
            members: vec![member],
            reset: None,
            made_for: None,
        }
    }

    /// The failure of a preload that the user ends after a while.
    fn stopped(mut rig: Rig) -> Failure {
        let interrupted = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                interrupted.store(true, Ordering::Relaxed);
            });
            let mut keeper = Silent { panics: false };
            preload(&trial(), &mut rig, &mut keeper, &interrupted).unwrap_err()
        })
    }

    #[test]
    fn a_server_that_dies_is_told_of_in_its_last_words() {
        let keep = tempfile::tempdir().unwrap();
        let mut rig = struck_by(Signal::KILL, keep.path());
        let mut keeper = Silent { panics: false };
        let failure = preload(&trial(), &mut rig, &mut keeper, &NEVER).unwrap_err();
        let text = failure.message;
        assert!(text.contains("server 1"), "{text}");
        assert!(text.contains("was killed by signal 9"), "{text}");
        assert!(text.contains("ready for connections"), "{text}");
        assert_eq!(failure.cause, Cause::Server);
    }

    #[test]
    fn the_user_need_not_wait_for_a_server_that_hangs() {
        let keep = tempfile::tempdir().unwrap();
        let failure = stopped(struck_by(Signal::STOP, keep.path()));
        assert_eq!(failure.cause, Cause::Interrupted, "{failure}");
    }

    #[test]
    fn the_user_need_not_wait_for_a_database_in_process() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("endless").display());
        let target = SqliteTarget::parse(&url).unwrap();
        let endless = "CREATE VIEW sbtest1 AS WITH RECURSIVE n(id) AS \
                       (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, id k, '' pad FROM n";
        target.open().unwrap().execute_batch(endless).unwrap();
        let failure = stopped(of(Member::given(Database::Sqlite(target.into()))));
        assert_eq!(failure.cause, Cause::Interrupted, "{failure}");
    }
}
