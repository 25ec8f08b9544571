//! `[[fault]]`: what is broken during the measurement.

use std::time::Duration;

use toml::de::{DeArray, DeTable, DeValue};

use super::{TomlValue, Walk};
use crate::content::TypedFault;
use crate::error::Diagnostic;
use crate::read::type_words;
use plan::key::{FAULT, Key, Kind, word};
use plan::{
    ActsOn, DiskLimits, Ends, Fault, FaultAction, FaultKind, FaultOptions, FaultProcess,
    FaultTarget, FaultVolume, FromValue, Loss, Origin, SlowLink, Span, Spanned, nearest,
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
const DEFAULT_HEAL: Duration = Duration::from_secs(10);
const MILLISECOND: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// What a fault has besides the key that names its kind, and the parameter that a kind must have for it
/// ([`FaultKind::has`]); empty: every kind has it.
static OPTIONS: [(Key, &str); 18] = [
    (key("fault.heal", span(MILLISECOND, MONTH)), ""),
    (
        key("fault.process", Kind::Choice(FaultProcess::WORDS)),
        "process",
    ),
    (key("fault.seed", count(0, u64::MAX)), ""),
    (word("fault.rate", 20), "link"),
    (key("fault.delay", span(MILLISECOND, MINUTE)), "link"),
    (key("fault.loss", LOSS), "link"),
    (word("fault.with", 0), "with"),
    (word("fault.bridge", 0), "bridge"),
    (
        key("fault.volume", Kind::Choice(FaultVolume::WORDS)),
        "volume",
    ),
    (key("fault.device", count(1, 32)), "device"),
    (key("fault.read_iops", IOPS), "limits"),
    (key("fault.write_iops", IOPS), "limits"),
    (word("fault.read_bytes_per_s", 20), "limits"),
    (word("fault.write_bytes_per_s", 20), "limits"),
    (key("fault.target", count(1, 576)), "command"),
    (word("fault.heal_command", 4000), "heal_command"),
    (key("fault.expect_outage", Kind::Boolean), ""),
    (key("fault.at", span(Duration::ZERO, MONTH)), ""),
];
static COMMAND: Key = word("fault.command", 4000);
const LOSS: Kind = Kind::Percent {
    min: 0.01,
    max: 99.0,
};
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
                    let fault = Reader { walk: self, table }.fault(at);
                    self.content.faults.extend(fault);
                }
                other => self.not_tables(FAULT, other, at, HOW),
            }
        }
    }
}

/// Reads a fault. What is invalid is reported, and read as if it were not given.
struct Reader<'w, 't> {
    walk: &'w mut Walk,
    table: &'t DeTable<'t>,
}

