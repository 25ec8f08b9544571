//! The URL of a server, from the options of other tools.

use url::Url;

use super::{HABITS, Habit, Meaning};

/// The URL that `--host`, `--port` and so on specify, without a password.
pub(super) fn typed(arguments: &[String]) -> String {
    let options = arguments.iter().filter_map(|argument| part(argument));
    let scheme = options.map(|(scheme, _)| scheme).next();
    let url = scheme.and_then(|scheme| from_parts(scheme, arguments));
    match (url, scheme) {
        (Some(url), _) => crate::secrets::quoted(url.as_str()),
        (None, Some(scheme)) => format!("{scheme}://USER@HOST/DATABASE"),
        (None, None) => engine::servers()
            .next()
            .map_or_else(String::new, |any| any.about().url_syntax.to_owned()),
    }
}

fn from_parts(scheme: &str, arguments: &[String]) -> Option<Url> {
    let host = value(arguments, "host");
    let port = value(arguments, "port").and_then(|port| port.parse().ok());
    let user = value(arguments, "user");
    let database = value(arguments, "db");
    let socket = value(arguments, "socket");
    let parts = [host, user, database, socket];
    if parts.iter().all(Option::is_none) && port.is_none() {
        return None;
    }
    let mut url = Url::parse(&format!("{scheme}://localhost/")).ok()?;
    url.set_host(Some(host.unwrap_or("localhost"))).ok()?;
    url.set_port(port).ok()?;
    url.set_username(user.unwrap_or("sbtest")).ok()?;
    url.set_path(database.unwrap_or("sbtest"));
    if let Some(socket) = socket {
        url.query_pairs_mut().append_pair("socket", socket);
    }
    Some(url)
}

/// The value of the option that stands for a part of a URL, with `=` or as the next word.
fn value<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(place, argument)| {
        part(argument).filter(|(_, part)| *part == name)?;
        match argument.split_once('=') {
            Some((_, value)) => Some(value),
            None => arguments.get(place + 1).map(String::as_str),
        }
    })
}

/// The scheme and the part of a URL, `host`, that an option like `--host=db1` stands for.
fn part(argument: &str) -> Option<(&'static str, &'static str)> {
    let option = argument.split_once('=').map_or(argument, |(name, _)| name);
    let mut known = HABITS.iter().filter(|habit| habit.typed == option);
    known.find_map(|habit: &Habit| match habit.meaning {
        Meaning::Address(scheme) => Some((scheme, habit.typed.rsplit('-').next()?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
