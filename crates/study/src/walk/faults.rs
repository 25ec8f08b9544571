//! `[[fault]]`: what is broken during the measurement.

use std::time::Duration;

use serde_json::{Value as Json, json};
use toml::de::{DeArray, DeTable, DeValue};

use super::{TomlValue, Walk};
use crate::content::TypedFault;
use crate::error::{Diagnostic, Report};
use crate::name::Name;
use crate::read::type_words;
use plan::key::{FAULT, Key, Kind, word};
use plan::{
    ActsOn, Ends, Fault, FaultKind, FaultProcess, FaultTarget, FaultVolume, Origin, Span, Value,
    nearest, parse_bytes, shown,
};

const MAX_FAULTS: usize = 100;
const MAX_ARGUMENTS: usize = 100;
/// A cluster has at most nine members.
const MAX_SIDE: usize = 8;
pub(super) const HOW: &str =
    "write [[fault]] on its own line, and below it at = \"30s\" and kill = \"primary\"";
const TARGETS: &str = "a target is \"primary\", \"replica\", \"any\", \"coordinator\", the number of a server, or, of a `restart`, \"all\"";
const NEVER: &str = "never";
/// How long a fault lasts unless the study says otherwise.
const DEFAULT_HEAL: &str = "10s";
const MILLISECOND: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// What a fault has besides the key that names its kind, and the parameter that a kind must have for it
/// ([`FaultKind::has`]); empty: every kind has it.
#[rustfmt::skip]
static OPTIONS: [(Key, &str); 19] = [
    (key("fault.heal", span(MILLISECOND, MONTH)), ""),
    (key("fault.process", Kind::Choice(FaultProcess::WORDS)), "process"),
    (key("fault.seed", count(0, u64::MAX)), ""),
    (word("fault.rate", 20), "link"),
    (key("fault.delay", span(MILLISECOND, MINUTE)), "link"),
    (key("fault.loss", Kind::Percent { min: 0.01, max: 99.0 }), "link"),
    (word("fault.with", 0), "with"),
    (word("fault.bridge", 0), "bridge"),
    (key("fault.volume", Kind::Choice(FaultVolume::WORDS)), "volume"),
    (key("fault.device", count(1, 32)), "device"),
    (key("fault.read_iops", IOPS), "limits"),
    (key("fault.write_iops", IOPS), "limits"),
    (word("fault.read_bytes_per_s", 20), "limits"),
    (word("fault.write_bytes_per_s", 20), "limits"),
    (key("fault.target", count(1, 576)), "command"),
    (word("fault.heal_command", 4000), "heal_command"),
    (key("fault.expect_outage", Kind::Boolean), ""),
    (key("fault.at", span(Duration::ZERO, MONTH)), ""),
    (word("fault.command", 4000), "command"),
];
const IOPS: Kind = count(1, 1_000_000_000);

