//! `[[fault]]`: what is broken during the measurement.

use serde_json::{Value as Json, json};
use toml::de::{DeArray, DeTable, DeValue};

use super::{TomlValue, Walk};
use crate::content::TypedFault;
use crate::error::Report;
use crate::name::Name;
use crate::syntax::type_words;
use plan::key::{FAULT, FAULT_KEYS, Key};
use plan::{
    ActsOn, Ends, Fault, FaultKind, FaultTarget, Origin, Span, Value, did_you_mean, listed,
    parse_bytes, shown,
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

fn place(span: std::ops::Range<usize>) -> Span {
    Span::new(Origin::File, span)
}

impl Walk {
    pub(super) fn faults(&mut self, list: &DeArray<'_>) -> Vec<TypedFault> {
        let mut faults = Vec::new();
        for (i, typed) in list.iter().enumerate() {
            let at = place(typed.span());
            match typed.get_ref() {
                _ if i == MAX_FAULTS => {
                    let message = format!("the study has {} faults", list.len());
                    let help = format!("a study has at most {MAX_FAULTS}");
                    self.refuse(at, message, help);
                    break;
                }
                DeValue::Table(table) => faults.extend(self.fault(table, at)),
                other => self.not_tables(FAULT, other, at, HOW),
            }
        }
        faults
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
        let (kind, kind_at) = self.one_kind(&kinds, at)?;
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

    fn one_kind(&self, kinds: &[(FaultKind, Span)], at: Span) -> Option<(FaultKind, Span)> {
        let message = match kinds {
            [one] => return Some(*one),
            [] => "this fault does not say what to do".to_owned(),
            several => format!("a fault does one thing, not {}", several.len()),
        };
        let words = listed(FaultKind::WORDS.iter().copied());
        self.refuse(at, message, format!("a fault has `at` and one of {words}"));
        None
    }

    /// The value of an option, or of the key that names the kind, which has the target.
    fn option(&mut self, name: &str, value: &TomlValue<'_>) -> Option<Json> {
        match name {
            "target" => self.target(value).map(|target| json!(target)),
            "bridge" => self.member(value).map(|member| json!(member)),
            "with" => {
                let has = |count| format!("this side has {count} more members");
                let help = format!(
                    "name 1 to {MAX_SIDE} members that stay with the target: with = [\"replica\", 3]"
                );
                let is = "a side of a partition is a list";
                let list = self.list(value, Origin::File, MAX_SIDE, is, has, &help)?;
                let members = list.iter().filter_map(|member| self.member(member));
                Some(json!(members.collect::<Vec<_>>()))
            }
            "command" | "heal_command" => {
                let has = |count| format!("the command has {count} parts");
                let help = format!(
                    "write the program and its arguments, at most {MAX_ARGUMENTS} parts: command = [\"/path/to/program\", \"argument\"]"
                );
                let is = "a command is a list of strings";
                let list = self.list(value, Origin::File, MAX_ARGUMENTS, is, has, &help)?;
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
                self.refuse_also(place(typed.span()), kind_at, message, why);
            }
        }
        let lacks = |parameter| {
            let mut own = FAULT_KEYS.iter().filter(|(_, of)| *of == parameter);
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
    FAULT_KEYS.iter().find(|(key, _)| key.last() == name)
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
    let options = FAULT_KEYS.iter().map(|(key, _)| key.last());
    let options = options.filter(|name| *name != "command");
    let words = FaultKind::WORDS.iter().copied().chain(options);
    did_you_mean(name, words.clone()).unwrap_or_else(|| format!("a fault has {}", listed(words)))
}
