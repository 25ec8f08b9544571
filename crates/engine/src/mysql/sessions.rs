//! Kills abandoned sessions through another connection, because the server may not notice for hours
//! that the client is gone.

use client::mysql::{Connection, Error};

type Rows = Vec<Vec<Option<String>>>;

/// Identifies a server; MariaDB has no `server_uuid`, MySQL no `server_uid`.
const WHICH_SERVER: &str = "SHOW GLOBAL VARIABLES \
    WHERE variable_name IN ('hostname', 'port', 'server_uuid', 'server_uid')";

/// A session: its ID on one server.
#[derive(Debug)]
pub(crate) struct Session {
    id: u32,
    server: Rows,
}

impl Session {
    pub(crate) async fn of(connection: &mut Connection) -> Self {
        Self {
            id: connection.id(),
            server: which_server(connection).await,
        }
    }
}

/// Empty if the server does not identify itself.
async fn which_server(connection: &mut Connection) -> Rows {
    connection.rows(WHICH_SERVER).await.unwrap_or_default()
}

/// Kills those of the sessions that are on this connection's server. Behind a load balancer, that
/// may be another server, on which the IDs belong to other clients.
pub(crate) async fn kill(connection: &mut Connection, sessions: &[Session]) -> Result<(), Error> {
    let here = which_server(connection).await;
    let own = connection.id();
    let ours = of_one_account(&connection.rows("SHOW PROCESSLIST").await?, own);
    let is_ours = |session: &&Session| {
        !here.is_empty() && session.server == here && ours.contains(&session.id)
    };
    for session in sessions.iter().filter(is_ours) {
        // The session may have ended meanwhile.
        let _ = connection.run(&format!("KILL {}", session.id)).await;
    }
    Ok(())
}

/// The sessions with the same user and database as session `own`.
fn of_one_account(list: &Rows, own: u32) -> Vec<u32> {
    let read = |row: &Vec<Option<String>>| match row.as_slice() {
        [Some(id), user, _host, database, ..] => {
            Some((id.parse().ok()?, (user.clone(), database.clone())))
        }
        _ => None,
    };
    let sessions: Vec<(u32, _)> = list.iter().filter_map(read).collect();
    let Some((_, account)) = sessions.iter().find(|(id, _)| *id == own) else {
        return Vec::new();
    };
    let same = sessions.iter().filter(|(_, known)| known == account);
    same.map(|(id, _)| *id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_other_users_and_databases_are_not_ours() {
        let row = |id: &str, user: &str, database: Option<&str>| {
            let cells = [Some(id), Some(user), Some("h:1"), database, Some("Query")];
            cells.map(|cell| cell.map(str::to_owned)).to_vec()
        };
        let list = vec![
            row("4", "u", Some("x")),
            row("5", "v", Some("x")),
            row("6", "u", Some("y")),
            row("7", "u", None),
            row("8", "u", Some("x")),
        ];
        assert_eq!(of_one_account(&list, 8), [4, 8]);
        assert!(of_one_account(&list, 9).is_empty());
    }
}
