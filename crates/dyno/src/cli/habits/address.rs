//! The address of a server from the options of other tools.

use url::Url;

/// What stands for an address where none of its parts was typed.
const EXAMPLE: &str = "mysql://USER@HOST:3306/DATABASE";

/// The address that `--mysql-host`, `--port` and so on add up to; never the password.
pub(super) fn typed(arguments: &[String]) -> String {
    from_parts(arguments).map_or_else(
        || EXAMPLE.to_owned(),
        |url| crate::secrets::quoted(url.as_str()),
    )
}

fn from_parts(arguments: &[String]) -> Option<Url> {
    let host = value(arguments, "host");
    let port = value(arguments, "port").and_then(|port| port.parse().ok());
    let user = value(arguments, "user");
    let database = value(arguments, "db");
    let socket = value(arguments, "socket");
    let parts = [host, user, database, socket];
    if parts.iter().all(Option::is_none) && port.is_none() {
        return None;
    }
    let mut url = Url::parse("mysql://localhost/").ok()?;
    url.set_host(Some(host.unwrap_or("localhost"))).ok()?;
    url.set_port(port).ok()?;
    url.set_username(user.unwrap_or("sbtest")).ok()?;
    url.set_path(database.unwrap_or("sbtest"));
    if let Some(socket) = socket {
        url.query_pairs_mut().append_pair("socket", socket);
    }
    Some(url)
}

/// The value of `--mysql-NAME` or `--NAME`, with `=` or as the next word.
fn value<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(place, argument)| {
        let option = argument.strip_prefix("--")?;
        let option = option.strip_prefix("mysql-").unwrap_or(option);
        match option.strip_prefix(name)? {
            "" => arguments.get(place + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_made_of_what_was_typed() {
        let typed = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            super::typed(&words)
        };
        for (words, address) in [
            ("bench --threads=4", EXAMPLE),
            (
                "bench --mysql-host=db1 --mysql-user=me --mysql-password=secret --mysql-db=shop",
                "mysql://me@db1/shop",
            ),
            (
                "bench --host db1 --port 3307",
                "mysql://sbtest@db1:3307/sbtest",
            ),
            (
                "bench --mysql-socket=/run/my.sock",
                "'mysql://sbtest@localhost/sbtest?socket=%2Frun%2Fmy.sock'",
            ),
        ] {
            assert_eq!(typed(words), address);
        }
    }
}
