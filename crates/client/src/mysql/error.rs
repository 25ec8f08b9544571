//! The meaning of MySQL's and MariaDB's errors, by number.

use workload::session::FailureKind;

use crate::error::Meaning;

pub(super) fn meaning(number: u32, message: &str) -> Meaning {
    Meaning::Failure(match number {
        // sysbench's list: deadlock, lock wait timeout, record changed since last read. And a
        // transaction that a member of a group rolled back because of a conflict.
        1213 | 1205 | 1020 | 3101 => FailureKind::Restart,
        // Shutdown in progress.
        1053 => FailureKind::Away,
        // A member of a Galera cluster that does not take part in it for now.
        1047 if message.starts_with("WSREP") => FailureKind::Away,
        // Too many connections, killed, server gone.
        1040 | 1927 | 2006 | 2013 | 4031 => FailureKind::Lost,
        // A Galera member without a connection to a majority; a member of Group Replication that
        // cannot commit.
        1047 | 3100 => return Meaning::NotServing,
        1290 | 1792 | 1836 => return Meaning::ReadOnly,
        // BEGIN, for example.
        1295 => return Meaning::NotPreparable,
        _ => FailureKind::Refused,
    })
}

/// What the user can do about a server's error.
pub fn refusal_remedy(number: u32) -> Option<&'static str> {
    Some(match number {
        1045 | 1698 => {
            "check user and password (DYNO_PASSWORD or --option-file keeps it out of the process list)"
        }
        1044 => "grant the account privileges on the database",
        1049 => {
            "run CREATE DATABASE or use dyno bench --create-database, or name another database in the URL"
        }
        1040 | 1203 | 1226 => {
            "the server accepts no more connections: raise max_connections, or use fewer --threads"
        }
        1129 | 1130 => "the server does not accept this host: check the account's host part",
        1142 | 1143 | 1227 => "grant the account this privilege",
        1146 => "the table does not exist: run with --prepare missing",
        1054 | 1136 | 1364 => {
            "the table's schema differs from sysbench's: drop it, or use another database"
        }
        1153 => "raise max_allowed_packet on the server, or send smaller statements",
        1148 | 3948 | 4166 => "allow LOAD DATA LOCAL on the server: SET GLOBAL local_infile = ON",
        1461 => {
            "raise the limit (SET GLOBAL max_prepared_stmt_count = …), or use fewer tables or --protocol text"
        }
        1114 | 1021 | 3 | 28 | 1030 => {
            "the server is out of space: free some on its disk, or raise the limit that it names"
        }
        1290 | 1792 | 1836 => "the server is read-only: use the primary, or a read-only workload",
        3159 => "the server requires TLS: use --tls-mode required",
        1251 | 2059 => {
            "dyno does not support the account's authentication plugin: choose another one for it"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_class() {
        for (number, kind) in [
            (1213, FailureKind::Restart),
            (1205, FailureKind::Restart),
            (1053, FailureKind::Away),
            (1040, FailureKind::Lost),
            (1047, FailureKind::Refused),
            (1317, FailureKind::Refused),
        ] {
            assert_eq!(meaning(number, "").kind(), kind, "{number}");
        }
        let not_ready = "WSREP has not yet prepared node for application use";
        assert_eq!(meaning(1047, not_ready).kind(), FailureKind::Away);
    }

    #[test]
    fn a_read_only_server_has_lost_its_role_where_writes_are_expected() {
        let has_lost_role =
            |number, expects_writes| meaning(number, "").has_lost_role(expects_writes);
        assert!(has_lost_role(1290, true) && !has_lost_role(1290, false));
        assert!(has_lost_role(1047, false) && !has_lost_role(1142, true));
    }
}
