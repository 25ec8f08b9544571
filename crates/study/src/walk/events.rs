//! `[[event]]`: what is done to servers during the measurement.

use std::time::Duration;

use toml::de::{DeArray, DeTable, DeValue};

use super::Walk;
use crate::content::TypedEvent;
use crate::error::Diagnostic;
use crate::name::Name;
use crate::read::type_words;
use plan::key::{EVENT, Key, Kind, Needs, word};
use plan::{Action, Origin, Span, nearest, shown};

const MAX_EVENTS: usize = 100;
const HOW: &str = "write [[event]] on its own line, and below it at = \"20s\" and restart = 1";

static AT: Key = Key {
    kind: Kind::Duration {
        min: Duration::ZERO,
        max: Duration::from_secs(30 * 86_400),
    },
    ..word("event.at", 0)
};
static KILL: Key = action("event.kill");
static RESTART: Key = action("event.restart");

/// An action, whose value is the number of the server.
const fn action(name: &'static str) -> Key {
    Key {
        kind: Kind::Integer { min: 1, max: 64 },
        needs: Needs::StartedServer,
        ..word(name, 0)
    }
}

fn key_of(action: Action) -> &'static Key {
    match action {
        Action::Kill => &KILL,
        Action::Restart => &RESTART,
    }
}

impl Walk {
    pub(super) fn events(&mut self, list: &DeArray<'_>) {
        for (i, typed) in list.iter().enumerate() {
            let at = Span::new(Origin::File, typed.span());
            match typed.get_ref() {
                _ if i == MAX_EVENTS => {
                    let message = format!("the study has {} events", list.len());
                    let help = format!("a study has at most {MAX_EVENTS}");
                    return self.diagnostics.add(at, Diagnostic::new(message, help));
                }
                DeValue::Table(table) => self.event(table, at),
                other => self.not_events(other, at),
            }
        }
    }

    pub(super) fn not_events(&mut self, value: &DeValue<'_>, at: Span) {
        let found = match value {
            DeValue::Table(_) => "one table",
            other => type_words(other),
        };
        let message = format!("`{EVENT}` is a list of tables, not {found}");
        self.diagnostics.add(at, Diagnostic::new(message, HOW));
    }

    fn event(&mut self, table: &DeTable<'_>, place: Span) {
        let (mut at, mut actions, mut count) = (None, Vec::new(), 0);
        for (typed, value) in table.iter() {
            let span = Span::new(Origin::File, typed.span());
            let name = typed.get_ref().as_ref();
            match Action::ALL.iter().find(|action| action.name() == name) {
                Some(&action) => {
                    count += 1;
                    let node = self.typed::<u32>(key_of(action), value);
                    actions.extend(node.map(|node| (action, node)));
                }
                None if name == AT.last() => at = Some(self.typed::<Duration>(&AT, value)),
                None => self.unknown("key", name, span, || suggestion(name)),
            }
        }
        if at.is_none() {
            let diagnostic = Diagnostic::new("this event has no `at`", HOW);
            self.diagnostics.add(place, diagnostic);
        }
        if count != 1 {
            let message = format!("an event has one of `kill` and `restart`, not {count}");
            self.diagnostics.add(place, Diagnostic::new(message, HOW));
        }
        if let (Some(Some(at)), [(action, node)]) = (at, actions.as_slice()) {
            self.content.events.push(TypedEvent {
                name: Name::of(key_of(*action)),
                at,
                action: *action,
                node: node.clone(),
            });
        }
    }
}

fn suggestion(name: &str) -> String {
    let known = || Action::WORDS.iter().copied().chain([AT.last()]);
    match nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "an event has `at`, and one of `kill` and `restart`, not `{}`",
            shown(name)
        ),
    }
}
