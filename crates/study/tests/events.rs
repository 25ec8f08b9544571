//! `[[event]]`: what happens to servers during the measurement.

mod common;

use std::time::Duration;

use common::{SMALLEST, plan};
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
