//! `[[event]]`: what happens to servers during the measurement.

mod common;

use std::time::Duration;

use common::{SMALLEST, fails, plan};
use plan::{Action, Event};

#[test]
fn events_are_those_of_every_trial_in_order_of_time() {
    let text = format!(
        "{}\nserver.engine = \"mariadb\"\nload.repeats = 2\ntopology.instances = 2\n\
         [[event]]\nat = \"20s\"\nrestart = 2\n[[event]]\nat = \"1500ms\"\nkill = 2\n",
        "title = \"t\""
    );
    let event = |at_ms, action| Event {
        at: Duration::from_millis(at_ms),
        action,
        node: 2,
    };
    let wanted = [event(1500, Action::Kill), event(20_000, Action::Restart)];
    let plan = self::plan(&text, &[]);
    assert_eq!(plan.trials.len(), 2);
    assert!(plan.trials.iter().all(|t| t.topology.events == wanted));
    let without = self::plan(SMALLEST, &[]);
    assert!(without.trials[0].topology.events.is_empty());
}

/// Events are a list, of which no key names one entry.
#[test]
fn what_cannot_vary_events_is_refused_with_a_way_out() {
    let text = format!("{SMALLEST}[[event]]\nat = \"1s\"\nkill = 1\n");
    let elsewhere = [
        fails(&text, &[("event.at", "2s")]),
        fails(&text, &[("event", "[]")]),
        fails(&text, &[("sweep.event.at", "[\"1s\", \"2s\"]")]),
        fails(
            &format!("{text}[sweep]\n\"event.at\" = [\"1s\", \"2s\"]\n"),
            &[],
        ),
        fails(
            &format!("{text}[[variant]]\nname = \"a\"\n[[variant.event]]\nat = \"1s\"\n"),
            &[],
        ),
        fails(&format!("{text}[sizes.a]\nevent.at = \"1s\"\n"), &[]),
    ];
    for error in elsewhere {
        assert!(error.contains("[[event]]"), "{error}");
    }
}