impl<'t> Reader<'_, 't> {
    fn fault(mut self, at: Span) -> Option<TypedFault> {
        let kinds = self.kinds();
        let given_at = self.typed::<Duration>("at");
        let seed = self.typed::<u64>("seed").map(|seed| seed.value);
        let (heal, target) = (self.heal(), self.targets());
        let mut options = self.options();
        let expect_outage = self.value("expect_outage").unwrap_or_default();
        if !self.has("at") {
            self.walk.refuse(at, "this fault has no `at`", HOW);
        }
        let &[(kind, kind_at)] = kinds.as_slice() else {
            let message = match kinds.len() {
                0 => "this fault does not say what to do".to_owned(),
                count => format!("a fault does one thing, not {count}"),
            };
            let kinds: Vec<_> = FaultKind::WORDS.iter().map(|w| format!("`{w}`")).collect();
            let help = format!("a fault has `at` and one of {}", kinds.join(", "));
            self.walk.refuse(at, message, help);
            return None;
        };
        self.options_have_an_effect(kind, kind_at, target.as_ref());
        let has_default = kind.has("command") && !self.has("target");
        let target_at = target.as_ref().map(|target| target.span);
        let target_at = target_at.or(has_default.then_some(kind_at));
        let target = target.map_or(FaultTarget::Primary, |target| target.value);
        self.sides_differ(target, &options);
        let target_at = target_at?;
        let default = kind.lasts() || !options.heal_command.is_empty();
        if kind.has("device") {
            options.device.get_or_insert(1);
        }
        let mut fault = Fault {
            at: given_at.as_ref().map_or(Duration::ZERO, |at| at.value),
            action: FaultAction::new(kind, options),
            target,
            heal: match &heal {
                Some(heal) => heal.value,
                None => default.then_some(DEFAULT_HEAL),
            },
            expect_outage,
        };
        if let Some(seed) = seed {
            fault.set_seed(seed);
        }
        let keys = ["device", "with", "bridge"].map(|name| (name, self.place(name)));
        let value_at = |name| Some(place(self.get(name)?.span()));
        let values = ["process", "volume"].map(|name| (name, value_at(name)));
        let others = [
            ("target", Some(target_at)),
            ("heal", heal.map(|heal| heal.span)),
        ];
        let places = keys.into_iter().chain(values).chain(others);
        Some(TypedFault {
            fault,
            has_seed: seed.is_some(),
            kind: kind_at,
            at: given_at?.span,
            places: places.filter_map(|(name, at)| Some((name, at?))).collect(),
        })
    }

    fn options(&mut self) -> FaultOptions {
        FaultOptions {
            process: self.value("process").unwrap_or_default(),
            with: self.side(),
            bridge: self.get("bridge").and_then(|bridge| self.member(bridge)),
            link: SlowLink {
                bytes_per_s: self.bytes_per_s("rate"),
                delay: self.value("delay"),
                loss: self.value("loss").map(|share| Loss { share, seed: 0 }),
            },
            volume: self.value("volume").unwrap_or_default(),
            device: self.value("device"),
            limits: DiskLimits {
                read_iops: self.value("read_iops"),
                write_iops: self.value("write_iops"),
                read_bytes_per_s: self.bytes_per_s("read_bytes_per_s"),
                write_bytes_per_s: self.bytes_per_s("write_bytes_per_s"),
            },
            command: self.arguments("command"),
            heal_command: self.arguments("heal_command"),
        }
    }

    /// The kinds that it names; other keys are options.
    fn kinds(&mut self) -> Vec<(FaultKind, Span)> {
        let mut kinds = Vec::new();
        for typed in self.table.keys() {
            let (name, at) = (typed.get_ref().as_ref(), place(typed.span()));
            match FaultKind::ALL.iter().find(|kind| kind.name() == name) {
                Some(kind) => kinds.push((*kind, at)),
                None if option(name).is_some() => {}
                None => self.walk.unknown("key", name, at, || suggestion(name)),
            }
        }
        kinds
    }

    fn get(&self, name: &str) -> Option<&'t TomlValue<'t>> {
        self.table.get(name)
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The location of a key.
    fn place(&self, name: &str) -> Option<Span> {
        let (key, _) = self.table.get_key_value(name)?;
        Some(place(key.span()))
    }

    fn typed<T: FromValue>(&mut self, name: &str) -> Option<Spanned<T>> {
        let value = self.get(name)?;
        self.walk.typed(option_key(name), value, Origin::File)
    }

    fn value<T: FromValue>(&mut self, name: &str) -> Option<T> {
        self.typed(name).map(|typed| typed.value)
    }

    fn options_have_an_effect(
        &mut self,
        kind: FaultKind,
        kind_at: Span,
        target: Option<&Spanned<FaultTarget>>,
    ) {
        for typed in self.table.keys() {
            let name = typed.get_ref().as_ref();
            if let Some(why) = self.no_effect(name, kind, target.map(|target| target.value)) {
                let message = format!("`{name}` has no effect on `{kind}` here");
                let diagnostic = Diagnostic::new(message, why).also(kind_at);
                self.walk.diagnostics.add(place(typed.span()), diagnostic);
            }
        }
        let lacks = |parameter| {
            let mut own = OPTIONS.iter().filter(|(_, of)| *of == parameter);
            kind.has(parameter) && !own.any(|(key, _)| self.has(key.last()))
        };
        if lacks("link") {
            let help = "add a rate in bytes per second, rate = \"1M\", delay = \"20ms\", loss = \"1%\", or several of them";
            self.walk.refuse(kind_at, "this link is not slow", help);
        } else if lacks("limits") {
            let help = "add `read_iops`, `write_iops`, `read_bytes_per_s`, or `write_bytes_per_s`";
            self.walk.refuse(kind_at, "this device is not slow", help);
        }
        let rules = kind.rules();
        match target.map(|target| (target.value, target.span)) {
            Some((FaultTarget::Primary, at)) if rules.acts_on == ActsOn::Roles => self.walk.refuse(
                at,
                "the primary cannot take over from itself",
                "name the member that takes over: switchover = \"replica\"",
            ),
            Some((FaultTarget::All, at)) if rules.ends != Ends::AtOnce => self.walk.refuse(
                at,
                format!("`{kind}` is not done to all members"),
                "only `restart` is, to one member after the other; give others one fault each",
            ),
            _ => {}
        }
    }

    /// Why a key has no effect on a fault of this kind.
    fn no_effect(
        &self,
        name: &str,
        kind: FaultKind,
        target: Option<FaultTarget>,
    ) -> Option<&'static str> {
        let (_, parameter) = option(name)?;
        let is_any = target.is_none_or(|target| matches!(target, FaultTarget::Any(_)));
        let is_coordinator = target == Some(FaultTarget::Coordinator);
        let (has_effect, why) = match name {
            "heal" if kind.has("heal_command") => (
                self.has("heal_command"),
                "dyno does not know how to heal it: add heal_command = [\"program\", \"argument\"]",
            ),
            "heal" => (kind.lasts(), "it ends by itself: remove `heal`"),
            "process" if is_coordinator => (false, "the coordinator is one program"),
            "seed" => (
                is_any || self.has("loss"),
                "only the target \"any\" and lost packets are drawn at random",
            ),
            "with" | "bridge" if is_coordinator => (false, only(parameter)),
            _ => (parameter.is_empty() || kind.has(parameter), only(parameter)),
        };
        (!has_effect).then_some(why)
    }

    /// Rejects partitions that name a member twice; each `replica` stands for a different member.
    fn sides_differ(&mut self, target: FaultTarget, options: &FaultOptions) {
        let with = options.with.iter().copied();
        let named: Vec<_> = [target]
            .into_iter()
            .chain(with)
            .chain(options.bridge)
            .collect();
        let is_twice = |(i, one): &(usize, &FaultTarget)| {
            **one != FaultTarget::Replica && named.iter().skip(i + 1).any(|other| other == *one)
        };
        let twice = named.iter().enumerate().find(is_twice);
        let place = self.place("bridge").or(self.place("with"));
        if let (Some((_, twice)), Some(place)) = (twice, place) {
            let help = "name each member once: on the target's side in `with`, or as the `bridge`";
            let message = format!("this partition names {twice} twice");
            self.walk.refuse(place, message, help);
        }
    }

    /// The target, after the kind or, of a command, as an option.
    fn targets(&mut self) -> Option<Spanned<FaultTarget>> {
        let kinds = FaultKind::ALL.iter().map(|kind| kind.name());
        let targets = kinds.filter(|name| *name != "command").chain(["target"]);
        let given: Vec<_> = targets.filter_map(|name| self.get(name)).collect();
        let targets: Vec<_> = given.into_iter().map(|value| self.target(value)).collect();
        targets.into_iter().next().flatten()
    }

    fn target(&mut self, value: &TomlValue<'_>) -> Option<Spanned<FaultTarget>> {
        let span = place(value.span());
        let message = match value.get_ref() {
            DeValue::Integer(_) => {
                let number: Spanned<u32> =
                    self.walk.typed(option_key("target"), value, Origin::File)?;
                let value = FaultTarget::Server(number.value);
                return Some(Spanned { value, span });
            }
            DeValue::String(word) => {
                let value = match word.as_ref() {
                    "primary" => Some(FaultTarget::Primary),
                    "replica" => Some(FaultTarget::Replica),
                    "any" => Some(FaultTarget::Any(0)),
                    "coordinator" => Some(FaultTarget::Coordinator),
                    "all" => Some(FaultTarget::All),
                    _ => None,
                };
                if let Some(value) = value {
                    return Some(Spanned { value, span });
                }
                format!("`{}` is not the target of a fault", shown(word))
            }
            other => format!("the target of a fault is not {}", type_words(other)),
        };
        self.walk.refuse(span, message, TARGETS);
        None
    }

    /// A member that a partition names besides its target: not one of many.
    fn member(&mut self, value: &TomlValue<'_>) -> Option<FaultTarget> {
        let Spanned { value: named, span } = self.target(value)?;
        let is_role = matches!(named, FaultTarget::Primary | FaultTarget::Replica);
        if !is_role && !matches!(named, FaultTarget::Server(_)) {
            let message = "a partition names its other members by role or number";
            let help = "write \"primary\", \"replica\", or the number of a server";
            self.walk.refuse(span, message, help);
            return None;
        }
        Some(named)
    }

    /// The other members on the target's side of a partition.
    fn side(&mut self) -> Vec<FaultTarget> {
        let help = format!(
            "name 1 to {MAX_SIDE} members that stay with the target: with = [\"replica\", 3]"
        );
        let list = self.list("with", MAX_SIDE, help, |value| match value {
            DeValue::Array(list) => format!("this side has {} more members", list.len()),
            other => format!("a side of a partition is a list, not {}", type_words(other)),
        });
        let members = list.iter().flat_map(|list| list.iter());
        members.filter_map(|named| self.member(named)).collect()
    }

    /// A program and its arguments.
    fn arguments(&mut self, name: &str) -> Vec<String> {
        let help = format!(
            "write the program and its arguments, at most {MAX_ARGUMENTS} parts: command = [\"/path/to/program\", \"argument\"]"
        );
        let list = self.list(name, MAX_ARGUMENTS, help, |value| match value {
            DeValue::Array(list) => format!("the command has {} parts", list.len()),
            other => format!("a command is a list of strings, not {}", type_words(other)),
        });
        let parts = list.iter().flat_map(|list| list.iter());
        let parts = parts.filter_map(|part| self.walk.typed(option_key(name), part, Origin::File));
        parts.map(|part: Spanned<String>| part.value).collect()
    }

    /// A list of up to `max` values, unless it is another value, empty, or too long.
    fn list(
        &mut self,
        name: &str,
        max: usize,
        help: String,
        wrong: impl Fn(&DeValue<'_>) -> String,
    ) -> Option<&'t DeArray<'t>> {
        let value = self.get(name)?;
        let list = value.get_ref().as_array();
        let list = list.filter(|list| (1..=max).contains(&list.len()));
        if list.is_none() {
            self.walk
                .refuse(place(value.span()), wrong(value.get_ref()), help);
        }
        list
    }

    fn heal(&mut self) -> Option<Spanned<Option<Duration>>> {
        let value = self.get("heal")?;
        let span = place(value.span());
        let value = match value.get_ref().as_str() {
            Some(NEVER) => None,
            Some(word) if !word.contains(|c: char| c.is_ascii_digit()) => {
                let message = format!("`{}` is no time to heal a fault", shown(word));
                let help = "write a duration, counted from `at`, or heal = \"never\"";
                self.walk.refuse(span, message, help);
                return None;
            }
            _ => Some(self.typed("heal")?.value),
        };
        Some(Spanned { value, span })
    }

    fn bytes_per_s(&mut self, name: &str) -> Option<u64> {
        let text: Spanned<String> = self.typed(name)?;
        let rate = parse_bytes(&text).filter(|rate| *rate > 0);
        if rate.is_none() {
            let message = format!("`{}` is not a rate", shown(&text));
            let help = "write bytes per second, such as \"500K\" or \"1M\"";
            self.walk.refuse(text.span, message, help);
        }
        rate
    }
}

/// The option of this name; any of them for another name.
fn option_key(name: &str) -> &'static Key {
    option(name).map_or(&COMMAND, |(key, _)| key)
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
    let words = || {
        let kinds = FaultKind::WORDS.iter().copied();
        kinds.chain(OPTIONS.iter().map(|(key, _)| key.last()))
    };
    match nearest(name, words()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let words: Vec<_> = words().map(|word| format!("`{word}`")).collect();
            format!("a fault has {}", words.join(", "))
        }
    }
}
