//! Where acknowledged commits are stored, and who notices a failure, in every kind of cluster.

use std::time::Duration;

use plan::{Conduct, Configured, Span, Spanned};

use crate::registry::catalog;

fn conduct(engine: &str, kind: &str) -> Conduct {
    let engine = catalog().iter().find(|known| known.name == engine);
    let mut kinds = engine.unwrap().clusters.iter();
    kinds.find(|known| known.name == kind).unwrap().conduct
}

fn with<T>(settings: &str, read: impl Fn(&Configured<'_>) -> T) -> T {
    let settings = settings.split(' ').filter_map(|one| one.split_once('='));
    let settings: Vec<_> = settings
        .map(|(name, value)| {
            let (value, span) = (value.to_owned(), Span::NOWHERE);
            (name.to_owned(), Spanned { value, span })
        })
        .collect();
    read(&Configured {
        settings: &settings,
        members: 3,
        ttl: Duration::from_secs(12),
    })
}

#[test]
fn the_place_of_a_commit_follows_from_the_settings() {
    let rows = "
        mysql asynchronous: -> disk of the primary
        mysql asynchronous: Sync-Binlog=100 -> memory of the primary (sync_binlog = 100)
        mysql asynchronous: innodb_flush_log_at_trx_commit=2
            -> memory of the primary (innodb_flush_log_at_trx_commit = 2)
        mariadb asynchronous: -> memory of the primary (sync_binlog = 0)
        mariadb asynchronous: sync_binlog=1 innodb_flush_log_at_trx_commit=3 -> disk of the primary
        mysql semi-synchronous: rpl_semi_sync_source_timeout=500 rpl_semi_sync_source_wait_point=AFTER_COMMIT
            -> disk of the primary, memory of one replica (sync_relay_log = 10000), if received within 500ms, which others see earlier (AFTER_COMMIT)
        mysql semi-synchronous: sync_relay_log=1 rpl_semi_sync_source_wait_for_replica_count=2
            -> disk of the primary, disk of 2 replicas, if received within 10s
        mariadb semi-synchronous:
            -> memory of the primary (sync_binlog = 0), memory of one replica (sync_relay_log = 10000), if received within 10s, which others see earlier (AFTER_COMMIT)
        mysql group-replication: -> disk of the primary, memory of a majority
        mysql group-replication: group_replication_consistency=AFTER sync_binlog=0
            -> memory of the primary (sync_binlog = 0), prepared by all others (group_replication_consistency = after)
        mariadb galera: innodb_flush_log_at_trx_commit=0
            -> memory of the member written to (innodb_flush_log_at_trx_commit = 0), memory of the others
        postgres synchronous: -> disk of the primary, disk of the first standby
        postgres synchronous: synchronous_commit=remote_write
            -> disk of the primary, memory of the first standby (synchronous_commit = remote_write)
        postgres quorum: synchronous_commit=off -> memory of the primary (synchronous_commit = off)
        postgres quorum: synchronous_commit=local
            -> disk of the primary (synchronous_commit = local)
        postgres quorum: fsync=OFF -> memory of the primary, memory of 1 of 2 standbys (fsync = off)
        postgres patroni: -> disk of the primary
        postgres patroni-synchronous: synchronous_commit=remote_apply
            -> disk of the primary, applied by a standby, if there is one (synchronous_commit = remote_apply)
    ";
    // A row goes on in the next line if that begins with the place.
    let rows = rows.replace("\n            -> ", " -> ");
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (given, place) = row.split_once(" -> ").unwrap();
        let (cluster, settings) = given.split_once(':').unwrap();
        let (engine, kind) = cluster.split_once(' ').unwrap();
        let read = conduct(engine, kind).acknowledged;
        assert_eq!(with(settings, read), place, "{given}");
    }
}

#[test]
fn a_detector_has_the_timeouts_of_the_settings() {
    for (engine, kind, settings, text, within_s) in [
        (
            "mysql",
            "group-replication",
            "group_replication_member_expel_timeout=0",
            "the members: suspected after 5 s, expelled after \
             group_replication_member_expel_timeout = 0 s, checked every 15 s",
            20,
        ),
        (
            "mariadb",
            "galera",
            "wsrep_provider_options=gcache.size=64M;evs.suspect_timeout=PT1M2.5S",
            "the members: evs.suspect_timeout PT1M2.5S, evs.inactive_timeout PT15S",
            63,
        ),
        (
            "postgres",
            "patroni",
            "",
            "Patroni: a server within loop_wait 4 s, a server and its Patroni after ttl 12 s \
             (20 s in newer versions of Patroni)",
            16,
        ),
    ] {
        let found = with(settings, conduct(engine, kind).detector).unwrap();
        assert_eq!(found.text, text);
        assert_eq!(found.within.as_secs_f64().ceil() as u64, within_s, "{text}");
    }
    assert_eq!(with("", conduct("mysql", "asynchronous").detector), None);
}