const fn key(name: &'static str, kind: Kind) -> Key {
    Key {
        kind,
        ..word(name, 0)
    }
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

const fn span(min: Duration, max: Duration) -> Kind {
    Kind::Duration { min, max }
}

fn place(span: std::ops::Range<usize>) -> Span {
    Span::new(Origin::File, span)
}

impl Walk {
    pub(super) fn faults(&mut self, list: &DeArray<'_>) {
        for (i, typed) in list.iter().enumerate() {
            let at = place(typed.span());
            match typed.get_ref() {
                _ if i == MAX_FAULTS => {
                    let message = format!("the study has {} faults", list.len());
                    let help = format!("a study has at most {MAX_FAULTS}");
                    return self.refuse(at, message, help);
                }
                DeValue::Table(table) => {
                    let fault = self.fault(table, at);
                    self.content.faults.extend(fault);
                }
                other => self.not_tables(FAULT, other, at, HOW),
            }
        }
    }

    /// Reads a fault with the words in which a result stores it. Reports invalid options, and reads
    /// the rest.
    fn fault(&mut self, table: &DeTable<'_>, at: Span) -> Option<TypedFault> {
        let (mut fields, mut kinds) = (serde_json::Map::new(), Vec::new());
        let mut places = std::collections::BTreeMap::new();
        for (typed, value) in table.iter() {
            let (name, key_at) = (typed.get_ref().as_ref(), place(typed.span()));
            let kind = FaultKind::ALL.iter().find(|kind| kind.name() == name);
            kinds.extend(kind.map(|kind| (*kind, key_at)));
            let Some(key) =
                option(name).map_or(kind.map(|_| "target"), |(key, _)| Some(key.last()))
            else {
                self.unknown("key", name, key_at, || suggestion(name));
                continue;
            };
            let place = match key {
                "device" | "with" | "bridge" => key_at,
                _ => place(value.span()),
            };
            // A target after the kind goes before the option of this name.
            places.entry(key).or_insert(place);
            if let Some(value) = self.option(key, value) {
                fields.entry(key).or_insert(value);
            }
        }
        if !table.contains_key("at") {
            self.refuse(at, "this fault has no `at`", HOW);
        }
        let &[(kind, kind_at)] = kinds.as_slice() else {
            let message = match kinds.len() {
                0 => "this fault does not say what to do".to_owned(),
                count => format!("a fault does one thing, not {count}"),
            };
            let kinds: Vec<_> = FaultKind::WORDS.iter().map(|w| format!("`{w}`")).collect();
            let help = format!("a fault has `at` and one of {}", kinds.join(", "));
            self.refuse(at, message, help);
            return None;
        };
        let target = fields.get("target").cloned();
        let target = target.and_then(|target| serde_json::from_value(target).ok());
        self.options_have_an_effect(table, (kind, kind_at), target);
        self.target_is_possible(kind, target, places.get("target").copied());
        if kind.has("command") && !places.contains_key("target") {
            places.insert("target", kind_at);
            fields.insert("target".to_owned(), json!(FaultTarget::Primary));
        }
        if kind.lasts() || fields.contains_key("heal_command") {
            fields.entry("heal").or_insert(DEFAULT_HEAL.into());
        }
        if kind.has("device") {
            fields.entry("device").or_insert(1.into());
        }
        fields.insert("kind".to_owned(), kind.name().into());
        let seed = fields.remove("seed").and_then(|seed| seed.as_u64());
        let mut fault: Fault = serde_json::from_value(fields.into()).ok()?;
        if let Some(seed) = seed {
            fault.set_seed(seed);
        }
        self.sides_differ(&fault, places.get("bridge").or(places.get("with")));
        Some(TypedFault {
            fault,
            has_seed: seed.is_some(),
            kind: kind_at,
            places,
        })
    }

    /// The value of an option, or of the key that names the kind, which has the target.
    fn option(&mut self, name: &str, value: &TomlValue<'_>) -> Option<Json> {
        match name {
            "target" => self.target(value).map(|target| json!(target)),
            "bridge" => self.member(value).map(|member| json!(member)),
            "with" => {
                let help = format!(
                    "name 1 to {MAX_SIDE} members that stay with the target: with = [\"replica\", 3]"
                );
                let list = self.list(value, MAX_SIDE, help, |value| match value {
                    DeValue::Array(list) => format!("this side has {} more members", list.len()),
                    other => format!("a side of a partition is a list, not {}", type_words(other)),
                })?;
                let members = list.iter().filter_map(|member| self.member(member));
                Some(json!(members.collect::<Vec<_>>()))
            }
            "command" | "heal_command" => {
                let help = format!(
                    "write the program and its arguments, at most {MAX_ARGUMENTS} parts: command = [\"/path/to/program\", \"argument\"]"
                );
                let list = self.list(value, MAX_ARGUMENTS, help, |value| match value {
                    DeValue::Array(list) => format!("the command has {} parts", list.len()),
                    other => format!("a command is a list of strings, not {}", type_words(other)),
                })?;
                let parts = list.iter().filter_map(|part| self.plain(name, part));
                Some(json!(parts.collect::<Vec<_>>()))
            }
            "heal" => match value.get_ref().as_str() {
                Some(NEVER) => Some(Json::Null),
                Some(word) if !word.contains(|c: char| c.is_ascii_digit()) => {
                    let message = format!("`{}` is no time to heal a fault", shown(word));
                    let help = "write a duration, counted from `at`, or heal = \"never\"";
                    self.refuse(place(value.span()), message, help);
                    None
                }
                _ => Some(json!(self.plain(name, value)?)),
            },
            "loss" => Some(json!({ "share": self.plain(name, value)?, "seed": 0 })),
            "rate" | "read_bytes_per_s" | "write_bytes_per_s" => {
                let text = match value.get_ref() {
                    DeValue::Integer(bytes) => bytes.to_string(),
                    _ => self.plain(name, value)?.to_string(),
                };
                let rate = parse_bytes(&text).filter(|rate| *rate > 0);
                if rate.is_none() {
                    let message = format!("`{}` is not a rate", shown(&text));
                    let help = "write bytes per second, such as \"500K\" or \"1M\"";
                    self.refuse(place(value.span()), message, help);
                }
                Some(json!(rate?))
            }
            _ => Some(json!(self.plain(name, value)?)),
        }
    }

    fn plain(&mut self, name: &str, value: &TomlValue<'_>) -> Option<Value> {
        let (key, _) = option(name)?;
        Some(self.value(&Name::of(key), value, Origin::File)?.value)
    }

    fn target(&mut self, value: &TomlValue<'_>) -> Option<FaultTarget> {
        let message = match value.get_ref() {
            DeValue::Integer(_) => {
                let number = self.typed::<u32>(&option("target")?.0, value, Origin::File)?;
                return Some(FaultTarget::Server(number.value));
            }
            DeValue::String(typed) => {
                let mut words = FaultTarget::WORDS.into_iter();
                if let Some((_, target)) = words.find(|(word, _)| word == typed) {
                    return Some(target);
                }
                format!("`{}` is not the target of a fault", shown(typed))
            }
            other => format!("the target of a fault is not {}", type_words(other)),
        };
        self.refuse(place(value.span()), message, TARGETS);
        None
    }

    /// A member that a partition names besides its target: not one of many.
    fn member(&mut self, value: &TomlValue<'_>) -> Option<FaultTarget> {
        let named = self.target(value)?;
        let is_role = matches!(named, FaultTarget::Primary | FaultTarget::Replica);
        if !is_role && !matches!(named, FaultTarget::Server(_)) {
            let message = "a partition names its other members by role or number";
            let help = "write \"primary\", \"replica\", or the number of a server";
            self.refuse(place(value.span()), message, help);
            return None;
        }
        Some(named)
    }

    /// A list of up to `max` values, unless it is another value, empty, or too long.
    fn list<'v>(
        &mut self,
        value: &'v TomlValue<'v>,
        max: usize,
        help: String,
        wrong: impl Fn(&DeValue<'_>) -> String,
    ) -> Option<&'v DeArray<'v>> {
        let list = value.get_ref().as_array();
        let list = list.filter(|list| (1..=max).contains(&list.len()));
        if list.is_none() {
            self.refuse(place(value.span()), wrong(value.get_ref()), help);
        }
        list
    }

    fn options_have_an_effect(
        &mut self,
        table: &DeTable<'_>,
        (kind, kind_at): (FaultKind, Span),
        target: Option<FaultTarget>,
    ) {
        let has = |name: &str| table.contains_key(name);
        for typed in table.keys() {
            let name = typed.get_ref().as_ref();
            if let Some(why) = no_effect(name, kind, target, has) {
                let message = format!("`{name}` has no effect on `{kind}` here");
                let diagnostic = Diagnostic::new(message, why).also(kind_at);
                self.add(place(typed.span()), diagnostic);
            }
        }
        let lacks = |parameter| {
            let mut own = OPTIONS.iter().filter(|(_, of)| *of == parameter);
            kind.has(parameter) && !own.any(|(key, _)| has(key.last()))
        };
        if lacks("link") {
            let help = "add a rate in bytes per second, rate = \"1M\", delay = \"20ms\", loss = \"1%\", or several of them";
            self.refuse(kind_at, "this link is not slow", help);
        } else if lacks("limits") {
            let help = "add `read_iops`, `write_iops`, `read_bytes_per_s`, or `write_bytes_per_s`";
            self.refuse(kind_at, "this device is not slow", help);
        }
    }

    fn target_is_possible(
        &mut self,
        kind: FaultKind,
        target: Option<FaultTarget>,
        at: Option<Span>,
    ) {
        let (rules, at) = (kind.rules(), at.unwrap_or_default());
        match target {
            Some(FaultTarget::Primary) if rules.acts_on == ActsOn::Roles => self.refuse(
                at,
                "the primary cannot take over from itself",
                "name the member that takes over: switchover = \"replica\"",
            ),
            Some(FaultTarget::All) if rules.ends != Ends::AtOnce => self.refuse(
                at,
                format!("`{kind}` is not done to all members"),
                "only `restart` is, to one member after the other; give others one fault each",
            ),
            _ => {}
        }
    }

    /// Rejects partitions that name a member twice; each `replica` stands for a different member.
    fn sides_differ(&mut self, fault: &Fault, at: Option<&Span>) {
        let named: Vec<_> = fault
            .targets()
            .chain(fault.action.options().bridge)
            .collect();
        let is_twice = |(i, one): &(usize, &FaultTarget)| {
            **one != FaultTarget::Replica && named.iter().skip(i + 1).any(|other| other == *one)
        };
        let twice = named.iter().enumerate().find(is_twice);
        if let (Some((_, twice)), Some(at)) = (twice, at) {
            let help = "name each member once: on the target's side in `with`, or as the `bridge`";
            let message = format!("this partition names {twice} twice");
            self.refuse(*at, message, help);
        }
    }
}

/// Why an option has no effect on a fault of this kind.
fn no_effect(
    name: &str,
    kind: FaultKind,
    target: Option<FaultTarget>,
    has: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let (_, parameter) = option(name)?;
    let is_any = target.is_none_or(|target| matches!(target, FaultTarget::Any(_)));
    let is_coordinator = target == Some(FaultTarget::Coordinator);
    let (has_effect, why) = match name {
        "heal" if kind.has("heal_command") => (
            has("heal_command"),
            "dyno does not know how to heal it: add heal_command = [\"program\", \"argument\"]",
        ),
        "heal" => (kind.lasts(), "it ends by itself: remove `heal`"),
        "process" if is_coordinator => (false, "the coordinator is one program"),
        "seed" => (
            is_any || has("loss"),
            "only the target \"any\" and lost packets are drawn at random",
        ),
        "with" | "bridge" if is_coordinator => (false, only(parameter)),
        _ => (parameter.is_empty() || kind.has(parameter), only(parameter)),
    };
    (!has_effect).then_some(why)
}

fn option(name: &str) -> Option<&'static (Key, &'static str)> {
    OPTIONS.iter().find(|(key, _)| key.last() == name)
}

/// Which kinds have a parameter.
fn only(parameter: &str) -> &'static str {
    match parameter {
        "process" => "only `kill`, `stop`, and `pause` are done to processes",
        "link" => "only `slow_link` has a rate, a delay, and a loss",
        "volume" => "only faults of devices, `scrub`, and `fill_disk` are done to a volume",
        "device" => {
            "only `fail_device`, `slow_device`, and `replace_device` are done to one device"
        }
        "limits" => "only `slow_device` limits a device",
        "heal_command" => "only `command` is healed by a command",
        "command" => "write the target after the kind: kill = \"primary\"",
        _ => "only a `partition` of members has two sides and a bridge between them",
    }
}

fn suggestion(name: &str) -> String {
    let kinds = FaultKind::WORDS.iter().copied();
    let options = OPTIONS.iter().map(|(key, _)| key.last());
    let words = kinds.chain(options.filter(|name| *name != "command"));
    match nearest(name, words.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let words: Vec<_> = words.map(|word| format!("`{word}`")).collect();
            format!("a fault has {}", words.join(", "))
        }
    }
}
