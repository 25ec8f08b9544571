//! The machines that the load comes from, when it does not come from this one alone.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::{ServerUrl, Spanned, TextError, shown};

/// Most agents of a fleet.
pub const MAX_AGENTS: usize = 1000;

/// The agents that drive a load together, and how they are reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    pub agents: Agents,
    pub nats: Nats,
}

/// Which agents drive a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agents {
    /// As many, whichever are free.
    Count(u32),
    /// Those of these labels, which [`parse_labels`] accepts.
    Labels(Vec<String>),
}

impl Agents {
    /// None if any agents will do.
    pub fn labels(&self) -> &[String] {
        match self {
            Self::Count(_) => &[],
            Self::Labels(labels) => labels,
        }
    }

    pub fn count(&self) -> usize {
        match self {
            Self::Count(count) => *count as usize,
            Self::Labels(labels) => labels.len(),
        }
    }
}

/// Shows `4 agents`, `agent a`, or `agents a, b`.
impl fmt::Display for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(1) => f.write_str("1 agent"),
            Self::Count(count) => write!(f, "{count} agents"),
            Self::Labels(labels) => {
                let noun = if labels.len() == 1 { "agent" } else { "agents" };
                write!(f, "{noun} {}", labels.join(", "))
            }
        }
    }
}

/// The nats-server that connects a fleet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nats {
    /// Already running.
    Url(Spanned<ServerUrl>),
    /// Started for the study. Port 0: a free one.
    Private { listen: SocketAddr },
}

impl Nats {
    pub const LOOPBACK: Self = Self::Private {
        listen: SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
    };

    /// Whether only this machine reaches it, so that all agents run here.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Url(url) => url.is_loopback(),
            Self::Private { listen } => listen.ip().is_loopback(),
        }
    }
}

/// Checks that an address can be that of a nats-server.
pub fn check_nats(url: &ServerUrl) -> Result<(), TextError> {
    match url.expose().split_once("://") {
        Some(("nats" | "tls", host)) if !host.is_empty() => Ok(()),
        _ => {
            let message = format!("`{url}` is not the address of a nats-server");
            Err(TextError::new(
                message,
                "write nats://HOST:4222, or tls://HOST:4222",
            ))
        }
    }
}

/// Whether a host of an address is the machine that reads it.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Parses labels of agents with commas between them.
pub fn parse_labels(text: &str) -> Result<Vec<String>, TextError> {
    let labels: Vec<String> = text.split(',').map(|one| one.trim().to_owned()).collect();
    if labels.len() > MAX_AGENTS {
        let message = format!("{} agents", labels.len());
        let help = format!("a fleet has at most {MAX_AGENTS}");
        return Err(TextError::new(message, help));
    }
    for (index, label) in labels.iter().enumerate() {
        if !is_label(label) {
            let message = format!("`{}` is not a label of an agent", shown(label));
            let help = "a label has letters, digits, `-`, and `_`, at most 64 of them";
            return Err(TextError::new(message, help));
        }
        if labels[..index].contains(label) {
            let message = format!("duplicate label `{label}`");
            let help = "each agent drives one share of the load: name it once";
            return Err(TextError::new(message, help));
        }
    }
    Ok(labels)
}

/// Whether a text can be the label of an agent.
pub fn is_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(is_plain)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn labels_are_plain_words_of_which_none_is_repeated() {
        assert_eq!(parse_labels("a, load-1").unwrap(), ["a", "load-1"]);
        for bad in ["", "a,", "a b", "a.b", "*", "a,b,a", &"x".repeat(65)] {
            assert!(parse_labels(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_only_this_machine_reaches_is_known() {
        let nats = |url: &str| Nats::Url(ServerUrl::from(url.to_owned()).into());
        for local in [
            "nats://127.0.0.1:4222",
            "nats://u:p@localhost",
            "tls://[::1]:4222",
        ] {
            assert!(nats(local).is_loopback(), "{local}");
        }
        for far in [
            "nats://load1:4222",
            "nats://localhost,nats2",
            "nats://[fe80::1]",
        ] {
            assert!(!nats(far).is_loopback(), "{far}");
        }
        assert!(Nats::LOOPBACK.is_loopback());
    }
}
