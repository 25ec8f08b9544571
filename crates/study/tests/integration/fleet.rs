//! Which machines a load comes from.

use plan::{Agents, Fleet, Nats};

use crate::common::{SMALLEST, plan, trial};

fn fleet(sets: &[(&str, &str)]) -> Option<Fleet> {
    trial(&format!("{SMALLEST}load.threads = 8\n"), sets)
        .load
        .fleet
}

#[test]
fn agents_are_counted_or_named() {
    assert_eq!(fleet(&[]), None);
    let (agents, nats) = (Agents::Count(3), Nats::LOOPBACK);
    assert_eq!(fleet(&[("load.agents", "3")]), Some(Fleet { agents, nats }));
    for typed in ["a, b-1", "[\"a\", \"b-1\"]"] {
        let agents = fleet(&[("load.from", typed)]).unwrap().agents;
        assert_eq!(agents, Agents::Labels(vec!["a".into(), "b-1".into()]));
        assert_eq!(agents.to_string(), "agents a, b-1");
    }
    let one = fleet(&[("load.from", "a")]).unwrap().agents;
    assert_eq!(one.to_string(), "agent a");
}

#[test]
fn a_nats_server_is_named_or_listens() {
    let nats = |key, value| fleet(&[("load.agents", "1"), (key, value)]).unwrap().nats;
    let listen = "127.0.0.1:4222";
    let private = Nats::Private {
        listen: listen.parse().unwrap(),
    };
    assert_eq!(nats("load.nats_listen", listen), private);
    let Nats::Url(url) = nats("load.nats", "nats://me:hunter2@127.0.0.1") else {
        panic!("no URL")
    };
    assert!(url.is_loopback() && !url.to_string().contains("hunter2"));
}

/// A variant, a sweep, and an override may name agents where the study counts them.
#[test]
fn labels_replace_a_count() {
    let text = format!(
        "{SMALLEST}load.threads = 8\nload.agents = 2\n[[variant]]\nname = \"two\"\n[[variant]]\nname = \"one\"\nload.from = [\"a\"]\n"
    );
    let agents = |sets: &[_]| {
        let plan = plan(&text, sets);
        let fleets = plan.trials.into_iter().map(|trial| trial.load.fleet);
        fleets
            .map(|fleet| fleet.unwrap().agents.count())
            .collect::<Vec<_>>()
    };
    assert_eq!(agents(&[]), [2, 1]);
    assert_eq!(agents(&[("load.from", "a,b,c")]), [3, 3]);
}
